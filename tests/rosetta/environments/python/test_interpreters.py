"""Finding a Python of a version: a candidate counts when it runs and says what it is."""

import sys
import time
from pathlib import Path

import pytest

from rosetta.environments import EnvironmentUnavailable
from rosetta.environments.python import interpreters

RUNNING = "{}.{}".format(*sys.version_info[:2])
BROKEN_SHIM = "#!/bin/sh\necho 'pyenv: python9.9: command not found' >&2\nexit 127\n"
SAYS_9_9 = '#!/bin/sh\necho "9.9 CPython $0"\n'


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.fixture(autouse=True)
def empty_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No interpreter is on the PATH, in pyenv or in uv's folder."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    monkeypatch.setenv("UV_PYTHON_INSTALL_DIR", str(tmp_path / "uv"))


def test_the_running_one_is_taken_when_it_fits() -> None:
    assert interpreters.find(RUNNING) == Path(sys.executable)


def test_the_path_is_searched(tmp_path: Path) -> None:
    python = script(tmp_path / "bin/python9.9", SAYS_9_9)
    assert interpreters.find("9.9") == python


def test_a_python3_of_the_version_counts_too(tmp_path: Path) -> None:
    python = script(tmp_path / "bin/python3", SAYS_9_9)
    assert interpreters.find("9.9") == python


def test_a_shim_that_fails_is_passed_over_for_pyenvs_own(tmp_path: Path) -> None:
    script(tmp_path / "bin/python9.9", BROKEN_SHIM)
    python = script(tmp_path / "pyenv/versions/9.9.1/bin/python", SAYS_9_9)
    assert interpreters.find("9.9") == python


def test_the_newest_patch_release_is_taken(tmp_path: Path) -> None:
    script(tmp_path / "pyenv/versions/9.9.2/bin/python", SAYS_9_9)
    newest = script(tmp_path / "pyenv/versions/9.9.10/bin/python", SAYS_9_9)
    assert interpreters.find("9.9") == newest


@pytest.mark.parametrize("said", ["3.1 CPython /x", "9.9 PyPy /x", "9.9", "hello"])
def test_another_version_or_implementation_does_not_count(tmp_path: Path, said: str) -> None:
    python = script(tmp_path / "bin/python9.9", f"#!/bin/sh\necho '{said}'\n")
    assert interpreters.probe(python, "9.9") is None


def test_one_that_hangs_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpreters, "_PROBE_LIMIT_S", 0.2)
    python = script(tmp_path / "bin/python9.9", "#!/bin/sh\nexec /bin/sleep 30\n")
    started = time.monotonic()
    assert interpreters.probe(python, "9.9") is None
    assert time.monotonic() - started < 5


def test_a_python_variable_of_ours_does_not_mislead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONHOME", "/nowhere")
    assert interpreters.probe(Path(sys.executable), RUNNING) is not None


def test_a_version_that_nobody_has_is_a_reason_in_one_line() -> None:
    lines: list[str] = []
    with pytest.raises(EnvironmentUnavailable) as caught:
        interpreters.find("9.9", lines.append)
    reason = str(caught.value)
    assert reason.startswith(
        "needs Python 9.9: not on the PATH, not in pyenv, and uv could not fetch it"
    )
    assert reason.endswith("install it, for example with `pyenv install 9.9`")
    assert "\n" not in reason
    assert lines == ["Python 9.9 is not on this machine: asking uv to fetch it"]
