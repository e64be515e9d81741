"""What machine this is, for ``run.json``: enough to judge whether two runs can be compared.

Nothing that identifies the machine's owner is read: no host name, no user, no address.
Functions that read ``/proc`` and ``/sys`` take the root of the file system, so that tests can give
them another machine's files.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil

ROOT = Path("/")

SPEED_VARIABLES = {
    "OPENBLAS_CORETYPE": "it forces OpenBLAS's kernels for one processor",
    "OPENBLAS_L2_SIZE": "it changes how OpenBLAS cuts its matrices into blocks",
    "MKL_CBWR": "it restricts MKL's instruction sets",
    "MKL_ENABLE_INSTRUCTIONS": "it restricts MKL's instruction sets",
    "ONEDNN_MAX_CPU_ISA": "it restricts oneDNN's instruction sets",
    "DNNL_MAX_CPU_ISA": "it restricts oneDNN's instruction sets",
    "ATEN_CPU_CAPABILITY": "it restricts PyTorch's instruction sets",
    "OMP_NUM_THREADS": "it sets the number of threads behind the benchmark's back",
    "OPENBLAS_NUM_THREADS": "it sets the number of threads behind the benchmark's back",
    "MKL_NUM_THREADS": "it sets the number of threads behind the benchmark's back",
    "JULIA_NUM_THREADS": "it sets the number of threads behind the benchmark's back",
    "JULIA_CPU_TARGET": "it restricts Julia's instruction sets",
    "OMP_PROC_BIND": "it pins threads to cores",
    "OMP_WAIT_POLICY": "it makes idle threads spin or sleep",
    "KMP_AFFINITY": "it pins threads to cores",
    "KMP_BLOCKTIME": "it makes idle threads spin or sleep",
    "LD_PRELOAD": "it replaces library functions, often the allocator",
}
"""Variables that change how fast frameworks compute: name → what each does."""

_NVIDIA_LIMIT_S = 10.0
_UNLIMITED_BYTES = 1 << 60
"""cgroup v1 writes "no limit" as a number near 2^63."""


def describe() -> dict[str, Any]:
    """The machine as plain values that go into JSON; None where it cannot be told."""
    return {
        "cpu_model": cpu_model(),
        "physical_cores": psutil.cpu_count(logical=False),
        "logical_cores": psutil.cpu_count(),
        "affinity": affinity(),
        "cpu_limit": cpu_limit(),
        "governor": governor(),
        "memory_bytes": psutil.virtual_memory().total,
        "memory_limit_bytes": memory_limit_bytes(),
        "os": operating_system(),
        "kernel": f"{platform.system()} {platform.release()}",
        "architecture": platform.machine(),
        "libc": " ".join(platform.libc_ver()).strip() or None,
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "container": container(),
        "virtual_machine": virtual_machine(),
        "gpus": gpus(),
    }


def cpu_model(root: Path = ROOT) -> str | None:
    for key in ("model name", "Model", "Hardware", "cpu"):  # x86, then Arm boards, then POWER
        value = _cpuinfo(root).get(key)
        if value:
            return value
    return platform.processor() or None


def processors_for(threads: int, root: Path = ROOT) -> list[int]:
    """The logical CPUs, of those that may be used, that `threads` threads should have.

    Threads of one core share its units: each core's first logical CPU comes before any second one.
    """
    usable = affinity()
    seen: set[tuple[str, str]] = set()
    firsts: list[int] = []
    others: list[int] = []
    for cpu in usable:
        core = _core(cpu, root)
        (others if core in seen else firsts).append(cpu)
        seen.add(core)
    return sorted((firsts + others)[:threads])


def _core(cpu: int, root: Path) -> tuple[str, str]:
    """(package, core) of a logical CPU; where that can't be told, a core of its own."""
    folder = root / f"sys/devices/system/cpu/cpu{cpu}/topology"
    try:
        package = (folder / "physical_package_id").read_text().strip()
        return package, (folder / "core_id").read_text().strip()
    except OSError:
        return "?", str(cpu)


def affinity() -> list[int]:
    """The logical CPUs that this process may run on, sorted."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(psutil.cpu_count() or 1))


def cpu_limit(root: Path = ROOT) -> float | None:
    """How many CPUs' worth of time the cgroup and its ancestors allow; None where none limits."""
    limits = []
    for folder in _cgroup_folders(root, "cpu"):
        quota, _, period = (_read(folder / "cpu.max") or "").partition(" ")
        if not period:
            quota = _read(folder / "cpu.cfs_quota_us") or ""
            period = _read(folder / "cpu.cfs_period_us") or ""
        if quota.isdigit() and period.isdigit() and int(period) > 0:
            limits.append(int(quota) / int(period))
    return min(limits, default=None)


