"""Every message of the specification, with and without what is optional."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from golden.frame import Golden
from golden.notation import Float32

EXAMPLE_TASK: dict[str, Any] = {
    "name": "mlp",
    "title": "two layers",
    "data": "synthetic",
    "classes": 2,
    "loss": "softmax_cross_entropy",
    "layers": [
        {"kind": "dense", "name": "fc1", "units": 2},
        {"kind": "relu", "name": "relu1"},
        {"kind": "dense", "name": "fc2", "units": 2},
    ],
    "parameters": [
        {"name": "fc1.weight", "shape": [2, 3], "initial": "glorot_uniform"},
        {"name": "fc1.bias", "shape": [2], "initial": "zeros"},
        {"name": "fc2.weight", "shape": [2, 2], "initial": "glorot_uniform"},
        {"name": "fc2.bias", "shape": [2], "initial": "zeros"},
    ],
    "input": {
        "kind": "pixels",
        "dtype": "uint8",
        "shape": [3],
        "axes": "three features",
        "scale": 1 / 255,
    },
    "optimiser": {
        "kind": "adam",
        "learning_rate": 0.001,
        "beta1": 0.9,
        "beta2": 0.999,
        "epsilon": 1e-8,
    },
    "training": {"batch_size": 2, "epochs": 1},
}
PARAMETERS = {
    "fc1.weight": np.array([[0.5, -0.25, 1], [-1, 0.75, 0.125]], np.float32),
    "fc1.bias": np.array([0.125, -0.5], np.float32),
    "fc2.weight": np.array([[1, -0.5], [0.25, 2]], np.float32),
    "fc2.bias": np.array([0, 0.25], np.float32),
}
INPUTS = {"inputs": np.array([[0, 128, 255], [255, 64, 32]], np.uint8)}
LABELS = {"labels": np.array([0, 1], np.int32)}

HELLO: dict[str, Any] = {
    "type": "HELLO",
    "id": 0,
    "protocol": "1.0",
    "run": "20250601-101500-7c1d",
    "key": "6b1e0f6a2d0c4b6f9a53a0d1c7e8f412",
    "worker": "mine",
    "pid": 4711,
    "language": "c",
    "language_version": "C17",
    "framework": "none",
    "framework_version": "1.0",
    "device": "cpu",
    "threads": 2,
    "tasks": ["mlp"],
    "dtypes": ["float32", "float64", "int32", "int64", "uint8"],
    "planes": ["inline"],
}
RESULT: dict[str, Any] = {
    "type": "RESULT",
    "id": 2,
    "re": 2,
    "step": 0,
    "loss": 0.655231615,
    "wait_ns": 183000,
    "copy_ns": 5200,
    "step_ns": 412000,
}
WELCOME: dict[str, Any] = {
    "type": "WELCOME",
    "id": 0,
    "re": 0,
    "protocol": "1.0",
    "credit": 2,
    "reconnect_ns": 10**10,
}
BATCH: dict[str, Any] = {"type": "BATCH", "id": 2, "step": 0}
SETUP: dict[str, Any] = {
    "type": "SETUP",
    "id": 1,
    "task": EXAMPLE_TASK,
    "batch_size": 2,
    "seed": 1,
    "dropout": True,
    "threads": 2,
}


def goldens() -> Iterator[Golden]:
    """Each message at least once, in the order of the specification's section 6."""
    yield from _greeting()
    yield from _training()
    yield from _asking()
    yield from _parting()


def _greeting() -> Iterator[Golden]:
    yield Golden("hello", "HELLO with nothing that is optional", "worker", HELLO)
    full = {
        **inserted(HELLO, "language", host="example"),
        "planes": ["inline", "shm"],
        "forms": {"adam": "torch", "gru": "cudnn"},
        "disclosures": {"precision": "float32", "layout": "NCHW"},
    }
    full = inserted(full, "device", versions={"compiler": "13.2", "blas": "none"})
    yield Golden("hello-full", "HELLO with every field", "worker", full)
    yield Golden("welcome", "WELCOME to a worker on the plane `inline`", "coordinator", WELCOME)
    shm = {"path": "/dev/shm/rosetta-x1f3", "size_bytes": 2**30}
    yield Golden(
        "welcome-shm", "WELCOME with a shared memory", "coordinator", {**WELCOME, "shm": shm}
    )
    refusal = {
        "type": "REFUSE",
        "id": 0,
        "re": 0,
        "code": "bad_version",
        "reason": "protocol 2.0 is not spoken here: this is 1.0",
    }
    yield Golden("refuse", "REFUSE", "coordinator", refusal)


