"""The networks that a task's name stands for in protocol 1.0.

A backend writes its network out by hand, for these layers in this order; only their sizes and rates
come from SETUP. Whatever differs otherwise must be refused, not ignored: a task with another kernel
or with weight decay would be trained as if it had none.
"""

from typing import Any, Dict

from rosetta_worker.wire import WireError

_LAYERS = {
    "mlp": "fc1:dense relu1:relu fc2:dense",
    "cnn": "conv1:conv relu1:relu conv2:conv pool1:max_pool relu2:relu dropout1:dropout "
    "conv3:conv relu3:relu conv4:conv pool2:max_pool relu4:relu dropout2:dropout "
    "flatten:flatten fc1:dense relu5:relu dropout3:dropout fc2:dense",
    "gru": "embedding:embedding gru:gru fc:dense",
    "resnet50": "conv1:conv bn1:batch_norm relu1:relu pool1:max_pool %s pool:global_average_pool"
    % " ".join(
        "layer%d.%d:bottleneck" % (stage, block)
        for stage, blocks in enumerate((3, 4, 6, 3), 1)
        for block in range(blocks)
    ),
}

# What is fixed about a kind of layer (with its default where it may be left out), and what is free.
_FIXED: Dict[str, Dict[str, Any]] = {
    "conv": {"kernel": 3, "stride": 1, "padding": "same", "bias": True},
    "max_pool": {"size": 2, "stride": 2, "padding": 0},
    "gru": {"returns": "last"},
}
_FIXED_IN_RESNET: Dict[str, Dict[str, Any]] = {
    "conv": {"kernel": 7, "stride": 2, "padding": "same", "bias": False},
    "batch_norm": {"epsilon": 1e-5},
    "max_pool": {"size": 3, "stride": 2, "padding": 1},
}
_DEFAULTS = {"bias": True, "padding": 0}
_FREE = {
    "conv": {"filters"},
    "dense": {"units"},
    "dropout": {"rate"},
    "embedding": {"vocabulary", "dimension"},
    "gru": {"units"},
    "bottleneck": {"width"},
}

_INPUTS = {
    "mlp": ("pixels", "uint8"),
    "cnn": ("pixels", "uint8"),
    "gru": ("tokens", "int32"),
    "resnet50": ("pixels", "float32"),
}
_FORWARD_ONLY = ("resnet50",)

_OPTIMISERS = {
    "sgd": {"kind", "learning_rate", "momentum"},
    "adam": {"kind", "learning_rate", "beta1", "beta2", "epsilon"},
}


def check(task: Dict[str, Any], forms: Dict[str, str], re: int) -> None:
    """Raise `WireError` unless `task` is the network of its name, whatever its sizes.

    A task of another name is its backend's own business.
    """
    if task["name"] not in _LAYERS:
        return
    try:
        for key, value in zip(("kind", "dtype"), _INPUTS[task["name"]]):
            if task["input"][key] != value:
                _not_computed("the input", key, task["input"][key], re)
        _check_layers(task, forms, re)
        _check_training(task, re)
    except (KeyError, TypeError, AttributeError):
        raise WireError("bad_header", "SETUP's task lacks a key of a layer or the optimiser", re)


def _check_layers(task: Dict[str, Any], forms: Dict[str, str], re: int) -> None:
    found = " ".join("%s:%s" % (layer["name"], layer["kind"]) for layer in task["layers"])
    if found != _LAYERS[task["name"]]:
        raise WireError("unsupported", "%s has other layers: %s" % (task["name"], found), re)
    for layer in task["layers"]:
        fixed, free = _fixed(task["name"], layer), _FREE.get(layer["kind"], set())
        if layer["kind"] == "gru":
            fixed["form"] = forms.get("gru", "cudnn")  # the one that HELLO declared
        for key, value in fixed.items():
            if layer.get(key, _DEFAULTS.get(key)) != value:
                _not_computed("layer %s" % layer["name"], key, layer.get(key), re)
        _check_known("layer %s" % layer["name"], layer, free | set(fixed) | {"name", "kind"}, re)
        _require_all("layer %s" % layer["name"], layer, free, re)


def _fixed(task: str, layer: Dict[str, Any]) -> Dict[str, Any]:
    kinds = _FIXED_IN_RESNET if task == "resnet50" else _FIXED
    fixed = dict(kinds.get(layer["kind"], {}))
    if layer["kind"] == "bottleneck":  # layer2.0, the first of a stage: it changes the shape
        stage, block = layer["name"][len("layer") :].split(".")
        fixed["projection"] = block == "0"
        fixed["stride"] = 2 if block == "0" and stage != "1" else 1
    return fixed


def _check_training(task: Dict[str, Any], re: int) -> None:
    if task["name"] in _FORWARD_ONLY:
        for key in ("loss", "optimiser"):
            if task.get(key) is not None:
                _not_computed("task %s" % task["name"], key, task[key], re)
        return
    if task.get("loss") != "softmax_cross_entropy":
        _not_computed("task %s" % task["name"], "loss", task.get("loss"), re)
    optimiser = task["optimiser"]
    known = _OPTIMISERS.get(optimiser["kind"])
    if known is None:
        _not_computed("the optimiser", "kind", optimiser["kind"], re)
    else:
        _check_known("the optimiser", optimiser, known, re)
        _require_all("the optimiser", optimiser, known, re)


def _check_known(what: str, content: Dict[str, Any], known: Any, re: int) -> None:
    for key in content:
        if key not in known:
            _not_computed(what, key, content[key], re)


def _require_all(what: str, content: Dict[str, Any], known: Any, re: int) -> None:
    missing = sorted(set(known) - set(content))
    if missing:
        raise WireError("bad_header", "%s lacks %s" % (what, ", ".join(missing)), re)


def _not_computed(what: str, key: str, value: Any, re: int) -> None:
    raise WireError(
        "unsupported", "%s has %s = %r, which isn't computed here" % (what, key, value), re
    )
