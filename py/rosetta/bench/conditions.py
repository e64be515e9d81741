"""The conditions that every worker computes under: the same threads, set in the same way."""

from __future__ import annotations

_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "JULIA_NUM_THREADS",
)


def variables(threads: int) -> dict[str, str]:
    """Environment variables that are set alike for every worker process."""
    return {
        **{name: str(threads) for name in _THREAD_VARIABLES},
        # A thread that waits must not compute: all workers are alive while one is timed, and
        # OpenMP's default of spinning at a barrier slows down whoever shares the cores.
        "OMP_WAIT_POLICY": "PASSIVE",
        "PYTHONUNBUFFERED": "1",
        "PYTHONHASHSEED": "0",
    }