def _training() -> Iterator[Golden]:
    yield Golden("setup", "SETUP of a small `mlp`", "coordinator", SETUP, PARAMETERS)
    ready = {
        "type": "READY",
        "id": 1,
        "re": 1,
        "parameter_count": 14,
        "parameters": [{"name": n, "shape": list(a.shape)} for n, a in PARAMETERS.items()],
        "threads": 2,
        "setup_ns": 1250000,
    }
    yield Golden("ready", "READY: 14 trainable scalars in four parameters", "worker", ready)
    arrays = {**INPUTS, **LABELS}
    yield Golden("batch", "BATCH of two samples", "coordinator", BATCH, arrays)
    faster = {**BATCH, "learning_rate": 0.003}
    yield Golden("batch-rate", "BATCH with a new learning rate", "coordinator", faster, arrays)
    yield Golden(
        "batch-rate-integer",
        "BATCH whose learning rate, a float, comes as the integer 0: to be accepted as 0.0",
        "coordinator",
        {**BATCH, "learning_rate": 0},
        arrays,
        plain=False,
    )
    one = {"inputs": INPUTS["inputs"][:1], "labels": LABELS["labels"][:1]}
    yield Golden(
        "batch-of-one",
        "BATCH of one sample, as a last one may be",
        "coordinator",
        {**BATCH, "id": 3, "step": 1},
        one,
    )
    yield Golden("result", "RESULT", "worker", RESULT)
    timed = {**RESULT, "forward_ns": 150000, "backward_ns": 200000}
    yield Golden("result-full", "RESULT with the times that are optional", "worker", timed)
    for name, loss in (("nan", float("nan")), ("infinite", float("inf"))):
        said = f"RESULT of a step that diverged: a loss that is {name} is sent as it is"
        yield Golden(f"result-{name}", said, "worker", {**RESULT, "loss": loss})
    yield Golden(
        "result-float32",
        "RESULT whose loss comes in 32 bits",
        "worker",
        {**RESULT, "loss": Float32(0.65523165)},
        reencodes=False,
    )


def _asking() -> Iterator[Golden]:
    yield Golden("predict", "PREDICT", "coordinator", {"type": "PREDICT", "id": 3}, INPUTS)
    logits = np.array([[0.25, -1.5], [3.0, 0.1]], np.float32)
    head = {"type": "PREDICTIONS", "id": 3, "re": 3}
    described = [{"name": "logits", "dtype": "float32", "shape": [2, 2]}]
    times = {"wait_ns": 90000, "copy_ns": 0, "predict_ns": 61000}
    yield Golden(
        "predictions",
        "PREDICTIONS: logits of two samples and two classes",
        "worker",
        {**head, "arrays": described, **times},
        {"logits": logits},
    )
    asked = {"type": "PARAMETERS", "id": 4}
    yield Golden("parameters", "PARAMETERS", "coordinator", asked)
    values = {"type": "VALUES", "id": 4, "re": 4}
    yield Golden("values", "VALUES of the small `mlp`", "worker", values, PARAMETERS)


def _parting() -> Iterator[Golden]:
    yield Golden("end", "END", "coordinator", {"type": "END", "id": 5})
    yield Golden("ended", "ENDED", "worker", {"type": "ENDED", "id": 5, "re": 5})
    bye = {"type": "BYE", "id": 6}
    yield Golden("bye", "BYE of the coordinator", "coordinator", bye)
    yield Golden("bye-answer", "BYE that answers one", "worker", {**bye, "re": 6})
    yield Golden("bye-own", "BYE of a worker that leaves on its own", "worker", bye)
    error = {"code": "bad_shape", "message": "inputs have another shape than the task's"}
    about = {"type": "ERROR", "id": 7, "re": 2, **error, "fatal": False}
    yield Golden("error", "ERROR that answers message 2", "worker", about)
    unknown = {"type": "ERROR", "id": 8, **error, "code": "bad_header", "fatal": False}
    yield Golden("error-unread", "ERROR for what had no readable `id`", "worker", unknown)
    final = {"type": "ERROR", "id": 7, "code": "bad_state", "message": "who is there?"}
    yield Golden(
        "error-fatal",
        "ERROR, fatal, of the coordinator: the worker leaves",
        "coordinator",
        {**final, "fatal": True},
    )
    later = {"type": "ERROR", "id": 9, "re": 2, "code": "later", "message": "!", "fatal": False}
    yield Golden("error-later-code", "ERROR with a code of a later version", "worker", later)
    nil = {**BATCH, "learning_rate": None}
    yield Golden(
        "nil-is-absent",
        "BATCH with nil for what is optional: the same as without it",
        "coordinator",
        nil,
        {**INPUTS, **LABELS},
        plain=False,
    )


def inserted(header: dict[str, Any], before: str, **fields: Any) -> dict[str, Any]:
    """`header` with more fields in front of one of its own."""
    position = list(header).index(before)
    entries = list(header.items())
    return dict([*entries[:position], *fields.items(), *entries[position:]])
