"""The conditions that every worker computes under: the same threads and processors, set alike."""

from __future__ import annotations

from rosetta import machine

_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "JULIA_NUM_THREADS",
)


def processors(threads: int, device: str) -> list[int]:
    """The logical CPUs of every worker process: as many as it has threads.

    Some pools can't be told how large to be. A GPU's driver has threads of its own: there the
    processes may run anywhere (an empty list).
    """
    return machine.processors_for(threads) if device == "cpu" else []


def warnings(threads: int) -> list[str]:
    """One sentence where there are more threads than processors for them; else none."""
    there = machine.usable_cpus()
    if threads <= there:
        return []
    processors = f"{there} processor{'s' * (there != 1)}"
    return [f"{threads} threads on {processors}: they wait for each other; at most {there} help"]


def variables(threads: int) -> dict[str, str]:
    """Environment variables that are set alike for every worker process."""
    return {**thread_variables(threads), "PYTHONUNBUFFERED": "1", "PYTHONHASHSEED": "0"}


def thread_variables(threads: int) -> dict[str, str]:
    """Those of them that thread pools read; workers tell what they find of them (SPEC section 9).

    A thread that waits must not compute: all workers are alive while one is timed, and OpenMP's
    default of spinning at a barrier slows down whoever shares the cores.
    """
    return {**{name: str(threads) for name in _THREAD_VARIABLES}, "OMP_WAIT_POLICY": "PASSIVE"}
