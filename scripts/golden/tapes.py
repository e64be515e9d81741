"""The golden tapes: sessions of the `numpy` worker on small networks, with dropout off."""

from __future__ import annotations

import itertools
import os
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
from numpy.typing import NDArray

from golden import networks
from golden.frame import MAGIC, bytes_of, with_arrays
from golden.notation import pack

PY = Path(__file__).parents[2] / "py"
WORKER = PY / "workers" / "numpy"
TAPES: dict[str, Callable[[], dict[str, Any]]] = {
    "mlp": networks.mlp,
    "cnn": networks.cnn,
    "gru": networks.gru,
}
STEPS = {"mlp": 10, "cnn": 5, "gru": 10}
READ_AFTER = (1, 4)
RATE_CHANGES_AT = 3
BATCH, LAST_BATCH = 16, 5
FIXED = {"pid": 0, "host": "", "language_version": "3", "versions": {}, "disclosures": {}}
"""Of HELLO: what the machine is that the tape was recorded on is nobody's business."""

Frames = list[bytes]
Message = tuple[bytes, Frames]


class Numbers:
    """Numbers that are the same with every version of every library (splitmix64)."""

    def __init__(self, seed: int) -> None:
        self._next = np.uint64(seed << 32)

    def uniform(self, *shape: int) -> NDArray[np.float64]:
        """Of [0, 1)."""
        count = int(np.prod(shape, dtype=int))
        z = self._next + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        self._next += np.uint64(2**20 + count)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
        return ((z >> np.uint64(11)).astype(np.float64) / 2**53).reshape(shape)

    def integers(self, below: int, *shape: int) -> NDArray[np.int64]:
        """Of 0 … below − 1."""
        return np.floor(self.uniform(*shape) * below).astype(np.int64)


def questions(name: str) -> Iterator[Frames]:
    """What the coordinator says on the tape of that name."""
    task, numbers, ids = TAPES[name](), Numbers(2018), itertools.count()

    def said(kind: str, arrays: dict[str, NDArray[Any]] | None = None, **fields: Any) -> Frames:
        header = {"type": kind, "id": next(ids), **fields}
        return [pack(with_arrays(header, arrays or {})), *map(bytes_of, (arrays or {}).values())]

    parameters = {
        p["name"]: ((numbers.uniform(*p["shape"]) - 0.5) * 12**0.5 * p["deviation"]).astype("<f4")
        for p in task["parameters"]
    }
    yield said("WELCOME", re=0, protocol="1.0", credit=1, reconnect_ns=0)
    about = {"batch_size": BATCH, "seed": 1, "dropout": False, "threads": 1}
    yield said("SETUP", parameters, task=task, **about)
    drawn = batches(task, numbers, STEPS[name])
    first = {"inputs": drawn[0]["inputs"]}
    yield said("PREDICT", first)
    yield said("PARAMETERS")
    for step, batch in enumerate(drawn):
        rate = {"learning_rate": 3 * task["optimiser"]["learning_rate"]}
        yield said("BATCH", batch, step=step, **(rate if step == RATE_CHANGES_AT else {}))
        if step + 1 in READ_AFTER:
            yield said("PREDICT", first)
            yield said("PARAMETERS")
    yield said("END")
    yield said("BYE")


def batches(task: dict[str, Any], numbers: Numbers, steps: int) -> list[dict[str, NDArray[Any]]]:
    """Batches of which the last is smaller, and two have the first one's inputs.

    One of the two has its labels, the other one doesn't: whoever answers from memory is found.
    """
    drawn = []
    for step in range(steps):
        count = LAST_BATCH if step == steps - 1 else BATCH
        labels = numbers.integers(task["classes"], count).astype("<i4")
        drawn.append({"inputs": inputs(task, numbers, count), "labels": labels})
    drawn[2] = {**drawn[0], "labels": np.roll(drawn[0]["labels"], 1)}
    drawn[RATE_CHANGES_AT] = drawn[0]
    return drawn


