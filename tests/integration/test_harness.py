"""`rosetta harness`: that it runs, and that the file holds what is promised. Never how fast."""

from __future__ import annotations

import json
import shutil

import pytest
from jsonschema import Draft202012Validator

import tested_workers
from rosetta import workers
from rosetta.harness import Choices, Extent, Harness, overhead, run, with_environment
from rosetta.harness.extent import Series
from rosetta.protocol.schema import schema_of

TINY = Extent(
    overhead={"mlp": Series(5, 2), "cnn": Series(1, 1), "gru": Series(1, 1)},
    ceiling=Series(1, 12),
    workers=(1, 2),
    round_trip=Series(5, 5),
    memory_steps=600,
)
PEERS = ("pyzmq_tcp", "pyzmq_ipc", "multiprocessing_queue")


@pytest.fixture
def measured(tmp_path):
    """Measures parts and returns what is in the file."""

    def go(*parts, tasks=("mlp",), worker="torch"):
        tested_workers.needed(workers.get(worker if "overhead" in parts else "null"))
        run(Choices(tmp_path / "run", "test", TINY, parts, workers=[worker], tasks=tasks), print)
        content = json.loads((tmp_path / "run" / "harness.json").read_bytes())
        Draft202012Validator(schema_of(Harness)).validate(content)
        return content

    return go


def test_planes_and_peers_are_measured_for_every_size_and_number_of_workers(measured):
    content = measured("ceiling", "round_trip")
    assert set(content["absent"]) == {"ceiling.peers.ray"}
    assert set(content["ceiling"]) == {"inline_tcp", "inline_ipc", "shm"}
    for by_bytes in content["ceiling"].values():
        assert list(by_bytes) == ["38400", "196608", "786432"]
        for by_workers in by_bytes.values():
            assert list(by_workers) == ["1", "2"]
            for leaf in by_workers.values():
                assert leaf["batches_per_s"] > 0 and leaf["copies"] > 0
                assert set(leaf["peers"]) == {*PEERS, *(f"{peer}_answered" for peer in PEERS)}
    assert content["round_trip"]["ratio"] > 0 and content["round_trip"]["interval"]
    assert content["machine"]["logical_cores"]
    # Two large sizes, two numbers of workers, peers that stream and that answer; the round trip.
    assert len(content["goals"]) == 9


def test_memory_is_of_a_real_run(measured):
    content = measured("memory")
    assert content["memory_growth_bytes"] >= 0
    assert content["memory_steps"] == 600


@pytest.mark.exhaustive
@pytest.mark.parametrize("worker", overhead.scripts())
def test_the_plain_script_trains_the_same_network(measured, tmp_path, worker):
    content = measured("overhead", tasks=("mlp", "cnn", "gru"), worker=worker)
    found = content["overhead"][worker]
    assert not content["notes"]
    assert list(found) == ["mlp", "cnn", "gru"]
    for task in found.values():
        assert task["ratio"] > 0 and task["loss_difference"] < 1e-5
    assert found["mlp"]["interval"]
    steps = (tmp_path / "run" / "steps.jsonl").read_text().splitlines()
    assert len(steps) == 6 * 2 + 2 + 2


@pytest.mark.exhaustive
@pytest.mark.parametrize(("worker", "rate"), [("torch", "lr=1e-3"), ("tensorflow", "Adam(1e-3")])
def test_another_learning_rate_in_the_script_is_found_out(
    measured, monkeypatch, tmp_path, worker, rate
):
    shutil.copytree(overhead.PLAIN, tmp_path / "plain")
    script = tmp_path / "plain" / f"train_{worker}.py"
    assert rate in script.read_text()
    script.write_text(script.read_text().replace(rate, rate.replace("1e-3", "2e-3")))
    monkeypatch.setattr(overhead, "PLAIN", tmp_path / "plain")
    content = measured("overhead", worker=worker)
    assert content["overhead"][worker]["mlp"]["loss_difference"] > 1e-3
    assert any("don't train the same network" in note for note in content["notes"])


@pytest.mark.exhaustive
def test_the_command(rosetta, tmp_path):
    """Whatever the goals: the exit code is 0."""
    tested_workers.needed(workers.get("torch"))
    process = rosetta("harness", "--quick", "--out", tmp_path / "run", "--threads", 1)
    output, complaint = process.communicate(timeout=280)
    assert process.returncode == 0, complaint
    content = json.loads((tmp_path / "run" / "harness.json").read_bytes())
    compared = 3 * len(content["overhead"])
    assert list(content["overhead"]) == with_environment()
    assert content["quick"] and len(content["goals"]) == compared + 2 * 6 + 1 + 1
    for words in ("goal", "driven / plain script", "multiprocessing_queue", "20 MB"):
        assert words in output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--part", "cieling"), "did you mean ceiling?"),
        (("--task", "resnet50"), "unknown task"),
        (("--worker", "numpy"), "no plain script for numpy: there is one for tensorflow, torch"),
        (("--worker", "trch"), "did you mean torch?"),
    ],
)
def test_a_mistake_is_one_line(rosetta, tmp_path, arguments, words):
    process = rosetta("harness", *arguments, "--out", tmp_path / "run")
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 2
    assert words in errors.splitlines()[-1]
    assert not (tmp_path / "run").exists()
