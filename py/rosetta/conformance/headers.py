"""What a worker doesn't know, and how headers may be written (SPEC sections 3 and 4)."""

from __future__ import annotations

import numpy as np

from rosetta.conformance import frames
from rosetta.conformance.check import Chapter, WrongError
from rosetta.conformance.frames import Header
from rosetta.conformance.lab import Lab
from rosetta.conformance.worker_under_test import ArrayMap, WorkerUnderTest, read_logits, shown
from rosetta.proof.script import draw
from rosetta.protocol.limits import MAX_FRAMES, MAX_HEADER_BYTES, MAX_HEADER_DEPTH
from rosetta.protocol.messages import Error

CHAPTER = Chapter("headers")
_WIDEST_MAP = b"\xdf\xff\xff\xff\xff"


@CHAPTER.check("unknown_keys", "4", "unknown keys are skipped, whatever their values are")
def unknown_keys(lab: Lab) -> str:
    """In the header, in a description of an array, and in `task`."""
    worker = lab.idle()
    task = lab.any_task()
    fields = worker.setup_fields(task)
    fields["task"] = {**fields["task"], "x_later": [1, {"y": None}]}
    arrays = lab.parameters(task)
    described = [{**array, "x_later": None} for array in frames.described(arrays)]
    number = worker.say("SETUP", {**frames.STRANGE, **fields, "arrays": described}, arrays)
    worker.hear_answer("READY", number, "setup")
    worker.state, worker.task, worker.step = "set up", task, 0
    inputs, labels = draw(task, np.random.default_rng(1), 3)
    batch = {"inputs": inputs, "labels": labels}
    number = worker.say("BATCH", {"step": 0, **frames.STRANGE}, batch)
    worker.hear_answer("RESULT", number, "first_step")
    worker.hear_answer("VALUES", worker.say("PARAMETERS", frames.STRANGE))
    return "READY, RESULT, VALUES"


@CHAPTER.check("unknown_types", "4", "nothing for a message of an unknown type, whatever it has")
def unknown_types(lab: Lab) -> str:
    """Among them the types that only a worker sends."""
    worker = lab.ready()
    worker.say("PAUSE", {"for": "later"}, None, b"frames that nothing describes", b"")
    worker.say("SPEED", {"arrays": [{"name": 1, "dtype": "float16"}]}, None)
    worker.say("RESULT", {"re": 0, "step": 0, "loss": 1.0})
    worker.say("batch", {"step": 0})
    return _nothing_but_values(worker)


@CHAPTER.check("widths", "4", "every width of integers, lengths and floats, and any order of keys")
def widths(lab: Lab) -> str:
    """Everything comes in its widest form; a learning rate as an integer and as a short float."""
    worker = lab.ready()
    assert worker.task
    inputs, labels = draw(worker.task, np.random.default_rng(2), 2)
    arrays = {"inputs": inputs, "labels": labels}
    encoders = (frames.widest, frames.widest, frames.with_short_rate)
    for rate, encoder in zip((0, 0.0, 0.5), encoders, strict=True):
        header: Header = {
            "type": "BATCH",
            "id": worker.router.next_id(),
            "step": worker.step,
            "learning_rate": rate,
            "arrays": frames.described(arrays),
        }
        worker.step += 1
        worker.send([encoder(header), *frames.bytes_of(arrays)])
        worker.hear_answer("RESULT", header["id"], "first_step")
    return "three RESULTs"


@CHAPTER.check("largest", "4", f"a header of {MAX_HEADER_BYTES} bytes and of depth 16 is taken")
def largest(lab: Lab) -> str:
    """Both are bounds that are still allowed."""
    worker = lab.ready()
    header: Header = {"type": "PARAMETERS", "id": worker.router.next_id()}
    worker.send([frames.padded(header)])
    worker.hear_answer("VALUES", header["id"])
    number = worker.say("PARAMETERS", {"x_deep": frames.nested(MAX_HEADER_DEPTH - 1)})
    worker.hear_answer("VALUES", number)
    return "VALUES twice"