def memory_limit_bytes(root: Path = ROOT) -> int | None:
    """How much memory the cgroup and its ancestors allow; None where none sets a limit."""
    limits = []
    for folder in _cgroup_folders(root, "memory"):
        text = _read(folder / "memory.max") or _read(folder / "memory.limit_in_bytes") or ""
        if text.isdigit() and int(text) < _UNLIMITED_BYTES:
            limits.append(int(text))
    return min(limits, default=None)


def usable_cpus(root: Path = ROOT) -> int:
    """How many threads can compute at once: our CPUs, or what the cgroup allows, whichever is less.

    A fraction of a CPU is no thread, but one thread there always is.
    """
    count, limit = len(affinity()), cpu_limit(root)
    return count if limit is None else max(1, min(count, int(limit)))


def speed_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Those of the `SPEED_VARIABLES` that are set in `environment`, and not to nothing."""
    return {name: environment[name] for name in SPEED_VARIABLES if environment.get(name)}


def governor(root: Path = ROOT) -> str | None:
    """The frequency governor, or several when the cores differ: ``performance, powersave``."""
    files = root.glob("sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor")
    return ", ".join(sorted({text for file in files if (text := _read(file))})) or None


def turbo(root: Path = ROOT) -> bool | None:
    """Whether cores may clock above their nominal frequency; None where it cannot be told."""
    folder = root / "sys/devices/system/cpu"
    no_turbo = _read(folder / "intel_pstate/no_turbo")
    if no_turbo in {"0", "1"}:
        return no_turbo == "0"
    boost = _read(folder / "cpufreq/boost")
    return boost == "1" if boost in {"0", "1"} else None


def throttle_count(root: Path = ROOT) -> int | None:
    """How often the cores have been slowed down for heat since boot; None where not counted."""
    files = root.glob("sys/devices/system/cpu/cpu[0-9]*/thermal_throttle/core_throttle_count")
    counts = [int(text) for file in files if (text := _read(file)) and text.isdigit()]
    return sum(counts) if counts else None


def frequency_mhz(processors: Sequence[int] = (), root: Path = ROOT) -> float | None:
    """The mean clock of `processors` (empty: of all) right now; None where it cannot be told.

    A virtual machine doesn't see its own.
    """
    files = root.glob("sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_cur_freq")
    chosen = {f"cpu{number}" for number in processors}
    texts = [_read(file) for file in files if not chosen or file.parts[-3] in chosen]
    clocks = [int(text) / 1000 for text in texts if text and text.isdigit()]
    return sum(clocks) / len(clocks) if clocks else None


def operating_system(root: Path = ROOT) -> str:
    for line in (_read(root / "etc/os-release") or "").splitlines():
        key, _, value = line.partition("=")
        if key == "PRETTY_NAME":
            return value.strip("\"'")
    return platform.platform(terse=True)


def container(root: Path = ROOT) -> str | None:
    """The kind of container that this process seems to run in; None outside of one."""
    if (root / ".dockerenv").exists():
        return "docker"
    if (root / "run/.containerenv").exists():
        return "podman"
    groups = _read(root / "proc/1/cgroup") or ""
    for kind in ("kubepods", "docker", "lxc"):
        if kind in groups:
            return kind
    return os.environ.get("container") or None  # noqa: SIM112 (systemd's name is in lower case)


def virtual_machine(root: Path = ROOT) -> str | None:
    """What makes this machine a virtual one, as its firmware calls itself; None on bare metal."""
    if "hypervisor" not in _cpuinfo(root).get("flags", "").split():
        return None
    product = _read(root / "sys/class/dmi/id/product_name")
    vendor = _read(root / "sys/class/dmi/id/sys_vendor")
    return " ".join(part for part in (vendor, product) if part) or "unknown hypervisor"


def gpus() -> list[str]:
    """The names of NVIDIA's GPUs, where its tool is installed and answers."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return []
    try:
        ran = subprocess.run(
            [tool, "--query-gpu=name", "--format=csv,noheader"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_NVIDIA_LIMIT_S,
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    return [line.strip() for line in ran.stdout.splitlines() if line.strip() and not ran.returncode]


def _cpuinfo(root: Path) -> dict[str, str]:
    """The entries of the first core."""
    first, _, _ = (_read(root / "proc/cpuinfo") or "").partition("\n\n")
    pairs = (line.partition(":") for line in first.splitlines())
    return {key.strip(): value.strip() for key, _, value in pairs}


def _cgroup_folders(root: Path, controller: str) -> list[Path]:
    """The cgroup's folders for `controller`, our own first, then its ancestors.

    In a container the path that the kernel names may not be mounted; the mount's top then is ours.
    """
    folders: list[Path] = []
    for line in (_read(root / "proc/self/cgroup") or "").splitlines():
        number, controllers, path = line.split(":", 2)
        unified = number == "0"
        if not unified and controller not in controllers.split(","):
            continue
        top = root / "sys/fs/cgroup" / ("" if unified else controller)
        own = top / path.lstrip("/")
        folders += [folder for folder in (own, *own.parents) if folder.is_relative_to(top)]
    return folders


def _read(file: Path) -> str | None:
    try:
        return file.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None
