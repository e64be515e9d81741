"""`rosetta compare` on real runs: the exit code, for CI."""

from __future__ import annotations

import json

import pytest

ASKED = (
    *("bench", "--no-proof", "--task", "mlp", "--worker", "null", "--steps", 200, "--warmup", 1),
    *("--data", "synthetic", "--threads", 1, "--batch-size", 16),
)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return tmp_path_factory.mktemp("runs") / "run"


@pytest.fixture
def runs(rosetta, run, tmp_path):
    """A run, and a copy of it in which every step took twice as long."""
    if not run.exists():
        process = rosetta(*ASKED, "--out", run)
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
    slow = tmp_path / "slow"
    slow.mkdir()
    for name in ("summary.json", "run.json"):
        (slow / name).write_bytes((run / name).read_bytes())
    with (slow / "steps.jsonl").open("w") as file:
        for line in (run / "steps.jsonl").read_text().splitlines():
            step = json.loads(line)
            step.update(copy_ns=2 * step["copy_ns"], step_ns=2 * step["step_ns"] + 1)
            file.write(json.dumps(step) + "\n")
    return run, slow


def compared(rosetta, *arguments):
    process = rosetta("compare", *arguments)
    output, errors = process.communicate(timeout=60)
    return process.returncode, output, errors


def test_a_slower_run_fails_where_that_is_asked(rosetta, runs):
    fast, slow = runs
    status, output, _ = compared(rosetta, fast, slow)
    assert status == 0
    assert "slower" in output
    status, _, errors = compared(rosetta, fast, slow, "--fail-if-slower", "5%")
    assert status == 1
    assert errors == "null on mlp is slower by more than 5%\n"
    assert compared(rosetta, slow, fast, "--fail-if-slower", "0.05")[0] == 0
    status, output, _ = compared(rosetta, fast, fast, "--fail-if-slower", "0%")
    assert status == 0
    assert "no difference" in output


def test_a_worker_that_is_gone_fails_too(rosetta, runs):
    """It isn't as fast as it was."""
    fast, slow = runs
    summary = json.loads((slow / "summary.json").read_text())
    summary["rows"][0].update(status="crashed", reason="was killed")
    (slow / "summary.json").write_text(json.dumps(summary))
    status, output, _ = compared(rosetta, fast, slow)
    assert (status, "crashed in the second run" in output) == (0, True)
    status, _, errors = compared(rosetta, fast, slow, "--fail-if-slower", "5%")
    assert status == 1
    assert errors == "null on mlp can't be compared: crashed in the second run\n"


@pytest.mark.parametrize("share", ["five", "-5%", "150%", "1", ""])
def test_a_share_that_is_none_is_refused(rosetta, runs, share):
    status, _, errors = compared(rosetta, *runs, "--fail-if-slower", share)
    assert status == 2
    assert "--fail-if-slower" in errors
