"""Which broken pipes end a command in silence. With real commands: tests/integration."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from rosetta.cli.closed_pipe import ends_silently


def test_another_pipe_s_is_an_error_like_others() -> None:
    with pytest.raises(BrokenPipeError, match="a worker's"), ends_silently():
        raise BrokenPipeError("a worker's")


def test_typer_s_exit_because_of_it_is_that_error_too() -> None:
    with pytest.raises(BrokenPipeError, match="a worker's"), ends_silently():
        try:
            raise BrokenPipeError("a worker's")
        except BrokenPipeError:
            raise SystemExit(1)  # noqa: B904 (as Typer does)


def test_the_exit_codes_stay_as_they_are() -> None:
    for code in (0, 1, 2):
        with pytest.raises(SystemExit) as ended, ends_silently():
            raise SystemExit(code)
        assert ended.value.code == code


@pytest.mark.parametrize(
    ("raised", "status", "said"),
    [
        ("ValueError('mine')", 1, "ValueError: mine"),
        ("KeyboardInterrupt", -2, "KeyboardInterrupt"),
        ("SystemExit(3)", 141, ""),
    ],
)
def test_what_went_wrong_is_said_though_its_output_has_no_reader(raised, status, said) -> None:
    """With words still in the buffer."""
    lines = [
        "from rosetta.cli.closed_pipe import ends_silently",
        "with ends_silently():",
        "    print('half a sentence', end='')",
        f"    raise {raised}",
    ]
    reading, writing = os.pipe()
    os.close(reading)
    ran = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)],
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
        env={k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"},
    )
    os.close(writing)
    assert (ran.returncode, (ran.stderr.splitlines() or [""])[-1]) == (status, said)
