"""Messages that can't be used: an ERROR with the right code, and the session goes on (SPEC 7).

Each check takes a right message and changes one thing. What is refused has changed nothing.
"""

from __future__ import annotations

import copy

import numpy as np

from rosetta.conformance import changes, frames, small
from rosetta.conformance.changes import Change, Frames
from rosetta.conformance.check import Chapter, NotAskedError, WrongError
from rosetta.conformance.frames import Header
from rosetta.conformance.lab import Lab, same
from rosetta.conformance.worker_under_test import WorkerUnderTest, shown
from rosetta.proof.script import draw
from rosetta.protocol.messages import Error
from rosetta.tasks import Task
from rosetta.tasks.forms import in_form

CHAPTER = Chapter("errors")
_SAMPLES = 4


def _of_batch(
    name: str,
    what: str,
    code: str,
    change: Change,
    *,
    section: str = "7",
    kind: str = "pixels or tokens",
) -> None:
    """Declares a check on a BATCH; `kind` is the inputs' that it needs."""

    @CHAPTER.check(name, section, f"ERROR {code} for {what}; the session goes on")
    def refused(lab: Lab) -> str:
        task = _task_with(lab, kind)
        worker = lab.ready(task)
        before = worker.values()
        header, parts = _batch(worker, task)
        change(header, parts)
        came = _expect(worker, header, parts, code)
        difference = same(worker.values(), before)
        if difference:
            raise WrongError(f"{came}, and {difference}")
        worker.train_on(*draw(task, np.random.default_rng(2), _SAMPLES))
        return f"{came}, then a RESULT"


def _of_setup(name: str, what: str, code: str, change: Change, *, section: str = "11") -> None:
    """Declares a check on a SETUP; `code` may be several, with `or` between them."""

    @CHAPTER.check(name, section, f"ERROR {code} for {what}; the session goes on")
    def refused(lab: Lab) -> str:
        worker, task = lab.idle(), lab.any_task()
        parameters = lab.parameters(task)
        header = copy.deepcopy(worker.setup_fields(task))
        header["arrays"] = frames.described(parameters)
        parts = frames.bytes_of(parameters)
        change(header, parts)
        came = _expect(worker, {**header, "type": "SETUP"}, parts, code)
        worker.set_up(task, parameters)
        return f"{came}, then READY"


@CHAPTER.check("setup_twice", "7", "ERROR bad_state for SETUP before END; the network stays")
def setup_twice(lab: Lab) -> str:
    """The values are the trained ones afterwards."""
    worker, task = lab.ready(), lab.any_task()
    before = worker.values()
    parameters = lab.parameters(task)
    header: Header = {**worker.setup_fields(task), "arrays": frames.described(parameters)}
    parts = frames.bytes_of(parameters)
    came = _expect(worker, {**header, "type": "SETUP"}, parts, "bad_state")
    difference = same(worker.values(), before)
    if difference:
        raise WrongError(f"{came}, and {difference}")
    return came


@CHAPTER.check("other_gru", "9", "ERROR unsupported for a GRU in the form that it didn't declare")
def other_gru(lab: Lab) -> str:
    """With the parameters that are right for that form."""
    lab.require_task("gru")
    (own,) = (task for task in lab.tasks() if task.name == "gru")
    cudnn = small.small("gru")
    other = cudnn if own != cudnn else in_form(cudnn, {"gru": "classic"})
    worker = lab.idle()
    parameters = lab.parameters(other)
    header: Header = {**worker.setup_fields(other), "arrays": frames.described(parameters)}
    came = _expect(worker, {**header, "type": "SETUP"}, frames.bytes_of(parameters), "unsupported")
    worker.set_up(own, lab.parameters(own))
    return f"{came}, then READY"


@CHAPTER.check("from_coordinator", "7", "nothing for an ERROR of the coordinator that isn't fatal")
def from_coordinator(lab: Lab) -> str:
    """With a code that no table has."""
    worker = lab.ready()
    worker.say("ERROR", {"code": "later", "message": "never mind", "fatal": False})
    worker.hear_answer("VALUES", worker.say("PARAMETERS"))
    return "nothing; then VALUES for PARAMETERS"


