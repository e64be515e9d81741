"""Checks of the machine: processors, load, clocks, heat, memory, disk."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterable
from pathlib import Path

import psutil

from rosetta import machine
from rosetta.doctor.finding import Finding, gigabytes
from rosetta.environments import home

_SAMPLE_S = 0.5
_BUSY_SHARE = 0.1
"""A process that takes a tenth of a core moves a median step time by more than its own noise."""
_FREE_DISK_BYTES = 5_000_000_000
_FREE_MEMORY_BYTES = 2_000_000_000
_SHARED_MEMORY_BYTES = 256_000_000
_COARSE_CLOCK_NS = 1_000
_HOT_MARGIN_C = 5.0


def processors() -> Iterable[Finding]:
    logical = psutil.cpu_count() or 1
    physical = psutil.cpu_count(logical=False)
    usable, limit = len(machine.affinity()), machine.cpu_limit()
    if limit is not None and limit < usable:
        yield Finding(
            "warning",
            "processors",
            f"the control group allows {limit:g} CPUs' worth of time on {usable} CPUs, so steps "
            f"are paused at random: use at most {max(1, int(limit))} threads, or lift the limit",
        )
    elif usable < logical:
        yield Finding(
            "ok",
            "processors",
            f"{usable} of {logical} CPUs may be used; threads are counted from those",
        )
    else:
        cores = f" on {physical} cores" if physical and physical != logical else ""
        yield Finding("ok", "processors", f"{logical} CPUs{cores}, all of them usable")


def load() -> Iterable[Finding]:
    average, usable = os.getloadavg()[0], len(machine.affinity())
    if average > 0.25 * usable:
        yield Finding(
            "warning",
            "load",
            f"the load average is {average:.1f} on {usable} CPUs: wait until it is below "
            f"{0.25 * usable:.1f}, or end what is running",
        )
    else:
        yield Finding("ok", "load", f"the load average is {average:.1f} on {usable} CPUs")


def busy_processes(sample_s: float = _SAMPLE_S) -> Iterable[Finding]:
    """Names the processes that take more than a tenth of a core during `sample_s` seconds."""
    busy = _busiest(sample_s)
    for name, pid, share in busy[:5]:
        sentence = f"{name} (process {pid}) takes {share:.0%} of a core: end or pause it"
        yield Finding("warning", "other processes", sentence)
    if len(busy) > 5:
        sentence = f"and {len(busy) - 5} more processes are busy: end or pause them"
        yield Finding("warning", "other processes", sentence)
    if not busy:
        yield Finding("ok", "other processes", "none takes more than a tenth of a core")


def frequency() -> Iterable[Finding]:
    governor = machine.governor()
    if governor is None:
        sentence = "the frequency governor cannot be seen from here"
        yield Finding("ok", "frequency", sentence)
    elif governor == "performance":
        yield Finding("ok", "frequency", "the frequency governor is performance")
    else:
        yield Finding(
            "warning",
            "frequency",
            f"the frequency governor is {governor}, so clocks follow the load: "
            "set it with `sudo cpupower frequency-set -g performance`",
        )
    if machine.turbo():
        yield Finding(
            "ok",
            "frequency",
            "turbo is on: the first steps may run faster than the later ones; for figures that "
            "repeat to a percent, turn it off in the firmware",
        )


def heat() -> Iterable[Finding]:
    count = machine.throttle_count()
    if count:
        yield Finding(
            "warning",
            "heat",
            f"cores were slowed down for heat {count} times since boot: "
            "see to the cooling, and compare the first blocks of a run with the last",
        )
    hottest = _hottest()
    if hottest is None:
        yield Finding("ok", "heat", "no temperature sensor can be seen from here")
        return
    name, now, limit = hottest
    if limit - now < _HOT_MARGIN_C:
        sentence = f"{name} is at {now:.0f} °C, its limit {limit:.0f} °C: let the machine cool down"
        yield Finding("warning", "heat", sentence)
    else:
        yield Finding("ok", "heat", f"{name} is at {now:.0f} °C, its limit {limit:.0f} °C")


def memory() -> Iterable[Finding]:
    ram, swap = psutil.virtual_memory(), psutil.swap_memory()
    limit = machine.memory_limit_bytes()
    available = min(ram.available, limit) if limit else ram.available
    sentence = f"{gigabytes(available)} of {gigabytes(ram.total)} are available"
    if limit and limit < ram.total:
        sentence += f" (the control group allows {gigabytes(limit)})"
    if available < _FREE_MEMORY_BYTES:
        yield Finding("problem", "memory", f"{sentence}: close programs, or bench fewer workers")
    else:
        yield Finding("ok", "memory", sentence)
    if swap.used > 0.1 * ram.total:
        yield Finding(
            "warning",
            "memory",
            f"{gigabytes(swap.used)} are swapped out, and fetching them back disturbs the steps: "
            "close programs, then `sudo swapoff -a && sudo swapon -a`",
        )


def disk() -> Iterable[Finding]:
    folder = _first_existing(home())
    free = shutil.disk_usage(folder).free
    sentence = f"{gigabytes(free)} are free for environments in {home()}"
    if free < _FREE_DISK_BYTES:
        advice = "make room, or set ROSETTA_HOME to a folder on a larger disk"
        yield Finding("problem", "disk", f"{sentence}: {advice}")
    elif not os.access(folder, os.W_OK):
        yield Finding("problem", "disk", f"{folder} cannot be written to: set ROSETTA_HOME")
    else:
        yield Finding("ok", "disk", sentence)


def shared_memory(folder: Path = Path("/dev/shm")) -> Iterable[Finding]:
    if not folder.is_dir():
        yield Finding("ok", "shared memory", f"there is no {folder}: batches travel inline")
        return
    free = shutil.disk_usage(folder).free
    if free < _SHARED_MEMORY_BYTES:
        yield Finding(
            "warning",
            "shared memory",
            f"only {gigabytes(free)} are free in {folder}: enlarge it "
            "(in Docker with `--shm-size=1g`), or use the inline data plane",
        )
    else:
        yield Finding("ok", "shared memory", f"{gigabytes(free)} are free in {folder}")


def virtualisation() -> Iterable[Finding]:
    container, virtual = machine.container(), machine.virtual_machine()
    if virtual:
        yield Finding(
            "warning",
            "virtual machine",
            f"this is a virtual machine ({virtual}): neighbours that cannot be seen from here take "
            "time and cache; repeat runs, and prefer bare metal for figures to publish",
        )
    if container:
        sentence = f"this runs in a container ({container}): its limits are in the lines above"
        yield Finding("ok", "container", sentence)
    if not virtual and not container:
        yield Finding("ok", "virtual machine", "no sign of a virtual machine or a container")


def clock() -> Iterable[Finding]:
    """The smallest step that ``time.perf_counter_ns`` is seen to take."""
    resolution_ns = min(_tick_ns() for _ in range(50))
    if resolution_ns > _COARSE_CLOCK_NS:
        sentence = (
            f"the clock moves in steps of {resolution_ns} ns: too coarse for short steps; "
            "on Linux choose the tsc clock source, or use larger batches"
        )
        yield Finding("warning", "clock", sentence)
    else:
        yield Finding("ok", "clock", f"the clock moves in steps of {resolution_ns} ns")


def _busiest(sample_s: float) -> list[tuple[str, int, float]]:
    """(name, process, share of a core) of the busy processes, the busiest first.

    Our own process and its parents (a shell, a terminal) are left out.
    """
    own = {os.getpid(), *(parent.pid for parent in psutil.Process().parents())}
    before = {process.pid: _cpu_s(process) for process in psutil.process_iter()}
    started = time.monotonic()
    time.sleep(sample_s)
    taken_s = time.monotonic() - started
    busy = []
    for process in psutil.process_iter(["name"]):
        then, now = before.get(process.pid), _cpu_s(process)
        if then is None or now is None or process.pid in own:
            continue
        share = (now - then) / taken_s
        if share > _BUSY_SHARE:
            busy.append((process.info["name"] or "a process", process.pid, share))
    return sorted(busy, key=lambda entry: entry[2], reverse=True)


def _cpu_s(process: psutil.Process) -> float | None:
    try:
        times = process.cpu_times()
    except psutil.Error:
        return None
    return float(times.user + times.system)


def _hottest() -> tuple[str, float, float] | None:
    """(sensor, now, limit) in °C of the sensor nearest to its limit."""
    if not hasattr(psutil, "sensors_temperatures"):
        return None
    readings = [
        (entry.label or name, float(entry.current), float(entry.high))
        for name, entries in psutil.sensors_temperatures().items()
        for entry in entries
        if entry.current and entry.high
    ]
    return min(readings, key=lambda reading: reading[2] - reading[1], default=None)


def _tick_ns() -> int:
    start = time.perf_counter_ns()
    while (now := time.perf_counter_ns()) == start:
        pass
    return now - start


def _first_existing(folder: Path) -> Path:
    return next(path for path in (folder, *folder.parents) if path.exists())
