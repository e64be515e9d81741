"""What on this machine would spoil a benchmark, and what to do about it.

Every check is a function that gives findings; none prints, and none can stop the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from rosetta.doctor import hardware, software
from rosetta.doctor.finding import Finding, Severity
from rosetta.doctor.hardware import busy_processes, load

__all__ = ["Finding", "Severity", "busy_processes", "examine", "load"]

_CHECKS: dict[str, Callable[[], Iterable[Finding]]] = {
    "processors": hardware.processors,
    "load": hardware.load,
    "other processes": hardware.busy_processes,
    "frequency": hardware.frequency,
    "heat": hardware.heat,
    "memory": hardware.memory,
    "disk": hardware.disk,
    "shared memory": hardware.shared_memory,
    "virtual machine": hardware.virtualisation,
    "software": software.programs,
    "interpreters": software.pythons,
    "julia": software.julias,
    "packages": software.package_sources,
    "variables": software.variables,
    "clock": hardware.clock,
    "data": software.data,
}


def examine() -> list[Finding]:
    """Looks at this machine; takes about a second."""
    findings: list[Finding] = []
    for subject, check in _CHECKS.items():
        try:
            findings += check()
        except Exception as error:
            # A machine that is odd in one way must still be told about the others.
            sentence = f"it could not be examined: {type(error).__name__}: {error}"
            findings.append(Finding("warning", subject, sentence))
    return findings
