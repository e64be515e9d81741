"""The script that unpacks Debian's Julia: what it says where something is missing; a real run."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from rosetta.environments.julia import find_julia

SCRIPT = Path(__file__).parents[2] / "scripts" / "get-julia-from-debian"
NAME = "get-julia-from-debian: "
TOOLS = (
    *(
        "basename",
        "bash",
        "cat",
        "chmod",
        "dirname",
        "env",
        "grep",
        "head",
        "ln",
        "mkdir",
        "mktemp",
    ),
    *("mv", "readlink", "rm", "sed", "tail", "tee", "apt-config", "apt-get", "dpkg", "dpkg-deb"),
)
HAS_APT = all(map(shutil.which, ("apt-get", "apt-config", "dpkg")))
needs_apt = pytest.mark.skipif(not HAS_APT, reason="this machine has no apt")


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A folder with every program that the script calls, where this machine has it."""
    folder = tmp_path / "tools"
    folder.mkdir()
    for tool in TOOLS:
        found = shutil.which(tool)
        if found:
            (folder / tool).symlink_to(found)
    return folder


def run(*arguments: object, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [SCRIPT, *map(str, arguments)],
        env={**os.environ, **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=250,
    )


def replace(tool: Path, text: str) -> None:
    """Puts a script in the place of a program."""
    tool.unlink(missing_ok=True)
    tool.write_text(f"#!/bin/sh\n{text}\n")
    tool.chmod(0o755)


def complaint(ran: subprocess.CompletedProcess[str]) -> str:
    """The one line that was said, without the script's name."""
    (line,) = ran.stderr.splitlines()
    assert line.startswith(NAME)
    return line.removeprefix(NAME)


def another_apt(tmp_path: Path, sources: str, more: str = "") -> dict[str, str]:
    """Variables for an apt that is configured with these sources alone."""
    none = tmp_path / "none"
    none.mkdir(exist_ok=True)
    (tmp_path / "machine.list").write_text(sources)
    (tmp_path / "apt.conf").write_text(
        f'Dir::Etc::main "{none}/main";\nDir::Etc::parts "{none}";\n'
        f'Dir::Etc::sourcelist "{tmp_path}/machine.list";\nDir::Etc::sourceparts "{none}";\n{more}'
    )
    return {"APT_CONFIG": str(tmp_path / "apt.conf")}


@pytest.mark.parametrize("arguments", [(), ("",), ("a", "b"), ("--help",)])
def test_it_says_how_it_is_called(arguments: tuple[str, ...]) -> None:
    ran = run(*arguments)
    assert ran.returncode == 2
    assert complaint(ran).startswith("usage: ")


@pytest.mark.parametrize("tool", ["apt-get", "apt-config", "dpkg"])
def test_a_machine_without_its_tools(tools: Path, tmp_path: Path, tool: str) -> None:
    for name in ("apt-get", "apt-config", "dpkg"):
        replace(tools / name, "exit 0")
    (tools / tool).unlink()
    ran = run(tmp_path / "julia", PATH=str(tools))
    assert (ran.returncode, complaint(ran)) == (2, f"this machine has no {tool}")
    assert not list(tmp_path.glob("julia*"))


@needs_apt
def test_a_processor_that_debian_has_no_julia_for(tools: Path, tmp_path: Path) -> None:
    replace(tools / "dpkg", "echo riscv64")
    ran = run(tmp_path / "julia", PATH=str(tools))
    assert ran.returncode == 2
    assert complaint(ran) == "Debian's Julia is for amd64 and arm64, not for riscv64"


@needs_apt
def test_what_is_there_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    ran = run(tmp_path / "thesis")
    assert ran.returncode == 1
    assert complaint(ran) == f"{tmp_path}/thesis is there already: remove it first"


@needs_apt
@pytest.mark.parametrize(
    ("sources", "status", "said"),
    [
        ("", 2, "this machine's apt is configured with no mirror"),
        ("deb [trusted=yes] file:{empty} stable main\n", 2, "no mirror of this machine's apt has"),
        ("deb http://127.0.0.1:9/debian stable main\n", 1, "Debian's bullseye can't be fetched: "),
    ],
)
def test_a_machine_without_a_mirror(tmp_path: Path, sources: str, status: int, said: str) -> None:
    (tmp_path / "empty").mkdir()
    text = sources.format(empty=tmp_path / "empty")
    ran = run(tmp_path / "new" / "julia", **another_apt(tmp_path, text), http_proxy="")
    assert ran.returncode == status
    assert complaint(ran).startswith(said)
    assert list((tmp_path / "new").iterdir()) == []


@needs_apt
def test_a_proxy_in_apts_configuration_is_used(tmp_path: Path) -> None:
    more = 'Acquire::http::Proxy "http://127.0.0.1:9";\n'
    machine = another_apt(tmp_path, "deb http://mirror.invalid/debian stable main\n", more)
    ran = run(tmp_path / "julia", **machine)
    assert ran.returncode == 1
    assert "127.0.0.1:9" in complaint(ran)


@needs_apt
def test_what_nobody_has_signed_is_refused(tmp_path: Path) -> None:
    """Also where the machine's apt would take it."""
    release = tmp_path / "mirror" / "dists" / "bullseye"
    (release / "main" / "binary-amd64").mkdir(parents=True)
    (release / "main" / "binary-amd64" / "Packages").touch()
    (release / "Release").write_text("Origin: Debian\nSuite: bullseye\nCodename: bullseye\n")
    source = f"deb [trusted=yes] file:{tmp_path}/mirror stable main\n"
    more = 'Acquire::AllowInsecureRepositories "true";\nAPT::Get::AllowUnauthenticated "true";\n'
    ran = run(tmp_path / "julia", **another_apt(tmp_path, source, more))
    assert ran.returncode == 1
    assert "is not signed" in complaint(ran)


@needs_apt
def test_hooks_of_the_machine_are_not_run(tmp_path: Path) -> None:
    hooked = tmp_path / "hooked"
    more = f'APT::Update::Pre-Invoke {{ "touch {hooked}"; }};\n'
    run(tmp_path / "julia", **another_apt(tmp_path, "deb file:/nowhere stable main\n", more))
    assert not hooked.exists()


@needs_apt
@pytest.mark.skipif(find_julia.search("1.5").julia is not None, reason="a Julia is here already")
def test_a_real_run(tmp_path: Path) -> None:
    ran = run(tmp_path / "a folder" / "julia")
    if ran.returncode == 2 or "can't be fetched" in ran.stderr:
        pytest.skip(f"no mirror can be reached: {ran.stderr.strip()}")
    assert ran.returncode == 0, ran.stderr
    moved = tmp_path / "moved"
    (tmp_path / "a folder" / "julia").rename(moved)
    code = "using LinearAlgebra; print(VERSION, ' ', DEPOT_PATH[1], ' ', norm([3, 4]))"
    variables = {k: v for k, v in os.environ.items() if not k.startswith("JULIA")}
    command = [str(moved / "bin" / "julia"), "--startup-file=no", "-e", code]
    said = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=60)
    assert (said.stdout, said.stderr) == (f"1.5.3 {moved}/depot 5.0", "")
    assert [path.name for path in (tmp_path / "a folder").iterdir()] == []