@CHAPTER.check("most_frames", "4", f"a message of {MAX_FRAMES} frames is taken")
def most_frames(lab: Lab) -> str:
    """Arrays under names that the message doesn't need are ignored."""
    worker = lab.ready()
    assert worker.task
    inputs, _ = draw(worker.task, np.random.default_rng(3), 2)
    number = worker.say("PREDICT", {}, {"inputs": inputs, **_empty(MAX_FRAMES - 2)})
    _, arrays = worker.hear_answer("PREDICTIONS", number, "first_step")
    read_logits(arrays, (2, worker.task.classes))
    return "PREDICTIONS"


def _empty(count: int) -> ArrayMap:
    return {f"x{number}": np.zeros(0, np.uint8) for number in range(count)}


def _with_empty_arrays(header: Header, count: int) -> list[bytes]:
    arrays = _empty(count)
    return [frames.pack({**header, "arrays": frames.described(arrays)}), *frames.bytes_of(arrays)]


def _refused(name: str, section: str, what: str, code: str = "bad_header") -> None:
    """Declares the check that the message of `_WRONG[name]` is refused."""

    @CHAPTER.check(name, section, f"ERROR {code} for {what}; the session goes on")
    def refused(lab: Lab) -> str:
        worker = lab.ready()
        header: Header = {"type": "PARAMETERS", "id": worker.router.next_id()}
        return _expect_error(worker, _WRONG[name](header), code, header["id"])


_WRONG = {
    "too_deep": lambda header: [frames.pack({**header, "x": frames.nested(MAX_HEADER_DEPTH)})],
    "much_too_deep": lambda header: [
        frames.pack(header)[:1].replace(b"\x82", b"\x83")
        + frames.pack(header)[1:]
        + b"\xa1x"
        + b"\x91" * 100_000
        + b"\x90"
    ],
    "too_large": lambda header: [frames.padded(header, MAX_HEADER_BYTES + 1)],
    "huge": lambda header: [frames.padded(header, 2**26)],
    "claims": lambda header: [_WIDEST_MAP + frames.pack(header)[1:]],
    "not_msgpack": lambda header: [b"\xc1\xff\x00garbage"],
    "cut_short": lambda header: [frames.pack(header)[:-1]],
    "more_behind": lambda header: [frames.pack(header) + b"\x00"],
    "not_a_map": lambda header: [frames.pack(header)[1:4]],
    "no_type": lambda header: [frames.pack({"id": header["id"]})],
    "no_id": lambda header: [frames.pack({"type": "PARAMETERS"})],
    "wrong_id": lambda header: [frames.pack({**header, "id": float(header["id"])})],
    "too_many_frames": lambda header: _with_empty_arrays(header, MAX_FRAMES),
    "no_frame_described": lambda header: [frames.pack(header), b"four"],
}

_refused("too_deep", "4", f"a header of depth {MAX_HEADER_DEPTH + 1}")
_refused("much_too_deep", "4", "a header of depth 100,001")
_refused("too_large", "4", f"a header of {MAX_HEADER_BYTES + 1} bytes")
_refused("huge", "4", "a header of 64 MiB")
_refused("claims", "4", "a header that claims 2^32 − 1 entries")
_refused("not_msgpack", "4", "a header that is not msgpack")
_refused("cut_short", "4", "a header that ends too early")
_refused("more_behind", "4", "a header with something behind it")
_refused("not_a_map", "4", "a header that is no map")
_refused("no_type", "4", "a header without `type`")
_refused("no_id", "4", "a header without `id`")
_refused("wrong_id", "4", "a header whose `id` is a float")
_refused("too_many_frames", "4", f"a message of {MAX_FRAMES + 1} frames", "bad_frames")
_refused("no_frame_described", "5", "a frame that `arrays` doesn't describe", "bad_frames")


def _expect_error(worker: WorkerUnderTest, message: list[bytes], code: str, number: int) -> str:
    worker.send(list(message))
    answer, _ = worker.hear(f"ERROR {code}")
    if not isinstance(answer, Error) or answer.code != code or answer.fatal:
        raise WrongError(f"{shown(answer)}, not ERROR {code}")
    if answer.re not in (None, number):
        raise WrongError(f"ERROR {code} re {answer.re}; the message was {number}")
    _nothing_but_values(worker)
    return f"ERROR {code}, then VALUES"


def _nothing_but_values(worker: WorkerUnderTest) -> str:
    """The session goes on: the next thing that the worker says answers PARAMETERS."""
    worker.hear_answer("VALUES", worker.say("PARAMETERS"))
    return "nothing; then VALUES for PARAMETERS"
