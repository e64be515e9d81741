"""Two runs compared, from canned steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from rosetta.errors import UserError
from rosetta.results import Row, Run, RunDirectory, Step, Summary
from rosetta.results.comparison import Compared, compare
from rosetta.results.statistics import ratio_of_runs


def write(
    path: Path, times: dict[str, int], *, blocks: int = 8, attempt: int = 1, **more: Any
) -> Path:
    """A run in which `worker` took `times[worker]` ns for each step, three steps a block."""
    fields: dict[str, Any] = {
        "data": "mnist",
        "device": "cpu",
        "threads": 2,
        "status": "ok",
        "batch_size": 64,
        **more,
    }
    with RunDirectory(path, resume=attempt > 1) as directory:
        for worker, time in times.items():
            for step in range(-1, 3 * blocks):
                directory.add_step(
                    Step(
                        task="mlp",
                        worker=worker,
                        step=step + 1,
                        phase="timed" if step >= 0 else "first",
                        block=step // 3 + 1,
                        attempt=attempt,
                        loss=0.5,
                        wait_ns=10**9,
                        copy_ns=1000,
                        # nothing is the same twice
                        step_ns=time + step % 3 + step // 3 if step >= 0 else 10**9,
                    )
                )
        rows = [Row(worker=worker, task="mlp", **fields) for worker in times]
        directory.write_summary(Summary(run="r", state="complete", rows=rows), "")
        directory.write_run(a_run())
    return path


def a_run(rate: float = 0.1) -> Run:
    """The record of a run of `mlp`."""
    content = {"layers": [], "optimiser": {"learning_rate": rate}, "training": {"epochs": 5}}
    return Run(
        run="r",
        rosetta="0",
        protocol="1.0",
        started="now",
        command=[],
        options={},
        data={},
        workers={},
        environment={},
        machine={},
        tasks={"mlp": {"content": content, "steps": 9}},
    )


def only(before: Path, after: Path) -> Compared:
    (row,) = compare(before, after)
    return row


def test_half_the_time_is_twice_the_speed(tmp_path: Path) -> None:
    """Copying counts, the first step and the waiting don't."""
    row = only(write(tmp_path / "a", {"torch": 199_000}), write(tmp_path / "b", {"torch": 99_000}))
    assert row.ratio is not None
    assert row.ratio.value == pytest.approx(2.0, rel=1e-3)
    assert row.verdict == "faster"


def test_the_same_speed_is_no_difference(tmp_path: Path) -> None:
    row = only(write(tmp_path / "a", {"torch": 99_000}), write(tmp_path / "b", {"torch": 99_001}))
    assert row.verdict == "no difference"
    assert not row.is_slower_by(0)


@pytest.mark.parametrize(("share", "slower"), [(0.0, True), (0.05, True), (0.15, False)])
def test_slower_by_more_than_a_share(tmp_path: Path, share: float, slower: bool) -> None:
    """It has 0.9 times the speed."""
    row = only(write(tmp_path / "a", {"torch": 89_000}), write(tmp_path / "b", {"torch": 99_000}))
    assert row.verdict == "slower"
    assert row.is_slower_by(share) is slower


def test_few_blocks_say_nothing(tmp_path: Path) -> None:
    row = only(
        write(tmp_path / "a", {"torch": 100}, blocks=3), write(tmp_path / "b", {"torch": 900})
    )
    assert row.verdict == "too few blocks to say"
    assert row.is_unknown
    assert not row.is_slower_by(0)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"threads": 1}, "threads 2 and 1"),
        ({"device": "cuda"}, "device cpu and cuda"),
        ({"batch_size": 8}, "batch_size 64 and 8"),
        ({"data": "synthetic"}, "data mnist and synthetic"),
        ({"status": "crashed"}, "crashed in the second run"),
        ({"proof": "different"}, "not the same network in the second run"),
    ],
)
def test_what_is_not_alike_is_not_compared(
    tmp_path: Path, more: dict[str, Any], words: str
) -> None:
    row = only(write(tmp_path / "a", {"torch": 100}), write(tmp_path / "b", {"torch": 100}, **more))
    assert (row.ratio, row.verdict) == (None, words)
    assert row.is_unknown, "it isn't as fast as it was, for all that is known"


def test_another_task_is_refused(tmp_path: Path) -> None:
    before, after = (write(tmp_path / name, {"torch": 100}) for name in "ab")
    (after / "run.json").write_bytes(msgspec.json.encode(a_run(rate=0.2)))
    with pytest.raises(UserError, match="task mlp isn't the same in both runs"):
        compare(before, after)


def test_a_worker_of_one_run_only_is_named(tmp_path: Path) -> None:
    before = write(tmp_path / "a", {"torch": 100, "numpy": 100})
    after = write(tmp_path / "b", {"torch": 100, "jax": 100})
    assert [(row.worker, row.verdict) for row in compare(before, after)] == [
        ("torch", "no difference"),
        ("numpy", "not in the second run"),
        ("jax", "not in the first run"),
    ]


def test_of_a_task_begun_anew_the_last_attempt_counts(tmp_path: Path) -> None:
    write(tmp_path / "a", {"torch": 999_000})
    before = write(tmp_path / "a", {"torch": 199_000}, attempt=2)
    row = only(before, write(tmp_path / "b", {"torch": 199_000}))
    assert row.verdict == "no difference"


def test_what_is_no_run_is_said(tmp_path: Path) -> None:
    run = write(tmp_path / "a", {"torch": 100})
    with pytest.raises(UserError, match="no summary at"):
        compare(run, tmp_path / "nothing")
    (run / "steps.jsonl").write_text("no JSON\n")
    with pytest.raises(UserError, match="is no list of steps"):
        compare(run, run)
    (run / "steps.jsonl").unlink()
    with pytest.raises(UserError, match="no steps at"):
        compare(run, run)


def test_noise_of_either_run_widens_the_interval() -> None:
    steady, noisy = [[[100]] * 10], [[[50], [200]] * 5]
    for before, after in ((steady, noisy), (noisy, steady)):
        ratio = ratio_of_runs(before, after)
        assert ratio is not None and ratio.interval is not None
        low, high = ratio.interval
        assert low < 0.6 and high > 1.9
    alike = ratio_of_runs(steady, steady)
    assert alike is not None
    assert alike.interval == pytest.approx((1.0, 1.0))


def test_what_differs_from_process_to_process_widens_the_interval() -> None:
    """Each of five processes is steady, and one of them takes twice as long."""
    steady: list[list[list[int]]] = [[[100]] * 20] * 5
    one_slow: list[list[list[int]]] = [[[200]] * 20, *[[[100]] * 20] * 4]
    as_one = [[block for repeat in one_slow for block in repeat]]
    within, between = ratio_of_runs(steady, as_one), ratio_of_runs(steady, one_slow)
    assert within is not None and between is not None
    assert within.interval == pytest.approx((1.0, 1.0))
    assert between.interval == pytest.approx((0.5, 1.0))


def test_a_step_is_read_as_it_is_written(tmp_path: Path) -> None:
    run = write(tmp_path / "a", {"torch": 100}, blocks=1)
    lines = (run / "steps.jsonl").read_bytes().splitlines()
    assert len([msgspec.json.decode(line, type=Step) for line in lines]) == 4
