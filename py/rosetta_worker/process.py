"""What this process computes under, as it sees it itself."""

import os
from typing import Dict

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "JULIA_NUM_THREADS",
    "OMP_WAIT_POLICY",
)


def conditions(status: str = "/proc/self/status") -> Dict[str, str]:
    """The disclosures `processors` and `thread variables` (protocol/SPEC.md, section 9).

    Where the system doesn't tell the processors, they are left out.
    """
    found = {}
    processors = _allowed(status)
    if processors:
        found["processors"] = processors
    set_ = [name for name in THREAD_VARIABLES if name in os.environ]
    found["thread variables"] = " ".join("%s=%s" % (n, os.environ[n]) for n in set_)
    return found


def _allowed(status: str) -> str:
    """The logical CPUs that this process may use, as Linux lists them: `0-3,8`."""
    try:
        with open(status, encoding="ascii", errors="replace") as file:
            lines = [line for line in file if line.startswith("Cpus_allowed_list:")]
    except OSError:
        return ""
    return lines[0].split(":")[1].strip() if lines else ""
