"""uv's words, recorded, and the one line that is made of them."""

import pytest

from rosetta.environments import clean_environment
from rosetta.environments.python.uv import telling_line

UNSOLVABLE = """\
Using Python 3.11.7 environment at: a
error: No solution found when resolving dependencies
  cause: Because there is no version of msgpack==99.0.0 and you require msgpack==99.0.0, we can \
conclude that your requirements are unsatisfiable.
"""
OLDER_UNSOLVABLE = """\
  × No solution found when resolving dependencies:
  ╰─▶ Because there is no version of msgpack==99.0.0 and you require
      msgpack==99.0.0, we can conclude that your requirements are
      unsatisfiable.
"""
NO_NETWORK = """\
error: Request failed after 3 retries in 10.3s
  cause: Failed to fetch: https://user:secret@host/simple/torch/
  cause: dns error
"""
BUILD_FAILED = """\
   Building sysv-ipc==1.1.0
error: Failed to build `sysv-ipc==1.1.0`
  cause: The build backend returned an error
  cause: Call to `setuptools.build_meta:__legacy__.build_wheel` failed (exit status: 1)

         [stderr]
         error: command '/nonexistent' failed with exit status 1

hint: Build failures usually indicate a problem with the package or the build environment
"""
DISK_FULL = """\
error: Failed to install: numpy-2.4.6.whl (numpy==2.4.6)
  cause: failed to copy file: No space left on device (os error 28)
"""


@pytest.mark.parametrize("output", [UNSOLVABLE, OLDER_UNSOLVABLE])
def test_an_unsolvable_requirement(output: str) -> None:
    assert telling_line(output) == (
        "Because there is no version of msgpack==99.0.0 and you require msgpack==99.0.0"
    )


def test_the_error_and_its_last_cause() -> None:
    assert telling_line(NO_NETWORK) == "Request failed after 3 retries in 10.3s: dns error"


def test_a_failed_build_tells_the_compilers_last_error() -> None:
    line = telling_line(BUILD_FAILED)
    assert line.startswith("Failed to build `sysv-ipc==1.1.0`: ")
    assert line.endswith("command '/nonexistent' failed with exit status 1")


def test_a_full_disk() -> None:
    assert telling_line(DISK_FULL) == "no space left on the disk"


def test_no_password_is_repeated() -> None:
    line = telling_line("error: Failed to fetch: `https://user:secret@host/simple/torch/`")
    assert line == "Failed to fetch: `https://…@host/simple/torch/`"


def test_silence_and_length() -> None:
    assert telling_line("") == "uv gave no reason"
    assert len(telling_line("error: " + "x" * 1000)) == 300


def test_what_points_python_elsewhere_does_not_leak(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("VIRTUAL_ENV", "PYTHONPATH", "PYTHONHOME"):
        monkeypatch.setenv(name, "/nowhere")
    monkeypatch.setenv("KEPT", "1")
    environment = clean_environment({"MORE": "2"})
    assert not {"VIRTUAL_ENV", "PYTHONPATH", "PYTHONHOME"} & set(environment)
    assert (environment["KEPT"], environment["MORE"]) == ("1", "2")
