"""The doctor: what would spoil a benchmark on this machine, each with what to do."""

import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import pytest

from rosetta import doctor, machine
from rosetta.doctor import Finding, hardware, software
from rosetta.environments.julia import debian_julia, find_julia
from rosetta.environments.python import pip_settings


def only(findings: Iterable[Finding]) -> Finding:
    (finding,) = findings
    return finding


def test_an_examination_covers_the_machine_and_prints_nothing(
    capfd: pytest.CaptureFixture[str],
) -> None:
    findings = doctor.examine()
    subjects = {finding.subject for finding in findings}
    assert {"processors", "load", "memory", "disk", "uv", "packages", "clock"} <= subjects
    assert all(finding.sentence and "\n" not in finding.sentence for finding in findings)
    assert not [finding for finding in findings if "could not be examined" in finding.sentence]
    assert capfd.readouterr() == ("", "")


def test_a_check_that_fails_does_not_stop_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> Iterable[Finding]:
        raise RuntimeError("no such sensor")

    monkeypatch.setitem(doctor._CHECKS, "heat", broken)
    findings = {finding.subject: finding for finding in doctor.examine()}
    assert findings["heat"].severity == "warning"
    assert "no such sensor" in findings["heat"].sentence
    assert "clock" in findings


def test_a_busy_process_is_named() -> None:
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        time.sleep(0.2)
        sentences = [finding.sentence for finding in hardware.busy_processes(0.3)]
    finally:
        busy.kill()
        busy.wait()
    assert any(f"process {busy.pid}" in sentence for sentence in sentences)


def test_a_limit_on_processor_time_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "affinity", lambda: [0, 1, 2, 3])
    monkeypatch.setattr(machine, "cpu_limit", lambda: 1.5)
    finding = only(hardware.processors())
    assert finding.severity == "warning"
    assert "at most 1 thread" in finding.sentence


def test_a_slow_governor_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "turbo", lambda: None)
    monkeypatch.setattr(machine, "governor", lambda: "powersave")
    assert only(hardware.frequency()).severity == "warning"
    monkeypatch.setattr(machine, "governor", lambda: "performance")
    assert only(hardware.frequency()).severity == "ok"


def test_a_variable_that_changes_the_results_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in machine.SPEED_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    assert only(software.variables()).severity == "ok"
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    finding = only(software.variables())
    assert finding.severity == "warning"
    assert finding.sentence.startswith("OPENBLAS_CORETYPE=Haswell is set")


def test_pips_settings_are_told_without_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = pip_settings.PipSettings(
        find_links=("/nowhere/wheels",), index_url="https://me:secret@host/simple"
    )
    monkeypatch.setattr(pip_settings, "read", lambda: settings)
    told, missing = software.package_sources()
    assert "find-links /nowhere/wheels" in told.sentence
    assert "secret" not in told.sentence
    assert missing.severity == "warning"


def test_the_julia_that_is_found_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ROSETTA_HOME", str(tmp_path))
    monkeypatch.delenv("JULIA", raising=False)
    monkeypatch.setattr(find_julia, "candidates", lambda: iter(()))
    missing = only(software.julias())
    assert missing.severity == "warning"
    assert missing.sentence.startswith("no Julia 1.5 or later: put julia on the PATH or set JULIA")

    old, new = tmp_path / "old", tmp_path / "new"
    for program, version in ((old, "1.0.5"), (new, "1.10.4")):
        program.write_text(f"#!/bin/sh\necho Julia {version}\n")
        program.chmod(0o755)
    monkeypatch.setattr(find_julia, "candidates", lambda: iter((old, new)))
    passed_over, found = software.julias()
    assert (passed_over.severity, found.severity) == ("warning", "ok")
    assert passed_over.sentence.startswith(f"{old} is Julia 1.0.5: passed over")
    assert found.sentence == f"Julia 1.10.4 is {new}"


def test_a_julia_that_will_be_made_is_no_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(find_julia, "candidates", lambda: iter(()))
    monkeypatch.setattr(debian_julia, "is_possible", lambda version: True)
    finding = only(software.julias())
    assert finding.severity == "ok"
    assert "65 MB" in finding.sentence


def test_the_data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ROSETTA_DATA", raising=False)
    assert only(software.data()).severity == "ok"
    monkeypatch.setenv("ROSETTA_DATA", str(tmp_path))
    assert str(tmp_path) in only(software.data()).sentence
    monkeypatch.setenv("ROSETTA_DATA", str(tmp_path / "gone"))
    assert only(software.data()).severity == "problem"


def test_the_clock_is_measured() -> None:
    finding = only(hardware.clock())
    assert "ns" in finding.sentence


def test_a_machine_without_shared_memory_is_no_problem(tmp_path: Path) -> None:
    assert only(hardware.shared_memory(tmp_path / "none")).severity == "ok"
