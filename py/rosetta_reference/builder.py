"""From a task's layer tables to layers."""

from typing import Any, Callable, Dict, List, Mapping, Tuple

from .convolution import Conv
from .dense import Dense
from .elementwise import Dropout, Flatten, Relu
from .embedding import Embedding
from .layer import Layer
from .pooling import GlobalAveragePool, MaxPool
from .recurrent import ClassicGru, CudnnGru
from .residual import BatchNorm, Bottleneck

Shape = Tuple[int, ...]


def build_layers(
    task: Mapping[str, Any], dtype: Any, dropout: bool = True, seed: int = 0
) -> List[Layer]:
    """Return the task's layers, in order, with parameters of the right shapes that are all zero.

    Without `dropout` the dropout layers are left out. ValueError names a layer kind or a layer's
    key that is not known, a value that is not supported, two layers of one name, and a layer that
    cannot follow the one before it.
    """
    shape: Shape = tuple(task["input"]["shape"])
    layers: List[Layer] = []
    for position, spec in enumerate(task["layers"]):
        kind, name = spec["kind"], spec["name"]
        if kind not in _KINDS:
            raise ValueError(
                "layer {}: kind {!r} is unknown; known are {}".format(name, kind, sorted(_KINDS))
            )
        if name in [layer.name for layer in layers]:
            raise ValueError("two layers are named {}".format(name))
        if kind == "dropout" and not dropout:
            continue
        keys, axes, build = _KINDS[kind]
        _check_keys(spec, keys)
        if kind == "embedding" and spec["vocabulary"] < task["input"].get("vocabulary", 0):
            raise ValueError(
                "layer {}: its vocabulary of {} is smaller than the input's of {}".format(
                    name, spec["vocabulary"], task["input"]["vocabulary"]
                )
            )
        if axes and len(shape) != axes:
            raise ValueError(
                "layer {}: {} takes samples of {} axes, not of shape {}".format(
                    name, kind, axes, shape
                )
            )
        # A stream of random numbers of its own for each layer, from the one seed.
        layer = build(spec, shape, [seed, position], dtype)
        layers.append(layer)
        shape = layer.output_shape
    wanted, what = task["classes"], "classes"
    if not wanted:  # a task that goes forward only
        wanted, what = task["features"], "features"
    if shape != (wanted,):
        raise ValueError(
            "the layers end in shape {}, but the task has {} {}".format(shape, wanted, what)
        )
    return layers


def _check_keys(spec: Mapping[str, Any], keys: Tuple[str, ...]) -> None:
    # A dilation or a missing bias that is passed over would be another network without a word.
    optional = _OPTIONAL.get(spec["kind"], ())
    strange = sorted(set(spec) - set(keys) - set(optional) - {"name", "kind"})
    missing = sorted(set(keys) - set(spec))
    if strange or missing:
        raise ValueError(
            "layer {}: kind {!r} has the keys {}; missing are {}, unknown are {}".format(
                spec["name"], spec["kind"], list(keys), missing, strange
            )
        )


def _conv(spec: Mapping[str, Any], shape: Shape, seed: List[int], dtype: Any) -> Layer:
    return Conv(
        spec["name"],
        shape,
        filters=spec["filters"],
        kernel=spec["kernel"],
        stride=spec["stride"],
        padding=spec["padding"],
        dtype=dtype,
        bias=spec.get("bias", True),
    )


def _relu(spec: Mapping[str, Any], shape: Shape, seed: List[int], dtype: Any) -> Layer:
    return Relu(spec["name"], shape, dtype)


def _max_pool(spec: Mapping[str, Any], shape: Shape, seed: List[int], dtype: Any) -> Layer:
    padding = spec.get("padding", 0)
    return MaxPool(spec["name"], shape, spec["size"], spec["stride"], dtype, padding)


def _batch_norm(spec: Mapping[str, Any], shape: Shape, seed: List[int], dtype: Any) -> Layer:
    return BatchNorm(spec["name"], shape, spec["epsilon"], dtype)


def _bottleneck(spec: Mapping[str, Any], shape: Shape, seed: List[int], dtype: Any) -> Layer:
    width, stride, projection = spec["width"], spec["stride"], spec["projection"]
    return Bottleneck(spec["name"], shape, width, stride, projection, dtype)


def _global_average_pool(
    spec: Mapping[str, Any], shape: Shape, seed: List[int], dtype: Any
) -> Layer:
    return GlobalAveragePool(spec["name"], shape, dtype)


def _dropout(spec: Mapping[str, Any], shape: Shape, seed: List[int], dtype: Any) -> Layer:
    return Dropout(spec["name"], shape, spec["rate"], seed, dtype)


def _flatten(spec: Mapping[str, Any], shape: Shape, seed: List[int], dtype: Any) -> Layer:
    return Flatten(spec["name"], shape, dtype)


def _dense(spec: Mapping[str, Any], shape: Shape, seed: List[int], dtype: Any) -> Layer:
    return Dense(spec["name"], shape[0], spec["units"], dtype)


def _embedding(spec: Mapping[str, Any], shape: Shape, seed: List[int], dtype: Any) -> Layer:
    return Embedding(spec["name"], shape, spec["vocabulary"], spec["dimension"], dtype)


def _gru(spec: Mapping[str, Any], shape: Shape, seed: List[int], dtype: Any) -> Layer:
    forms = {"cudnn": CudnnGru, "classic": ClassicGru}
    name, form, returns = spec["name"], spec["form"], spec["returns"]
    if form not in forms:
        raise ValueError(
            "layer {}: gru form {!r} is unknown; known are {}".format(name, form, sorted(forms))
        )
    if returns != "last":
        raise ValueError(
            "layer {}: gru returns {!r} is unknown; known is 'last'".format(name, returns)
        )
    return forms[form](name, shape, spec["units"], dtype)


_Build = Callable[[Mapping[str, Any], Shape, List[int], Any], Layer]

# For each kind: its keys, how many axes one sample has (0: any number), and what builds it.
_KINDS: Dict[str, Tuple[Tuple[str, ...], int, _Build]] = {
    "conv": (("filters", "kernel", "padding", "stride"), 3, _conv),
    "relu": ((), 0, _relu),
    "max_pool": (("size", "stride"), 3, _max_pool),
    "dropout": (("rate",), 0, _dropout),
    "flatten": ((), 0, _flatten),
    "dense": (("units",), 1, _dense),
    "embedding": (("vocabulary", "dimension"), 1, _embedding),
    "gru": (("units", "form", "returns"), 2, _gru),
    "batch_norm": (("epsilon",), 3, _batch_norm),
    "bottleneck": (("width", "stride", "projection"), 3, _bottleneck),
    "global_average_pool": ((), 3, _global_average_pool),
}

# Keys that may be left out.
_OPTIONAL: Dict[str, Tuple[str, ...]] = {"conv": ("bias",), "max_pool": ("padding",)}
