"""Finding a Julia: a candidate counts when it runs and says that it is new enough."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from rosetta.environments.julia import find_julia

PutJulia = Callable[..., Path]
pytestmark = pytest.mark.usefixtures("no_julia")

JULIAPKG = Path("pyjuliapkg", "install", "bin", "julia")


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def found(version: str = "1.5") -> Path | None:
    julia = find_julia.search(version).julia
    return julia and julia.program


def test_a_machine_without_any() -> None:
    assert find_julia.search("1.5") == find_julia.Search(None, ())


def test_the_path_is_searched(no_julia: Path, put_julia: PutJulia) -> None:
    program = put_julia(no_julia / "julia", "1.12.0-rc1")
    assert find_julia.search("1.5").julia == find_julia.Julia(program, "1.12.0-rc1")


def test_the_variable_wins(
    tmp_path: Path, no_julia: Path, put_julia: PutJulia, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_julia(no_julia / "julia")
    chosen = put_julia(tmp_path / "chosen" / "julia-1.6")
    monkeypatch.setenv("JULIA", str(chosen))
    assert found() == chosen
    named = put_julia(no_julia / "julia-lts")
    monkeypatch.setenv("JULIA", "julia-lts")
    assert found() == named


@pytest.mark.parametrize(
    "place",
    [
        Path("user", ".juliaup", "bin", "julia"),
        Path("user", ".julia", "environments", "pyjuliapkg") / JULIAPKG,
        Path("home", "environments", "juliacall", "julia_env") / JULIAPKG,
        Path("home", "julia", "bin", "julia"),
    ],
)
def test_where_tools_put_one(tmp_path: Path, put_julia: PutJulia, place: Path) -> None:
    program = put_julia(tmp_path / place)
    assert found() == program


def test_where_juliapkg_puts_one(
    tmp_path: Path, put_julia: PutJulia, monkeypatch: pytest.MonkeyPatch
) -> None:
    last = put_julia(tmp_path / "depot" / "environments" / "pyjuliapkg" / JULIAPKG)
    monkeypatch.setenv("JULIA_DEPOT_PATH", f"{tmp_path / 'depot'}:/elsewhere")
    assert found() == last
    for name in ("CONDA_PREFIX", "VIRTUAL_ENV"):
        program = put_julia(tmp_path / name / "julia_env" / JULIAPKG)
        monkeypatch.setenv(name, str(tmp_path / name))
        assert found() == program
    program = put_julia(tmp_path / "project" / JULIAPKG)
    monkeypatch.setenv("PYTHON_JULIAPKG_PROJECT", str(tmp_path / "project"))
    assert found() == program
    program = put_julia(tmp_path / "told")
    monkeypatch.setenv("PYTHON_JULIAPKG_EXE", str(program))
    assert found() == program


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("#!/bin/sh\necho Julia 1.4.2\n", "is Julia 1.4.2"),
        ("#!/bin/sh\necho Julia 0.7.0\n", "is Julia 0.7.0"),
        ("#!/bin/sh\necho no default channel >&2\nexit 1\n", "is no Julia that runs: no default"),
        ("#!/bin/sh\nkill -SEGV $$\n", "is no Julia that runs: it said nothing"),
        ("#!/bin/sh\necho a fine day\n", "is no Julia that runs: a fine day"),
        ("#!/bin/sh\necho Julia 1.9.2\nexit 3\n", "is no Julia that runs"),
        ("#!/nowhere/sh\n", "can't be started: No such file or directory"),
        ("\x7fELF of another machine", "can't be started: Exec format error"),
    ],
)
def test_one_that_will_not_do_is_passed_over(
    tmp_path: Path, no_julia: Path, put_julia: PutJulia, text: str, why: str
) -> None:
    bad = write(no_julia / "julia", text)
    assert found() is None
    good = put_julia(tmp_path / "user" / ".juliaup" / "bin" / "julia")
    search = find_julia.search("1.5")
    assert search.julia == find_julia.Julia(good, "1.9.2")
    (phrase,) = search.passed_over
    assert phrase.startswith(f"{bad} {why}")
    assert "\n" not in phrase


def test_the_users_choice_that_is_not_there_is_named(
    no_julia: Path, put_julia: PutJulia, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_julia(no_julia / "julia")
    monkeypatch.setenv("JULIA", "/nowhere/julia")
    search = find_julia.search("1.5")
    assert search.julia is not None
    assert search.passed_over == ("/nowhere/julia can't be started: No such file or directory",)


def test_one_that_hangs_is_given_up(no_julia: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(find_julia, "_PROBE_LIMIT_S", 0.3)
    write(no_julia / "julia", "#!/bin/sh\nsleep 318 | cat\n")
    started = time.monotonic()
    (phrase,) = find_julia.search("1.5").passed_over
    assert phrase.endswith("gave no answer within 0.3 s")
    assert find_julia.search("1.5").passed_over == (phrase,)
    assert time.monotonic() - started < 5


def test_each_is_run_once_until_something_has_changed(no_julia: Path, put_julia: PutJulia) -> None:
    program = put_julia(no_julia / "julia", "1.4.0")
    assert found("1.0") == program
    put_julia(program, "1.6.0")
    assert found("1.5") is None
    find_julia.forget()
    assert found("1.5") == program
    assert len((no_julia / "calls").read_text().splitlines()) == 2


@pytest.mark.parametrize(
    ("version", "numbers"),
    [("1.5", (1, 5)), ("1.5.3", (1, 5)), ("1.12.0-rc1", (1, 12)), ("2.0.0-DEV.1", (2, 0))],
)
def test_versions_are_compared_as_numbers(version: str, numbers: tuple[int, int]) -> None:
    assert find_julia.numbers(version) == numbers


def test_a_python_of_ours_does_not_mislead(no_julia: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONHOME", sys.prefix)
    text = '#!/bin/sh\n[ -z "$PYTHONHOME" ] && echo Julia 1.9.0\n'
    assert found() is None
    program = write(no_julia / "julia", text)
    assert found() == program
