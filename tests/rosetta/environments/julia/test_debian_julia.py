"""Making a Julia from Debian's packages: once, whole or not at all. The script is a stand-in."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from rosetta import environments, workers
from rosetta.environments import EnvironmentUnavailable, NotInstalled
from rosetta.environments.julia import debian_julia, find_julia

PutJulia = Callable[..., Path]

MAKE = """\
import sys
from pathlib import Path
from rosetta.environments.julia import debian_julia
debian_julia.SCRIPT = Path(sys.argv[1])
debian_julia.make("1.5", lambda line: print(line, flush=True), None)
"""
GOOD = """\
#!/bin/sh
echo x >>{calls}
mkdir -p "$1/bin"
printf '#!/bin/sh\\necho Julia 1.5.3\\n' >"$1/bin/julia"
chmod +x "$1/bin/julia"
"""


@pytest.fixture
def write_script(
    tmp_path: Path, no_julia: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], Path]:
    """On a machine with apt: puts a stand-in for the script; its runs are counted in a file."""
    for tool in ("apt-get", "dpkg"):
        (no_julia / tool).symlink_to("/bin/true")
    (no_julia / "chmod").symlink_to("/bin/chmod")
    path = tmp_path / "scripts" / "get-julia-from-debian"
    path.parent.mkdir()
    monkeypatch.setattr(debian_julia, "SCRIPT", path)

    def write(text: str) -> Path:
        path.write_text(text.replace("{calls}", str(tmp_path / "calls")))
        path.chmod(0o755)
        return path

    return write


def make(lines: list[str] | None = None) -> None:
    debian_julia.make("1.5", (lines if lines is not None else []).append, None)


def test_it_says_what_it_does_before_it_does_it(
    write_script: Callable[[str], Path],
) -> None:
    write_script(GOOD)
    assert debian_julia.is_possible("1.5")
    lines: list[str] = []
    make(lines)
    assert lines[0] == (
        "making Julia 1.5.3 from Debian's packages: about 65 MB to download, 370 MB on the disk"
    )
    assert lines[1].startswith("Julia 1.5.3 is ready after ")
    julia = find_julia.search("1.5").julia
    assert julia == find_julia.Julia(find_julia.prefix() / "bin" / "julia", "1.5.3")


def test_it_is_not_tried_where_it_can_not_work(
    write_script: Callable[[str], Path], no_julia: Path
) -> None:
    assert not debian_julia.is_possible("1.6")
    (no_julia / "apt-get").unlink()
    assert not debian_julia.is_possible("1.5")


@pytest.mark.parametrize(("status", "lacking"), [(1, False), (2, True)])
def test_a_failure_is_a_reason_and_is_not_repeated(
    write_script: Callable[[str], Path], tmp_path: Path, status: int, lacking: bool
) -> None:
    text = "#!/bin/sh\necho x >>{calls}\necho Err:1\n"
    text += f"echo 'get-julia-from-debian: no  mirror' >&2\nexit {status}\n"
    write_script(text)
    for _ in range(2):
        with pytest.raises(debian_julia.Failure, match=r"^no mirror; log: ") as caught:
            make()
        assert caught.value.lacking is lacking
    assert (tmp_path / "calls").read_text() == "x\n"
    assert "Err:1" in debian_julia.log().read_text()
    assert not find_julia.prefix().exists()
    debian_julia.remove()
    assert not debian_julia.log().exists()


def test_a_full_disk_is_said(write_script: Callable[[str], Path]) -> None:
    write_script("#!/bin/sh\necho 'dpkg-deb: error: No space left on device'\nexit 1\n")
    with pytest.raises(debian_julia.Failure, match=r"^no space left on the disk; log: "):
        make()


def test_what_is_left_of_a_killed_one_is_removed(write_script: Callable[[str], Path]) -> None:
    write_script('#!/bin/sh\nmkdir -p "$1.partial.abc/bin"\nkill -KILL $$\n')
    with pytest.raises(debian_julia.Failure, match="no reason was given"):
        make()
    home = find_julia.prefix().parent
    assert sorted(path.name for path in home.iterdir()) == ["julia.lock", "julia.log"]


def test_one_that_is_broken_is_made_anew(
    write_script: Callable[[str], Path], put_julia: PutJulia
) -> None:
    write_script(GOOD)
    put_julia(find_julia.prefix() / "bin" / "julia", "1.0.0")
    (find_julia.prefix() / "stray").touch()
    make()
    assert find_julia.search("1.5").julia is not None
    assert not (find_julia.prefix() / "stray").exists()


def test_an_interrupt_leaves_nothing_behind(
    write_script: Callable[[str], Path], tmp_path: Path
) -> None:
    started = tmp_path / "started"
    script = write_script(f'#!/bin/sh\nmkdir "$1.partial.abc"\ntouch {started}\nsleep 319\n')
    command = [sys.executable, "-c", MAKE, str(script)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as maker:
        deadline = time.monotonic() + 20
        while not started.exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        maker.send_signal(signal.SIGINT)
        _, complaint = maker.communicate(timeout=20)
    assert "KeyboardInterrupt" in complaint
    home = find_julia.prefix().parent
    assert sorted(path.name for path in home.iterdir()) == ["julia.lock", "julia.log"]
    write_script(GOOD)
    make()  # the lock is free again
    assert find_julia.search("1.5").julia is not None


def test_two_processes_make_it_once(write_script: Callable[[str], Path], tmp_path: Path) -> None:
    script = write_script(
        GOOD.replace("mkdir", "while [ ! -e {calls}.gate ]; do sleep 0.02; done\nmkdir")
    )

    def maker() -> subprocess.Popen[str]:
        command = [sys.executable, "-c", MAKE, str(script)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    first = maker()
    assert first.stdout is not None
    assert "making Julia" in first.stdout.readline()
    second = maker()
    assert second.stdout is not None
    assert second.stdout.readline() == "another process is making Julia; waiting for it\n"
    (tmp_path / "calls.gate").touch()
    assert "is ready after" in first.communicate(timeout=20)[0]
    assert second.communicate(timeout=20)[0] == ""
    assert (first.returncode, second.returncode) == (0, 0)
    assert (tmp_path / "calls").read_text() == "x\n"


@pytest.mark.parametrize(("status", "error"), [(1, EnvironmentUnavailable), (2, NotInstalled)])
def test_a_worker_is_told_why(
    write_script: Callable[[str], Path], tmp_path: Path, status: int, error: type[Exception]
) -> None:
    write_script(f"#!/bin/sh\necho 'get-julia-from-debian: no luck' >&2\nexit {status}\n")
    worker = workers.get("julia")
    assert environments.status(worker).reason == "not made yet"
    with pytest.raises(EnvironmentUnavailable) as caught:
        environments.ensure(worker)
    assert type(caught.value) is error
    assert str(caught.value) == (
        "no Julia 1.5 or later: put julia on the PATH or set JULIA, see "
        "https://julialang.org/downloads (from Debian's packages: no luck; "
        f"log: {tmp_path}/home/julia.log)"
    )
