"""The machine's peak: how fast it multiplies matrices, under the conditions of this run.

A framework's speed as a share of this peak can be compared between machines, and says how much is
left to be had.
"""

from __future__ import annotations

import subprocess
import sys

from rosetta.bench import conditions
from rosetta.environments import clean_environment

_LIMIT_S = 60.0
_PROGRAM = """\
import os, sys, time
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, map(int, sys.argv[1:]))
import numpy as np
n, fastest = 1024, float("inf")
a, b = np.random.default_rng(0).standard_normal((2, n, n), np.float32)
c = a @ b
end = time.perf_counter() + 0.5
while time.perf_counter() < end:
    start = time.perf_counter()
    np.matmul(a, b, out=c)
    fastest = min(fastest, time.perf_counter() - start)
print(2 * n**3 / fastest)
"""


def matrix_peak(threads: int) -> float | None:
    """Floating-point operations a second of float32 matrix products of 1024×1024 on `threads`.

    The best of half a second, by NumPy's BLAS, in a process of its own whose threads are set and
    bound as a worker's are. None where it can't be measured.
    """
    processors = map(str, conditions.processors(threads, "cpu"))
    try:
        ran = subprocess.run(
            [sys.executable, "-P", "-c", _PROGRAM, *processors],
            stdin=subprocess.DEVNULL,
            env=clean_environment(conditions.variables(threads)),
            capture_output=True,
            text=True,
            timeout=_LIMIT_S,
            check=True,
        )
        return float(ran.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
