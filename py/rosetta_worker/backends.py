"""What a backend is, and how it is found.

A backend is the file `backend.py` of a worker's folder. It knows its framework and nothing of
sockets, messages or timing. It has two functions:

`start(device, threads[, variant]) -> dict`
    Called once, before any work; with the name of a variant where one was chosen, so a backend
    without variants (see `worker.toml`) leaves that parameter out. Sets the framework up (threads,
    precision) and returns `framework` ({"name", "version"}), `versions` (name → version), `tasks`
    (names), `forms` (`adam`, `gru`: see SPEC section 9) and `disclosures` (name → text). Raises
    ValueError with one sentence for a device, or a number of threads, that it can't compute with.

`build(setup, parameters) -> network`
    Builds the network of `setup.task` with the given initial parameters: a dict from canonical name
    to float32 array in canonical layout. The network has five methods:

    `to_device(inputs, labels) -> batch`
        From NumPy arrays (read-only: uint8 pixels (batch, ...) or int32 tokens (batch, time), and
        int32 labels (batch,)) to whatever the framework wants. Timed as `copy_ns`.
    `train_step(batch) -> float`
        Forward, loss, backward, update. Returns the mean loss of the batch before the update, and
        only when the device has finished all of it. Timed as `step_ns`.
        A network whose attribute `tells_parts` is true calls its method `done("forward")` when the
        loss is known, and `done("backward")` when the gradients are; the runtime replaces that
        method, and times the parts. Only where the framework computes them one after the other, and
        by itself: on an asynchronous device nothing is done when its call returns.
    `set_learning_rate(rate)`
        The learning rate from the next step on. Seldom called, and not timed.
    `predict(inputs) -> array`
        Logits, float32 (batch, classes), dropout off; of a task that goes forward only (it has no
        `optimiser`, and the first three methods are never called) the features. Timed as
        `predict_ns`.
    `parameters() -> dict`
        Present values, canonical names, layouts and order, float32.
"""

import importlib.util
import os
import sys
from typing import Any, Dict, List, NamedTuple, Tuple

from rosetta_worker import networks
from rosetta_worker.wire import NAMES, WireError

Setup = NamedTuple(
    "Setup",
    [
        ("task", Dict[str, Any]),
        ("batch_size", int),
        ("seed", int),
        ("dropout", bool),
        ("threads", int),
        ("device", str),
    ],
)

_SETUP_KEYS = {"task": dict, "batch_size": int, "seed": int, "dropout": bool, "threads": int}
_SETUP_BOUNDS = {"batch_size": (1, 2**63 - 1), "seed": (0, 2**31 - 1), "threads": (1, 65536)}
_TASK_KEYS = {"name": str, "layers": list, "parameters": list, "input": dict, "classes": int}
_INPUT_KEYS = {"kind": str, "dtype": str, "shape": list}
_TOKENS_KEYS = dict(_INPUT_KEYS, vocabulary=int)


_FEW = 1024
"""So many values are looked at faster in a list: after a step NumPy's reductions aren't in the
processor's caches, and take 60 microseconds for 64 labels."""


class BackendError(Exception):
    """The folder holds no usable backend; one sentence."""

    status = 1


class DeviceError(BackendError):
    """The backend doesn't have the device that it was asked for; one sentence."""

    status = 3


def load(folder: str) -> Any:
    """The module `backend.py` of a worker's folder, under a name that shadows no framework."""
    path = os.path.join(folder, "backend.py")
    name = "rosetta_backend_" + os.path.basename(os.path.abspath(folder)).replace("-", "_")
    spec = importlib.util.spec_from_file_location(name, path)
    if not os.path.isfile(path) or spec is None or spec.loader is None:
        raise BackendError("no backend.py in %s" % folder)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pickle look their module up
    spec.loader.exec_module(module)
    missing = [f for f in ("start", "build") if not callable(getattr(module, f, None))]
    if missing:
        raise BackendError("%s lacks %s" % (path, " and ".join(missing)))
    return module