_of_batch("missing_frame", "a BATCH with a frame too few", "bad_frames", lambda h, f: f.clear())
_of_batch("extra_frame", "a BATCH with a frame too many", "bad_frames", lambda h, f: f.append(b""))
_of_batch(
    "wrong_length",
    "a frame that is a byte shorter than shape and dtype make",
    "bad_frames",
    lambda h, f: f.__setitem__(0, f[0][:-1]),
    section="5",
)
_of_batch("missing_array", "a BATCH without `labels`", "bad_frames", changes.last_left_out)
_of_batch("array_twice", "an array that comes twice", "bad_frames", changes.first_twice)
_of_batch(
    "claimed_length",
    "a shape that claims 2^62 bytes",
    "bad_frames",
    changes.described("inputs", shape=[2**31, 2**31]),
    section="5",
)
_of_batch(
    "unknown_dtype",
    "float16",
    "bad_header",
    changes.described("inputs", dtype="float16"),
    section="5",
)
_of_batch(
    "nine_axes", "9 axes", "bad_header", changes.described("labels", shape=[1] * 8 + [_SAMPLES])
)
_of_batch(
    "negative_length", "a length of −1", "bad_header", changes.described("labels", shape=[-1])
)
_of_batch(
    "huge_length",
    "a length above 2^31",
    "bad_header",
    changes.described("labels", shape=[2**31 + 1]),
)
_of_batch(
    "float_length", "a float as length", "bad_header", changes.described("labels", shape=[4.0])
)
_of_batch("no_step", "a BATCH without `step`", "bad_header", changes.without("step"))
_of_batch("float_step", "a float as `step`", "bad_header", changes.field("step", 1.0), section="4")
_of_batch(
    "true_step", "a boolean as `step`", "bad_header", changes.field("step", True), section="4"
)
_of_batch(
    "negative_rate", "a learning rate of −1", "bad_header", changes.field("learning_rate", -1.0)
)
_of_batch("large_rate", "a learning rate of 2e6", "bad_header", changes.field("learning_rate", 2e6))
_of_batch(
    "float_inputs",
    "inputs in float32",
    "bad_dtype",
    changes.replaced("inputs", lambda x: x.astype("f4")),
)
_of_batch(
    "long_labels",
    "labels in int64",
    "bad_dtype",
    changes.replaced("labels", lambda y: y.astype("i8")),
)
_of_batch(
    "other_inputs",
    "inputs of another shape than the task's",
    "bad_shape",
    changes.replaced("inputs", lambda x: np.ascontiguousarray(x[:, :-1])),
)
_of_batch(
    "fewer_labels",
    "fewer labels than inputs",
    "bad_shape",
    changes.replaced("labels", lambda y: y[1:]),
)
_of_batch("no_samples", "a batch without samples", "bad_shape", changes.no_samples)
_of_batch(
    "large_label",
    "a label beyond `classes`",
    "bad_value",
    changes.replaced("labels", lambda y: y * 0 + 10),
)
_of_batch(
    "negative_label", "a label of −1", "bad_value", changes.replaced("labels", lambda y: y * 0 - 1)
)
_of_batch(
    "large_token", "a token of `vocabulary`", "bad_value", changes.beyond_vocabulary, kind="tokens"
)
_of_batch(
    "negative_token",
    "a token of −1",
    "bad_value",
    changes.replaced("inputs", lambda x: -x),
    kind="tokens",
)

_of_setup(
    "unknown_task",
    "a task that it didn't announce",
    "unknown_task",
    changes.in_task("name", value="x"),
)
_of_setup("other_threads", "another number of threads", "unsupported", changes.other_threads)
_of_setup(
    "unknown_layer",
    "a layer of an unknown kind",
    "unsupported or backend",
    changes.in_task("layers", 0, "kind", value="capsule"),
)
_of_setup(
    "unknown_key",
    "an unknown key in a layer",
    "unsupported or backend",
    changes.in_task("layers", 0, "x_later", value=1),
)
_of_setup(
    "unknown_optimiser",
    "an optimiser of an unknown kind",
    "unsupported or backend",
    changes.in_task("optimiser", "kind", value="lion"),
)
_of_setup(
    "weight_decay",
    "an unknown key in the optimiser",
    "unsupported or backend",
    changes.in_task("optimiser", "weight_decay", value=0.1),
)
_of_setup(
    "unknown_loss",
    "an unknown loss",
    "unsupported or backend",
    changes.in_task("loss", value="hinge"),
)
_of_setup("no_task", "a SETUP without `task`", "bad_header", changes.without("task"), section="6.4")
_of_setup("no_batch_size", "a `batch_size` of 0", "bad_header", changes.field("batch_size", 0))
_of_setup("large_seed", "a seed of 2^31", "bad_header", changes.field("seed", 2**31), section="6.4")
_of_setup(
    "number_dropout", "1 as `dropout`", "bad_header", changes.field("dropout", 1), section="6.4"
)
_of_setup(
    "parameter_missing", "a parameter too few", "bad_shape", changes.last_left_out, section="7"
)
_of_setup(
    "parameter_order", "parameters in another order", "bad_shape", changes.in_reverse, section="7"
)
_of_setup(
    "parameter_shape",
    "a parameter that is transposed",
    "bad_shape",
    changes.first_replaced(lambda w: np.ascontiguousarray(w.T)),
    section="7",
)
_of_setup(
    "parameter_dtype",
    "a parameter in float64",
    "bad_dtype",
    changes.first_replaced(lambda w: w.astype("f8")),
    section="7",
)


# --- asking ---------------------------------------------------------------------------------------


def _task_with(lab: Lab, kind: str) -> Task:
    lab.any_task()
    found = [task for task in lab.tasks() if task.input.kind in kind]
    if not found:
        raise NotAskedError(f"no task of its own has {kind}")
    return found[0]


def _batch(worker: WorkerUnderTest, task: Task) -> tuple[Header, Frames]:
    inputs, labels = draw(task, np.random.default_rng(1), _SAMPLES)
    arrays = {"inputs": inputs, "labels": labels}
    header = {"type": "BATCH", "step": worker.step, "arrays": frames.described(arrays)}
    return header, frames.bytes_of(arrays)


def _expect(worker: WorkerUnderTest, header: Header, parts: Frames, codes: str) -> str:
    """The ERROR with one of the `codes` that answers this message. Raises `WrongError`."""
    number = worker.router.next_id()
    worker.send([frames.pack({**header, "id": number}), *parts])
    phase = "setup" if header["type"] == "SETUP" else "first_step"
    answer, _ = worker.hear(f"ERROR {codes}", phase)
    if (
        not isinstance(answer, Error)
        or answer.code not in codes.split(" or ")
        or answer.re != number
        or answer.fatal
    ):
        raise WrongError(f"{shown(answer)}, not ERROR {codes} re {number}")
    return f"ERROR {answer.code}"
