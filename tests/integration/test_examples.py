"""The worker in a third language, which was written from the specification and the golden files."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
FOLDER = CHECKOUT / "examples" / "javascript"

pytestmark = pytest.mark.exhaustive


@pytest.fixture(scope="module", autouse=True)
def packages():
    """Its two packages, installed as its README says."""
    if not (shutil.which("node") and shutil.which("npm")):
        pytest.skip("no node and npm on the PATH")
    if not (FOLDER / "node_modules").is_dir():
        done = subprocess.run(
            ["npm", "ci", "--ignore-scripts"], cwd=FOLDER, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr


def test_its_own_tests_pass():
    """Every golden frame, and the golden tape of `mlp`."""
    done = subprocess.run(["npm", "test"], cwd=FOLDER, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.alone
def test_it_conforms(rosetta, capsys):
    """The report is shown whatever comes of it: who reads a CI's log sees what was asked."""
    process = rosetta("conform", FOLDER, "--threads", 1, "--json")
    output, errors = process.communicate(timeout=280)
    with capsys.disabled():
        print()
        for check in json.loads(output)["checks"]:
            print(f"  {check['status']:<10} {check['name']}: {check['came']}")
    assert process.returncode == 0, output + errors
    asked = [check for check in json.loads(output)["checks"] if check["status"] == "ok"]
    assert len(asked) > 90


def test_it_says_that_it_has_one_thread(rosetta):
    process = rosetta("conform", FOLDER, "--threads", 2, "--check", "greeting.hello")
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "computes with one thread" in output


@pytest.mark.alone
def test_it_is_proved_and_compared(rosetta, tmp_path):
    process = rosetta(
        *("bench", "--quick", "--task", "mlp", "--worker", f"numpy,{FOLDER}", "--threads", 1),
        *("--steps", 20, "--data", "synthetic", "--out", tmp_path / "run"),
    )
    _, errors = process.communicate(timeout=280)
    assert process.returncode == 0, errors
    rows = json.loads((tmp_path / "run" / "summary.json").read_text())["rows"]
    row = next(row for row in rows if row["worker"] == "javascript")
    assert (row["status"], row["proof"], row["language"]) == ("ok", "same", "javascript")
    assert row["ratio"] > 0