def check_setup(
    header: Dict[str, Any], tasks: List[str], forms: Dict[str, str], re: int
) -> Dict[str, Any]:
    """The task of a SETUP. Raises `WireError` for whatever this worker can't build.

    `tasks` and `forms` are what its HELLO said.
    """
    for key, kind in _SETUP_KEYS.items():
        if type(header.get(key)) is not kind:
            raise WireError("bad_header", "SETUP's `%s` is not %s" % (key, kind.__name__), re)
    for key, (low, high) in _SETUP_BOUNDS.items():
        if not low <= header[key] <= high:
            raise WireError("bad_header", "SETUP's `%s` is %s" % (key, header[key]), re)
    task: Dict[str, Any] = header["task"]
    if task.get("name") not in tasks:
        sentence = "no task %r; there are: %s" % (task.get("name"), ", ".join(tasks))
        raise WireError("unknown_task", sentence, re)
    _require_keys("SETUP's task", task, _TASK_KEYS, re)
    described = task["input"]
    keys = _TOKENS_KEYS if described.get("kind") == "tokens" else _INPUT_KEYS
    _require_keys("the input of SETUP's task", described, keys, re)
    networks.check(task, forms, re)
    return task


def check_parameters(task: Dict[str, Any], arrays: Dict[str, Any], re: int) -> None:
    """Raise `WireError` unless `arrays` are the task's parameters, float32, in shape and order."""
    try:
        expected = [(p["name"], tuple(p["shape"])) for p in task["parameters"]]
    except (KeyError, TypeError):
        raise WireError("bad_header", "SETUP's task has a parameter without name or shape", re)
    found = [(name, array.shape) for name, array in arrays.items()]
    if expected != found:
        sentence = "SETUP's arrays are not the task's parameters: %s expected, %s found"
        raise WireError("bad_shape", sentence % _first_difference(expected, found), re)
    wrong = [name for name, array in arrays.items() if array.dtype.name != "float32"]
    if wrong:
        raise WireError("bad_dtype", "parameter %r is not float32" % wrong[0], re)


def check_inputs(task: Dict[str, Any], arrays: Dict[str, Any], re: int) -> Any:
    """The array `inputs`: a batch of at least one of the task's samples, or `WireError`."""
    inputs, described = arrays.get("inputs"), task["input"]
    if inputs is None:
        raise WireError("bad_frames", "array `inputs` is missing", re)
    if NAMES.get(inputs.dtype) != described["dtype"]:
        sentence = "inputs are %s, the task's are %s" % (inputs.dtype.name, described["dtype"])
        raise WireError("bad_dtype", sentence, re)
    if list(inputs.shape[1:]) != list(described["shape"]) or not inputs.size:
        sentence = "inputs have shape %s, one sample of the task %s"
        raise WireError("bad_shape", sentence % (list(inputs.shape), described["shape"]), re)
    if described["kind"] == "tokens":
        _check_range("token", inputs, described["vocabulary"], re)
    return inputs


def check_labels(task: Dict[str, Any], arrays: Dict[str, Any], re: int) -> Any:
    """The array `labels`: int32, one class a sample of `inputs`, or `WireError`."""
    labels, batch = arrays.get("labels"), len(arrays["inputs"])
    if labels is None:
        raise WireError("bad_frames", "array `labels` is missing", re)
    if NAMES.get(labels.dtype) != "int32":
        raise WireError("bad_dtype", "labels are %s, not int32" % labels.dtype.name, re)
    if labels.shape != (batch,):
        sentence = "labels have shape %s for %d inputs" % (list(labels.shape), batch)
        raise WireError("bad_shape", sentence, re)
    _check_range("label", labels, task["classes"], re)
    return labels


def _require_keys(what: str, content: Dict[str, Any], keys: Dict[str, Any], re: int) -> None:
    lacking = [key for key, kind in keys.items() if type(content.get(key)) is not kind]
    if lacking:
        raise WireError("bad_header", "%s lacks %s" % (what, ", ".join(lacking)), re)


def check_learning_rate(header: Dict[str, Any], re: int) -> float:
    """The `learning_rate` of a BATCH: a number from 0 to a million, or `WireError`."""
    rate = header["learning_rate"]
    if isinstance(rate, bool) or not isinstance(rate, (int, float)) or not 0 <= rate <= 1e6:
        raise WireError("bad_header", "BATCH's `learning_rate` is %r" % (rate,), re)
    return float(rate)


def _check_range(what: str, values: Any, limit: int, re: int) -> None:
    few = values.ravel().tolist() if values.size <= _FEW else None
    low, high = (values.min(), values.max()) if few is None else (min(few), max(few))
    if low < 0 or high >= limit:
        raise WireError("bad_value", "a %s lies outside 0..%d" % (what, limit - 1), re)


def _first_difference(expected: List[Any], found: List[Any]) -> Tuple[str, str]:
    for position in range(max(len(expected), len(found))):
        wanted = str(expected[position]) if position < len(expected) else "none"
        given = str(found[position]) if position < len(found) else "none"
        if wanted != given:
            return wanted, given
    return "all", "all"