def inputs(task: dict[str, Any], numbers: Numbers, count: int) -> NDArray[Any]:
    """A batch of pixels, or of texts whose shorter ones have zeros in front."""
    shape = (count, *task["input"]["shape"])
    if task["input"]["kind"] == "pixels":
        return numbers.integers(256, *shape).astype(np.uint8)
    tokens = 1 + numbers.integers(task["input"]["vocabulary"] - 1, *shape)
    lengths = shape[1] - numbers.integers(2 * shape[1] // 3, count)
    for row, length in enumerate(lengths):
        tokens[row, : shape[1] - length] = 0
    return tokens.astype("<i4")


def recorded(name: str) -> bytes:
    """The tape of that name, with the answers of the `numpy` worker on this machine."""
    with tempfile.TemporaryDirectory() as folder:
        asked, answered = Path(folder) / "asked.tape", Path(folder) / "answered.tape"
        asked.write_bytes(written([(b"C", frames) for frames in questions(name)]))
        ran = play(asked, "--record", str(answered))
        if ran.returncode:
            raise RuntimeError(ran.stderr)
        return written([cleaned(*message) for message in read(answered.read_bytes())])


def is_still_right(name: str, tape: bytes) -> bool:
    """Whether a tape asks what it should, and its answers are the `numpy` worker's."""
    try:
        messages = list(read(tape))
    except (ValueError, struct.error):
        return False
    outline = [(sender, outline_of(frames)) for sender, frames in messages]
    fresh = list(read(recorded(name)))
    if outline != [(sender, outline_of(frames)) for sender, frames in fresh]:
        return False
    asked = [[frames for sender, frames in each if sender == b"C"] for each in (messages, fresh)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.tape"
        path.write_bytes(tape)
        return asked[0] == asked[1] and play(path).returncode == 0


def outline_of(frames: Frames) -> Any:
    """What a message has that doesn't depend on the machine."""
    header = msgpack.unpackb(frames[0])
    header.pop("loss", None)
    return header, [len(frame) for frame in frames[1:]]


def play(tape: Path, *more: str) -> subprocess.CompletedProcess[str]:
    """Run the `numpy` worker from a tape, in this interpreter."""
    command = [sys.executable, "-m", "rosetta_worker", str(WORKER), "--tape", str(tape)]
    single = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [*command, "--threads", "1", *more],
        env={**os.environ, "PYTHONPATH": str(PY), **single},
        capture_output=True,
        text=True,
        check=False,
    )


def cleaned(sender: bytes, frames: Frames) -> Message:
    """A message without times, and without what tells of the machine."""
    if sender == b"C":
        return sender, frames
    header = msgpack.unpackb(frames[0])
    times = {key: 0 for key in header if key.endswith("_ns")}
    fixed = {key: value for key, value in FIXED.items() if key in header}
    return sender, [pack({**header, **times, **fixed}), *frames[1:]]


def written(messages: list[Message]) -> bytes:
    """A tape's bytes."""
    parts = [MAGIC]
    for sender, frames in messages:
        parts.append(struct.pack("<cI", sender, len(frames)))
        parts += [struct.pack("<Q", len(frame)) + frame for frame in frames]
    return b"".join(parts)


def read(tape: bytes) -> Iterator[Message]:
    """The messages of a tape. Raises ValueError or struct.error for what isn't one."""
    if not tape.startswith(MAGIC):
        raise ValueError("not a tape")
    position = len(MAGIC)
    while position < len(tape):
        sender, count = struct.unpack_from("<cI", tape, position)
        position, frames = position + 5, []
        for _ in range(count):
            (length,) = struct.unpack_from("<Q", tape, position)
            frames.append(tape[position + 8 : position + 8 + length])
            position += 8 + length
        if position > len(tape):
            raise ValueError("it ends in the middle of a message")
        yield sender, frames
