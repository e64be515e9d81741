"""A Julia worker's environment: found, its packages looked for, compiled once."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from rosetta import environments, workers
from rosetta.environments import EnvironmentUnavailable, NotInstalled
from rosetta.environments.julia import find_julia
from rosetta.workers import Worker

PutJulia = Callable[..., Path]

PLAIN = """\
name = "{name}"
title = "In Julia"
language = "julia"
status = "living"
tasks = ["mlp"]
argv = ["{{julia}}", "--startup-file=no", "run.jl", "{{connection_file}}"]
tape_argv = ["{{julia}}", "run.jl", "{{tape}}"]
[environment]
kind = "julia"
version = "1.5"
"""
PACKAGED = PLAIN.replace('"run.jl", "{{conn', '"--project={{folder}}", "run.jl", "{{conn') + (
    'project = "Project.toml"\npackage = "Knet"\ndownload = "90 MB"\n'
)
PROJECT = '[deps]\nKnet = "1902f260-5fb4-5aff-8c31-6271790ab950"\n'


@pytest.fixture
def describe(tmp_path: Path) -> Callable[..., Worker]:
    """Describes a worker in a checkout of its own, with or without a runtime."""

    def described(name: str = "plain", text: str = PLAIN, *, runtime: bool = True) -> Worker:
        folder = tmp_path / "checkout" / "workers" / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "worker.toml").write_text(text.format(name=name))
        (folder / "Project.toml").write_text(PROJECT)
        if runtime:
            sources = tmp_path / "checkout" / "RosettaWorker" / "src"
            sources.mkdir(parents=True, exist_ok=True)
            (sources / "RosettaWorker.jl").write_text("module RosettaWorker end\n")
        return workers.read(folder / "worker.toml")[0]

    return described


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """The main source file of a Knet 1.4.3 that Julia could load."""
    source = tmp_path / "depot" / "Knet" / "src" / "Knet.jl"
    source.parent.mkdir(parents=True)
    source.write_text("module Knet end\n")
    (tmp_path / "depot" / "Knet" / "Project.toml").write_text('name = "Knet"\nversion = "1.4.3"\n')
    return source


def calls(program: Path) -> list[str]:
    """What the fake Julia was called with, each call a line, without the probes."""
    lines = (program.parent / "calls").read_text().splitlines()
    return [line for line in lines if "VERSION" not in line]


def test_a_julia_that_is_here_is_used_and_compiles_once(
    no_julia: Path, put_julia: PutJulia, describe: Callable[..., Worker]
) -> None:
    program = put_julia(no_julia / "julia", "1.9.2")
    worker = describe()
    before = environments.status(worker)
    assert (before.ready, before.reason) == (False, "not compiled yet")

    lines: list[str] = []
    made = environments.ensure(worker, lines.append)
    assert made == environments.status(worker)
    assert (made.ready, made.reason, made.interpreter) == (True, None, program)
    assert made.framework_version == "1.9.2"
    assert lines == ["plain: Julia 1.9.2 compiles RosettaWorker"]
    (call,) = calls(program)
    assert call.startswith("--startup-file=no -e ")
    assert call.endswith(f"{worker.folder.parents[1]} RosettaWorker")

    lines.clear()
    assert environments.ensure(worker, lines.append) == made
    assert lines == []
    assert len(calls(program)) == 1


def test_what_changes_the_compiled_code_compiles_again(
    no_julia: Path,
    put_julia: PutJulia,
    describe: Callable[..., Worker],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program = put_julia(no_julia / "julia")
    worker = describe()
    environments.ensure(worker)
    source = worker.folder.parents[1] / "RosettaWorker" / "src" / "wire.jl"
    source.write_text("# more\n")
    environments.ensure(worker)
    assert len(calls(program)) == 2
    monkeypatch.setenv("JULIA_DEPOT_PATH", "/another")
    environments.ensure(worker)
    assert len(calls(program)) == 3
    other = put_julia(no_julia.parent / "other" / "julia", "1.10.0")
    monkeypatch.setenv("JULIA", str(other))
    assert environments.ensure(worker).interpreter == other
    assert len(calls(other)) == 1


def test_without_a_runtime_there_is_nothing_to_compile(
    no_julia: Path, put_julia: PutJulia, describe: Callable[..., Worker]
) -> None:
    program = put_julia(no_julia / "julia")
    lines: list[str] = []
    assert environments.ensure(describe(runtime=False), lines.append).ready
    assert lines == []
    assert calls(program) == []


def test_a_julia_that_cannot_load_the_runtime_is_a_reason(
    no_julia: Path, put_julia: PutJulia, describe: Callable[..., Worker]
) -> None:
    put_julia(no_julia / "julia", loads="echo 'ERROR: LoadError: no luck'; echo '[1] top'; exit 1")
    with pytest.raises(EnvironmentUnavailable) as caught:
        environments.ensure(describe())
    reason = str(caught.value)
    assert "Julia 1.9.2 could not load RosettaWorker: LoadError: no luck; log: " in reason
    assert "no luck" in Path(reason.rpartition("log: ")[2]).read_text()
    assert not environments.status(describe()).ready


def test_no_julia_is_a_reason_with_what_to_do(
    no_julia: Path, put_julia: PutJulia, describe: Callable[..., Worker]
) -> None:
    put_julia(no_julia / "julia", "1.4.1")
    worker = describe()
    lines: list[str] = []
    with pytest.raises(NotInstalled) as caught:
        environments.ensure(worker, lines.append)
    assert str(caught.value) == (
        "no Julia 1.5 or later: put julia on the PATH or set JULIA, see "
        f"https://julialang.org/downloads ({no_julia}/julia is Julia 1.4.1)"
    )
    assert lines == [f"plain: {no_julia}/julia is Julia 1.4.1: passed over"]
    state = environments.status(worker)
    assert (state.ready, state.reason, state.interpreter) == (False, str(caught.value), None)


def test_a_package_that_is_missing_is_a_reason_at_once(
    no_julia: Path, put_julia: PutJulia, describe: Callable[..., Worker]
) -> None:
    put_julia(no_julia / "julia", installs="exit 1")
    worker = describe("knet", PACKAGED)
    started = time.monotonic()
    with pytest.raises(NotInstalled) as caught:
        environments.ensure(worker)
    assert time.monotonic() - started < 2
    command = f"julia --project={worker.folder} -e 'using Pkg; Pkg.instantiate()'"
    assert str(caught.value) == f"Knet is not installed ({command})"
    assert environments.status(worker).reason == str(caught.value)


def test_a_package_that_is_there_is_compiled_with_the_workers_options(
    no_julia: Path, put_julia: PutJulia, describe: Callable[..., Worker], package: Path
) -> None:
    program = put_julia(no_julia / "julia", finds=f"printf 'package\\tKnet\\t{package}\\n'")
    worker = describe("knet", PACKAGED)
    made = environments.ensure(worker)
    assert (made.ready, made.framework_version) == (True, "1.4.3")
    *_, call = calls(program)
    assert call.startswith(f"--startup-file=no --project={worker.folder} -e ")
    assert call.endswith(" RosettaWorker Knet")


def test_packages_are_installed_only_when_that_is_asked_for(
    no_julia: Path, put_julia: PutJulia, describe: Callable[..., Worker], package: Path
) -> None:
    installed = no_julia / "installed"
    program = put_julia(
        no_julia / "julia",
        finds=f"[ ! -e {installed} ] || printf 'package\\tKnet\\t{package}\\n'",
        installs=f"touch {installed}",
    )
    worker = describe("knet", PACKAGED)
    with pytest.raises(NotInstalled):
        environments.ensure(worker)
    lines: list[str] = []
    assert environments.ensure(worker, lines.append, install_packages=True).ready
    assert lines[0] == "knet: installing the packages of Project.toml; about 90 MB to download"
    count = len(calls(program))
    environments.ensure(worker, install_packages=True)
    assert len(calls(program)) == count


def test_packages_that_cannot_be_installed_are_a_reason(
    no_julia: Path, put_julia: PutJulia, describe: Callable[..., Worker]
) -> None:
    put_julia(no_julia / "julia", installs="echo 'ERROR: no registry'; echo ' [1] top'; exit 1")
    with pytest.raises(EnvironmentUnavailable) as caught:
        environments.ensure(describe("knet", PACKAGED), install_packages=True)
    assert "could not install Project.toml: no registry; log: " in str(caught.value)


def test_a_run_records_what_it_ran_on(
    no_julia: Path, put_julia: PutJulia, describe: Callable[..., Worker], package: Path
) -> None:
    worker = describe("knet", PACKAGED)
    nothing = environments.pins(worker)
    assert (nothing["julia"], nothing["packages"], nothing["manifest_sha256"]) == (None, {}, None)
    put_julia(no_julia / "julia", "1.11.1", finds=f"printf 'package\\tKnet\\t{package}\\n'")
    (worker.folder / "Manifest-v1.11.toml").write_text("# resolved\n")
    pins = environments.pins(worker)
    assert (pins["julia"], pins["packages"]) == ("1.11.1", {"Knet": "1.4.3"})
    assert len(str(pins["project_sha256"])) == len(str(pins["manifest_sha256"])) == 64
    assert json.loads(json.dumps(pins)) == pins
    plain = environments.pins(describe())
    assert (plain["julia"], plain["packages"], plain["project_sha256"]) == ("1.11.1", {}, None)


def test_there_is_nothing_to_lock(describe: Callable[..., Worker]) -> None:
    lines: list[str] = []
    environments.lock(describe(), lines.append)
    assert lines == ["plain: nothing to lock: it uses the Julia of this machine"]


def test_only_what_rosetta_has_made_is_counted_and_removed(
    no_julia: Path, put_julia: PutJulia, describe: Callable[..., Worker], package: Path
) -> None:
    finds = f"printf 'package\\tKnet\\t{package}\\n'"
    program = put_julia(no_julia / "julia", finds=finds)
    worker = describe()
    environments.ensure(worker)
    assert 0 < environments.size(worker) < 1000
    environments.remove(worker)
    assert environments.size(worker) == 0
    assert environments.status(worker).reason == "not compiled yet"
    program.unlink()

    own = put_julia(find_julia.prefix() / "bin" / "julia", finds=finds)
    knet = describe("knet", PACKAGED)
    assert environments.ensure(worker).interpreter == own
    assert environments.ensure(knet).interpreter == own
    assert environments.size(worker) > environments.size(knet)
    environments.remove(knet)
    assert own.exists()
    environments.remove(worker)
    assert not find_julia.prefix().exists()


@pytest.mark.exhaustive
def test_a_real_julia_loads_a_package(
    tmp_path: Path, describe: Callable[..., Worker], monkeypatch: pytest.MonkeyPatch
) -> None:
    julia = find_julia.search("1.5").julia
    if julia is None:
        pytest.skip("there is no Julia here")
    monkeypatch.setenv("JULIA", str(julia.program))
    monkeypatch.setenv("ROSETTA_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("JULIA_DEPOT_PATH", str(tmp_path / "depot"))
    worker = describe("knet", PACKAGED)
    with pytest.raises(NotInstalled, match="Knet is not installed"):
        environments.ensure(worker)

    folder = tmp_path / "packages" / "Knet"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "Knet.jl").write_text("module Knet end\n")
    identity = PROJECT.split('"')[1]
    (folder / "Project.toml").write_text(f'name = "Knet"\nuuid = "{identity}"\nversion = "1.2.3"\n')
    monkeypatch.setenv("JULIA_LOAD_PATH", f"@:{folder.parent}:@stdlib")
    again = describe("again", PACKAGED)
    assert environments.ensure(again).framework_version == "1.2.3"
    compiled = tmp_path / "depot" / "compiled"
    assert {path.parent.name for path in compiled.rglob("*.ji")} >= {"Knet"}
    (folder / "src" / "Knet.jl").write_text('module Knet\nerror("no luck")\nend\n')
    (folder / "Project.toml").write_text(f'name = "Knet"\nuuid = "{identity}"\nversion = "1.2.4"\n')
    with pytest.raises(EnvironmentUnavailable, match="could not load RosettaWorker and Knet: "):
        environments.ensure(describe("third", PACKAGED))
