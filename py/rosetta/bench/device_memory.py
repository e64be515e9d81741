"""Memory that a worker has on NVIDIA's GPUs, as their driver's tool tells it by process."""

from __future__ import annotations

import shutil
import subprocess
from collections import defaultdict
from collections.abc import Collection

_TOOL = "nvidia-smi"
_QUERY = ("--query-compute-apps=pid,used_memory", "--format=csv,noheader,nounits")
_LIMIT_S = 10.0
_MIB = 2**20


def used_bytes(pids: Collection[int]) -> int | None:
    """What these processes use together, on all GPUs; None where it isn't known.

    The tool isn't there or doesn't answer, or it tells of none of them: in a container it may count
    processes otherwise. It takes a tenth of a second.
    """
    tool = shutil.which(_TOOL)
    if tool is None:
        return None
    try:
        ran = subprocess.run(
            [tool, *_QUERY],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_LIMIT_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return None
    found = [size for pid, size in by_process(ran.stdout).items() if pid in pids]
    return sum(found) if found else None


def by_process(text: str) -> dict[int, int]:
    """Process id → bytes, from lines such as `1234, 567` (MiB); one process on two GPUs has two.

    Lines without a number, such as `1234, [N/A]`, tell nothing.
    """
    found: dict[int, int] = defaultdict(int)
    for line in text.splitlines():
        pid, _, size = (word.strip() for word in line.partition(","))
        if pid.isdecimal() and size.isdecimal():
            found[int(pid)] += int(size) * _MIB
    return dict(found)
