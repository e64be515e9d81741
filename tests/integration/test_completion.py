"""Completion in a real bash, with the script that the command itself prints."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROSETTA = Path(sys.executable).with_name("rosetta")
ASK = """
eval "$(rosetta --show-completion bash)"
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_rosetta_completion rosetta
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def offered(tmp_path):
    """What bash offers where the cursor stands behind the last word."""
    if not ROSETTA.exists() or shutil.which("bash") is None:
        pytest.skip("needs bash and an installed rosetta")
    environment = {**os.environ, "PATH": f"{ROSETTA.parent}:{os.environ['PATH']}"}
    environment["_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION"] = "1"  # bash is named: see ASK

    def ask(*words: str) -> list[str]:
        ran = subprocess.run(
            ["bash", "--norc", "-c", ASK, "bash", "rosetta", *words],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert ran.returncode == 0, ran.stderr
        assert not ran.stderr
        return ran.stdout.split()

    return ask


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("sho",), ["show"]),
        (("bench", "--worker", "nump"), ["numpy"]),
        (("bench", "--worker", "torch,nump"), ["torch,numpy"]),
        (("bench", "--task", "m"), ["mlp"]),
        (("bench", "--data", "cif"), ["cifar10"]),
        (("prove", "nump"), ["numpy"]),
        (("worker", "numpy", "--task", "gr"), ["gru"]),
        (("env", "size", "nul"), ["null"]),
        (("table", "runs/a"), ["runs/a1"]),
        (("show", ""), ["runs/a1", "runs/b1", "runs"]),
        (("bench", "--resume", "runs/b"), ["runs/b1"]),
        (("compare", "runs/a1", "runs/b"), ["runs/b1"]),
        (("table", "--figure", "acc"), ["accuracy"]),
    ],
)
def test_bash_completes(offered, tmp_path, words, expected):
    for name in ("a1", "b1"):
        (tmp_path / "runs" / name).mkdir(parents=True)
        (tmp_path / "runs" / name / "summary.json").touch()
    assert offered(*words) == expected


def test_the_script_can_be_installed(tmp_path):
    """Into a home of its own: `--install-completion` writes to the user's bash settings."""
    ran = subprocess.run(
        [ROSETTA, "--install-completion", "bash"],
        env={
            **os.environ,
            "HOME": str(tmp_path),
            "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1",
        },
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ran.returncode == 0, ran.stderr
    script = next(path for path in tmp_path.rglob("*") if path.is_file() and path.suffix == ".sh")
    assert "_ROSETTA_COMPLETE=complete_bash" in script.read_text()
    assert str(script) in (tmp_path / ".bashrc").read_text()
