"""The content of `protocol/tasks/<name>.toml`, typed and checked.

A `Task` travels to the workers as it is (see `Task.to_wire`), so its keys are part of the protocol.
"""

from __future__ import annotations

import hashlib
import math
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from rosetta.errors import UserError, unknown

TASKS_FOLDER = Path(__file__).parents[3] / "protocol" / "tasks"

Positive = Annotated[int, Meta(ge=1)]
Rate = Annotated[float, Meta(ge=0, lt=1)]
Name = Annotated[str, Meta(pattern=r"^[a-z][a-z0-9_.]*$", max_length=64)]


class _Layer(Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", kw_only=True):
    name: Name


class Conv(_Layer, frozen=True, tag="conv", kw_only=True, omit_defaults=True):
    filters: Positive
    kernel: Positive
    stride: Positive
    padding: Literal["same"]
    bias: bool = True


class Relu(_Layer, frozen=True, tag="relu"):
    pass


class MaxPool(_Layer, frozen=True, tag="max_pool", kw_only=True, omit_defaults=True):
    size: Positive
    stride: Positive
    padding: Annotated[int, Meta(ge=0)] = 0


class Dropout(_Layer, frozen=True, tag="dropout", kw_only=True):
    rate: Rate


class Flatten(_Layer, frozen=True, tag="flatten"):
    pass


class Dense(_Layer, frozen=True, tag="dense", kw_only=True):
    units: Positive


class Embedding(_Layer, frozen=True, tag="embedding", kw_only=True):
    vocabulary: Positive
    dimension: Positive


class Gru(_Layer, frozen=True, tag="gru", kw_only=True):
    units: Positive
    form: Literal["cudnn", "classic"]
    returns: Literal["last"]


class BatchNorm(_Layer, frozen=True, tag="batch_norm", kw_only=True):
    epsilon: Annotated[float, Meta(gt=0)]


class Bottleneck(_Layer, frozen=True, tag="bottleneck", kw_only=True):
    width: Positive
    stride: Positive
    projection: bool


class GlobalAveragePool(_Layer, frozen=True, tag="global_average_pool"):
    pass


Layer = (
    Conv
    | Relu
    | MaxPool
    | Dropout
    | Flatten
    | Dense
    | Embedding
    | Gru
    | BatchNorm
    | Bottleneck
    | GlobalAveragePool
)


class Parameter(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """One canonical parameter: its name, shape and initial distribution."""

    name: Name
    shape: list[Positive]
    initial: Literal[
        "glorot_uniform", "he_normal", "uniform", "normal", "zeros", "ones", "constant"
    ]
    limit: float = 0.0
    deviation: float = 0.0
    value: float = 0.0
    trainable: bool = True


class Input(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """One sample as it travels, without the batch axis."""

    kind: Literal["pixels", "tokens"]
    dtype: Literal["uint8", "int32", "float32"]
    shape: list[Positive]
    axes: str
    scale: float = 1.0
    vocabulary: int = 0


class Sgd(Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="sgd"):
    learning_rate: Annotated[float, Meta(ge=0)]
    momentum: Rate


class Adam(Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="adam"):
    learning_rate: Annotated[float, Meta(ge=0)]
    beta1: Rate
    beta2: Rate
    epsilon: Annotated[float, Meta(gt=0)]


class Training(Struct, frozen=True, forbid_unknown_fields=True):
    batch_size: Positive
    epochs: Positive


class Bench(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """How much of it a quick run does."""

    steps: Positive
    batch_size: Positive | None = None
    warmup: Annotated[int, Meta(ge=0)] | None = None


class Task(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """A network + data set + optimiser + metric."""

    name: Name
    title: str
    data: str
    classes: Annotated[int, Meta(ge=0)]
    features: int = 0
    loss: Literal["softmax_cross_entropy"] | None = None
    layers: list[Layer]
    parameters: list[Parameter]
    input: Input
    optimiser: Sgd | Adam | None = None
    training: Training
    bench: Bench

    def to_wire(self) -> dict[str, Any]:
        """The map that SETUP carries: the content of the task file, overrides applied."""
        content: dict[str, Any] = msgspec.to_builtins(self)
        return content

    @property
    def trains(self) -> bool:
        """False for a forward-only task."""
        return self.optimiser is not None

    @property
    def outputs(self) -> int:
        """Length of what the network says of one sample: classes, or features."""
        return self.classes or self.features

    def override(
        self,
        *,
        batch_size: int | None = None,
        epochs: int | None = None,
        learning_rate: float | None = None,
    ) -> Task:
        """The same task with other hyper-parameters; `None` keeps the file's value."""
        training = Training(
            batch_size=batch_size if batch_size is not None else self.training.batch_size,
            epochs=epochs if epochs is not None else self.training.epochs,
        )
        optimiser = self.optimiser
        if learning_rate is not None and optimiser is not None:
            optimiser = msgspec.structs.replace(optimiser, learning_rate=learning_rate)
        return msgspec.structs.replace(self, training=training, optimiser=optimiser)

    def digest(self) -> str:
        """SHA-256 of the canonical JSON form: equal for equal tasks, whatever the file's layout."""
        return hashlib.sha256(msgspec.json.encode(self, order="deterministic")).hexdigest()


def names() -> list[str]:
    """The tasks that have a file, in the order in which people meet them."""
    found = {path.stem for path in TASKS_FOLDER.glob("*.toml")}
    known = [name for name in ("mlp", "cnn", "gru", "resnet50") if name in found]
    return known + sorted(found - set(known))


def load(name: str) -> Task:
    """Read a task by name. An unknown name raises `UserError` with the nearest ones."""
    if name not in names():
        raise UserError(unknown("task", name, names()))
    return read(TASKS_FOLDER / f"{name}.toml")


def read(path: Path) -> Task:
    """Read a task file. Raises `UserError` naming the file and the key that is wrong."""
    try:
        return msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), Task)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise UserError(f"task file {path}: {error}") from error


def parameter_count(task: Task) -> int:
    """Number of trainable scalars."""
    return sum(math.prod(p.shape) for p in task.parameters if p.trainable)
