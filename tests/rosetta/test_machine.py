"""The description of a machine, of this one and of others' files."""

import json
import sys
from pathlib import Path

import pytest

from rosetta import machine


def put(root: Path, path: str, text: str) -> None:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def test_this_machine_is_described_in_plain_values() -> None:
    described = machine.describe()
    assert json.loads(json.dumps(described)) == described
    assert described["logical_cores"] >= len(described["affinity"]) >= 1
    assert described["memory_bytes"] > 1 << 28
    assert sys.version.split()[0] in described["python"]


def test_a_virtual_machine_says_so(tmp_path: Path) -> None:
    cpu = "processor : 0\nmodel name\t: Some CPU @ 2 GHz\nflags : fpu hypervisor\n\nprocessor : 1\n"
    put(tmp_path, "proc/cpuinfo", cpu)
    assert machine.cpu_model(tmp_path) == "Some CPU @ 2 GHz"
    assert machine.virtual_machine(tmp_path) == "unknown hypervisor"
    put(tmp_path, "sys/class/dmi/id/product_name", "KVM\n")
    assert machine.virtual_machine(tmp_path) == "KVM"


def test_bare_metal_is_no_virtual_machine(tmp_path: Path) -> None:
    put(tmp_path, "proc/cpuinfo", "model name : Some CPU\nflags : fpu avx2\n")
    assert machine.virtual_machine(tmp_path) is None


@pytest.mark.parametrize(
    ("path", "text", "kind"),
    [
        (".dockerenv", "", "docker"),
        ("run/.containerenv", "", "podman"),
        ("proc/1/cgroup", "0::/kubepods/burstable/x\n", "kubepods"),
        ("proc/1/cgroup", "0::/init.scope\n", None),
    ],
)
def test_a_container_is_recognised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, text: str, kind: str | None
) -> None:
    monkeypatch.delenv("container", raising=False)
    put(tmp_path, path, text)
    assert machine.container(tmp_path) == kind


def test_the_limits_of_a_control_group(tmp_path: Path) -> None:
    put(tmp_path, "proc/self/cgroup", "0::/mine\n")
    put(tmp_path, "sys/fs/cgroup/mine/cpu.max", "150000 100000\n")
    put(tmp_path, "sys/fs/cgroup/mine/memory.max", "1000000\n")
    assert machine.cpu_limit(tmp_path) == 1.5
    assert machine.memory_limit_bytes(tmp_path) == 1_000_000


def test_the_limits_of_an_ancestor_and_of_the_older_version(tmp_path: Path) -> None:
    put(tmp_path, "proc/self/cgroup", "4:memory:/a/b\n1:cpu,cpuacct:/a/b\n")
    put(tmp_path, "sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "400000\n")
    put(tmp_path, "sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n")
    put(tmp_path, "sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n")
    assert machine.cpu_limit(tmp_path) == 4
    assert machine.memory_limit_bytes(tmp_path) is None


def test_the_strictest_limit_counts(tmp_path: Path) -> None:
    put(tmp_path, "proc/self/cgroup", "0::/outer/mine\n")
    for folder, cpus, size in (
        ("", "300000", "30"),
        ("outer", "200000", "20"),
        ("outer/mine", "400000", "40"),
    ):
        put(tmp_path, f"sys/fs/cgroup/{folder}/cpu.max", f"{cpus} 100000\n")
        put(tmp_path, f"sys/fs/cgroup/{folder}/memory.max", f"{size}000000\n")
    assert machine.cpu_limit(tmp_path) == 2
    assert machine.memory_limit_bytes(tmp_path) == 20_000_000


def test_no_limit(tmp_path: Path) -> None:
    put(tmp_path, "proc/self/cgroup", "0::/\n")
    put(tmp_path, "sys/fs/cgroup/cpu.max", "max 100000\n")
    put(tmp_path, "sys/fs/cgroup/memory.max", "max\n")
    assert machine.cpu_limit(tmp_path) is None
    assert machine.memory_limit_bytes(tmp_path) is None


@pytest.mark.parametrize(
    ("cpu_max", "usable"),
    [("max 100000", 4), ("250000 100000", 2), ("50000 100000", 1), ("800000 100000", 4)],
)
def test_usable_cpus_are_ours_within_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cpu_max: str, usable: int
) -> None:
    monkeypatch.setattr(machine, "affinity", lambda: [0, 2, 4, 6])
    assert machine.usable_cpus(tmp_path) == 4
    put(tmp_path, "proc/self/cgroup", "0::/mine\n")
    put(tmp_path, "sys/fs/cgroup/mine/cpu.max", f"{cpu_max}\n")
    assert machine.usable_cpus(tmp_path) == usable


