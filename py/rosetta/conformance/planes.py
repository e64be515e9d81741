"""Data planes, and messages that are large (SPEC section 5)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosetta.conformance import frames
from rosetta.conformance.check import Chapter, WrongError
from rosetta.conformance.frames import Header
from rosetta.conformance.lab import Lab, same
from rosetta.conformance.worker_under_test import WorkerUnderTest, read_logits
from rosetta.coordinator import Lease, SharedMemory
from rosetta.proof.script import draw

CHAPTER = Chapter("planes")
_LARGE_BYTES = 2**26


@CHAPTER.check("large", "5", "a frame of 64 MiB is taken, here of an array that isn't needed")
def large(lab: Lab) -> str:
    """Whatever isn't needed is ignored; the inputs stand behind it."""
    worker = lab.ready()
    task = lab.any_task()
    inputs, _ = draw(task, np.random.default_rng(1), 2)
    expected = worker.logits(inputs)
    arrays = {"x_large": np.ones(_LARGE_BYTES, np.uint8), "inputs": inputs}
    number = worker.say("PREDICT", {}, arrays)
    found = read_logits(worker.hear_answer("PREDICTIONS", number)[1], expected.shape)
    if found.tobytes() != expected.tobytes():
        raise WrongError("other logits than without it")
    return "the same PREDICTIONS as without it"


@CHAPTER.check("not_agreed", "5", "ERROR bad_frames for `offset_bytes` in a session without `shm`")
def not_agreed(lab: Lab) -> str:
    """Announced or not: it takes a `shm` in WELCOME."""
    worker = lab.ready(shared=False)
    before = worker.values()
    inputs, _ = draw(lab.any_task(), np.random.default_rng(2), 2)
    described = [_at(frames.described({"inputs": inputs})[0], 0)]
    return _refused(worker, described, before)


@CHAPTER.check(
    "shm", "5", "the same answers from shared memory, as from frames, and from one of each"
)
def shm(lab: Lab) -> str:
    """BATCH and PREDICT."""
    lab.require_plane("shm")
    worker = lab.ready(shared=True, anew=True)
    inputs, labels = draw(lab.any_task(), np.random.default_rng(3), 4)
    expected = worker.logits(inputs)
    losses = [worker.train_on(inputs, labels, 0.0).loss]
    with Lease(worker.shared) as lease:
        there = {"inputs": lease.share(inputs), "labels": lease.share(labels)}
        shared = {"inputs": there["inputs"]}
        number = _say(worker, "PREDICT", {}, shared, {"inputs"})
        found = read_logits(worker.hear_answer("PREDICTIONS", number)[1], expected.shape)
        if found.tobytes() != expected.tobytes():
            raise WrongError("other logits from shared memory than from a frame")
        for names in ({"inputs", "labels"}, {"inputs"}, {"labels"}):
            fields = {"step": worker.step, "learning_rate": 0.0}
            worker.step += 1
            number = _say(worker, "BATCH", fields, there, names)
            losses.append(worker.hear_answer("RESULT", number)[0].loss)
    if not np.allclose(losses, losses[0], rtol=1e-5, atol=0):
        raise WrongError(f"losses {losses}: the first from frames, the others from shared memory")
    return f"the same logits; the loss {losses[0]:.6g} four times"


@CHAPTER.check("shm_reused", "5", "a place in shared memory that holds other values later")
def shm_reused(lab: Lab) -> str:
    """It is the worker's to read until it has answered, and no longer."""
    lab.require_plane("shm")
    worker = lab.ready(shared=True)
    rng = np.random.default_rng(4)
    first, second = (draw(lab.any_task(), rng, 4)[0] for _ in range(2))
    expected = [worker.logits(inputs) for inputs in (first, second)]
    with Lease(worker.shared) as lease:
        place = lease.share(first)
        for inputs, logits in zip((first, second), expected, strict=True):
            place[...] = inputs
            number = _say(worker, "PREDICT", {}, {"inputs": place}, {"inputs"})
            found = read_logits(worker.hear_answer("PREDICTIONS", number)[1], logits.shape)
            if found.tobytes() != logits.tobytes():
                raise WrongError("logits of what isn't there any more")
    return "the logits of what was there"


@CHAPTER.check(
    "shm_parameters", "5", "SETUP's parameters from shared memory, which holds other values later"
)
def shm_parameters(lab: Lab) -> str:
    """All but the last, which comes as a frame. A worker has copied them when it says READY."""
    lab.require_plane("shm")
    worker = lab.idle(shared=True)
    task = lab.any_task()
    parameters = lab.parameters(task)
    with Lease(worker.shared) as lease:
        there = {name: lease.share(values) for name, values in parameters.items()}
        shared = set(list(there)[:-1])
        number = _say(worker, "SETUP", worker.setup_fields(task), there, shared)
        worker.hear_ready(task, number)
        for place in there.values():
            place[...] = 0
    difference = same(worker.values(), parameters)
    if difference:
        raise WrongError(f"VALUES that aren't what SETUP told: {difference}")
    return "VALUES are what was there"


@CHAPTER.check("shm_beyond", "5", "ERROR bad_frames for an array that ends beyond `size_bytes`")
def shm_beyond(lab: Lab) -> str:
    """By its length, by its place, and by numbers whose sum is more than 64 bits hold."""
    lab.require_plane("shm")
    worker = lab.ready(shared=True)
    assert worker.shared
    before = worker.values()
    inputs, _ = draw(lab.any_task(), np.random.default_rng(5), 2)
    (described,) = frames.described({"inputs": inputs})
    size = worker.shared.size_bytes
    for offset in (size - 64, size, 2**63 - 64):
        _refused(worker, [_at(described, offset)], before)
    return "ERROR bad_frames, three times"


@CHAPTER.check("shm_not_there", "5", "ERROR unsupported for WELCOME whose `shm` can't be mapped")
def shm_not_there(lab: Lab) -> str:
    """In a process of its own."""
    lab.require_plane("shm")
    worker = lab.start()
    try:
        worker.greet()
        shared = {"path": str(worker.folder.parent / "nothing"), "size_bytes": 2**20}
        error, _ = worker.hear_answer("ERROR", worker.welcome(shm=shared))
        if error.code != "unsupported":
            raise WrongError(f"ERROR {error.code}")
        return "ERROR unsupported"
    finally:
        lab.close(worker)


def _at(described: Header, offset: int) -> Header:
    return {**described, "offset_bytes": offset}


def _say(
    worker: WorkerUnderTest,
    kind: str,
    fields: Header,
    arrays: dict[str, NDArray[Any]],
    elsewhere: set[str],
) -> int:
    """Send a message of which the arrays `elsewhere` stay in shared memory."""
    assert isinstance(worker.shared, SharedMemory)
    described = frames.described(arrays)
    for array in described:
        if array["name"] in elsewhere:
            array["offset_bytes"] = worker.shared.offset_of(arrays[array["name"]])
    sent = {name: array for name, array in arrays.items() if name not in elsewhere}
    header = {**fields, "arrays": described}
    return worker.say(kind, header, None, *frames.bytes_of(sent))


def _refused(worker: WorkerUnderTest, described: list[Header], before: Any) -> str:
    number = worker.say("PREDICT", {"arrays": described})
    error, _ = worker.hear_answer("ERROR", number)
    if error.code != "bad_frames" or error.fatal:
        raise WrongError(f"ERROR {error.code}, fatal {error.fatal} ({error.message})")
    difference = same(worker.values(), before)
    if difference:
        raise WrongError(f"ERROR bad_frames, and {difference}")
    return "ERROR bad_frames"
