"""What bad input gets: one clear line, exit code 2, nothing half-written."""

from __future__ import annotations

import resource
import socket

import pytest

TINY = ("--no-proof", "--steps", 2, "--warmup", 0, "--data", "synthetic", "--worker", "null")

MISTAKES = [
    # what is typed, what the line says
    (("bench", "--task", "cmn"), "unknown task 'cmn': did you mean cnn?"),
    (("bench", "--worker", "torhc"), "unknown worker 'torhc': did you mean torch?"),
    (("bench", "--data", "cifar"), "unknown data set 'cifar': did you mean cifar10?"),
    (("bench", "--batch-size", "0"), "--batch-size"),
    (("bench", "--steps", "-1"), "--steps"),
    (("bench", "--steps", "x"), "--steps"),
    (("bench", "--steps", "1", "--epochs", "1"), "--steps and --epochs exclude each other"),
    (("bench", *TINY, "--batch-size", "20000"), "larger than the data (10000 samples)"),
    (("bench", *TINY, "--baseline", "numpy"), "--baseline numpy: not one of this run's workers"),
    (("bench", *TINY, "--data-dir", "/nowhere"), "/nowhere"),
    (("bench", "--task", "mlp", "--data", "mnist", "--data-dir", "."), "train-images-idx3-ubyte"),
    (("bench", *TINY, "--task", "gru", "--data", "mnist", "--no-download"), "mnist"),
    (
        ("bench", *TINY, "--bind", "tcp://0.0.0.0:5555"),
        "can reach it; add --encrypt",
    ),
    (("bench", *TINY, "--bind", "carrier-pigeon"), "carrier-pigeon"),
    (("bench", *TINY, "--out", "/proc/run"), "/proc/run"),
    (("worker", "torhc"), "did you mean torch?"),
    (("worker", "null", "--tape", "none.tape"), "no file none.tape"),
    (("worker", "null", "--connect", "a", "--tape", "b"), "--connect excludes --tape"),
    (("worker", "null", "--connect", "a", "--threads", "1"), "--connect excludes --threads"),
    (("worker", "null", "--tape", "a", "--steps", "9"), "--tape excludes --steps"),
    (("worker", "null", "--connect", "none.json"), "none.json"),
    (("worker", "null", "--task", "resnet50", "--data", "synthetic"), "has no task resnet50"),
    (("table", "nothing-here"), "no summary at nothing-here"),
    (("table",), "no run in runs/"),
    (("data", "--fetch", "imbd"), "did you mean imdb?"),
    (("env", "create", "torhc"), "did you mean torch?"),
    (("benhc",), "benhc"),
]


@pytest.mark.parametrize(("typed", "said"), MISTAKES)
def test_a_mistake_gets_one_line(typed, said, rosetta, tmp_path):
    process = rosetta(*typed)
    output, complaint = process.communicate(timeout=60)
    assert process.returncode == 2, complaint
    lines = complaint.strip().splitlines()
    assert said in lines[-1]
    assert lines[-1].startswith("rosetta: ")
    assert len([line for line in lines if "runs on synthetic" not in line]) == 1
    assert not output
    assert not list(tmp_path.iterdir()), "nothing half-written"


def test_a_port_in_use(rosetta, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        process = rosetta("bench", *TINY, "--bind", address)
        _, complaint = process.communicate(timeout=60)
    assert process.returncode == 2
    assert complaint.strip().splitlines()[-1].startswith(f"rosetta: can't listen at {address}: ")
    assert not list(tmp_path.iterdir())


def test_a_run_directory_that_holds_something_is_left_alone(rosetta, tmp_path):
    out = tmp_path / "run"
    out.mkdir()
    (out / "thesis.tex").write_text("dear")
    process = rosetta("bench", *TINY, "--out", out)
    _, complaint = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "is not empty" in complaint
    assert [path.name for path in out.iterdir()] == ["thesis.tex"]


def test_no_space_for_the_steps_is_said_and_leaves_whole_lines(rosetta, tmp_path, monkeypatch):
    """A limit on the size of files stands in for a full disk: writes fail in the same way."""
    out = tmp_path / "run"
    small = 30_000
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    process = rosetta(
        "bench", "--no-proof", "--steps", 5000, *TINY[3:], "--task", "mlp", "--out", out
    )
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (small, limits[1]))
    _, complaint = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "can't write" in complaint.strip().splitlines()[-1]
    text = (out / "steps.jsonl").read_text()
    assert text.endswith("}\n")
    assert len(text) <= small