def test_usable_cpus_of_this_machine() -> None:
    assert 1 <= machine.usable_cpus() <= len(machine.affinity())


def test_variables_that_change_the_speed_are_told_with_their_values() -> None:
    environment = {"PATH": "/bin", "OMP_NUM_THREADS": "3", "MKL_CBWR": "", "LD_PRELOAD": "x.so"}
    assert machine.speed_variables(environment) == {"OMP_NUM_THREADS": "3", "LD_PRELOAD": "x.so"}
    assert machine.speed_variables({}) == {}


def test_clocks_and_heat(tmp_path: Path) -> None:
    assert machine.governor(tmp_path) is None
    assert machine.turbo(tmp_path) is None
    assert machine.throttle_count(tmp_path) is None
    assert machine.frequency_mhz([], tmp_path) is None
    cores = "sys/devices/system/cpu"
    put(tmp_path, f"{cores}/cpu0/cpufreq/scaling_governor", "powersave\n")
    put(tmp_path, f"{cores}/cpu1/cpufreq/scaling_governor", "performance\n")
    put(tmp_path, f"{cores}/intel_pstate/no_turbo", "0\n")
    put(tmp_path, f"{cores}/cpu0/thermal_throttle/core_throttle_count", "3\n")
    put(tmp_path, f"{cores}/cpu1/thermal_throttle/core_throttle_count", "4\n")
    assert machine.governor(tmp_path) == "performance, powersave"
    assert machine.turbo(tmp_path) is True
    assert machine.throttle_count(tmp_path) == 7


def test_the_clock_is_that_of_the_processors_asked_for(tmp_path: Path) -> None:
    for number, khz in enumerate(("3000000", "2000000", "unknown", "1000000")):
        file = f"sys/devices/system/cpu/cpu{number}/cpufreq/scaling_cur_freq"
        put(tmp_path, file, khz)
    assert machine.frequency_mhz([0, 1], tmp_path) == 2500
    assert machine.frequency_mhz([3], tmp_path) == 1000
    assert machine.frequency_mhz([2], tmp_path) is None
    assert machine.frequency_mhz([], tmp_path) == 2000


def put_cores(root: Path, cores: list[tuple[str, str]]) -> None:
    """Logical CPU n is on (package, core) `cores[n]`."""
    for cpu, (package, core) in enumerate(cores):
        folder = f"sys/devices/system/cpu/cpu{cpu}/topology"
        put(root, f"{folder}/physical_package_id", f"{package}\n")
        put(root, f"{folder}/core_id", f"{core}\n")


@pytest.mark.parametrize(
    ("cores", "threads", "chosen"),
    [
        ([("0", "0"), ("0", "0"), ("0", "1"), ("0", "1")], 2, [0, 2]),  # neighbours share a core
        ([("0", "0"), ("0", "1"), ("0", "0"), ("0", "1")], 2, [0, 1]),  # halves share the cores
        ([("0", "0"), ("0", "0"), ("0", "1"), ("0", "1")], 3, [0, 1, 2]),
        ([("0", "0"), ("1", "0"), ("0", "0"), ("1", "0")], 2, [0, 1]),  # two packages
        ([("0", "0"), ("0", "1")], 9, [0, 1]),
        ([], 2, [0, 1]),  # it can't be told: each its own core
    ],
)
def test_threads_get_cores_of_their_own(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    cores: list[tuple[str, str]],
    threads: int,
    chosen: list[int],
) -> None:
    put_cores(tmp_path, cores)
    monkeypatch.setattr(machine, "affinity", lambda: list(range(len(cores) or 4)))
    assert machine.processors_for(threads, tmp_path) == chosen


def test_only_what_may_be_used_is_chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_cores(tmp_path, [("0", "0"), ("0", "0"), ("0", "1"), ("0", "1")])
    monkeypatch.setattr(machine, "affinity", lambda: [1, 3])
    assert machine.processors_for(1, tmp_path) == [1]
