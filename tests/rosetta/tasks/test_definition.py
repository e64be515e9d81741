"""The task files: the architectures of design section 4, and what is said of a wrong file."""

from __future__ import annotations

import math
import tomllib
from pathlib import Path

import msgpack
import msgspec
import pytest

from rosetta import tasks
from rosetta.errors import UserError
from rosetta.tasks import definition
from rosetta.tasks.definition import TASKS_FOLDER, Task

NAMES = ("mlp", "cnn", "gru", "resnet50")
TRAINABLE = {"mlp": 101_770, "cnn": 3_441_592, "gru": 3_818_302, "resnet50": 23_508_032}
MLP = (TASKS_FOLDER / "mlp.toml").read_text(encoding="utf-8")

Shapes = dict[str, list[int]]


def batch_norm(name: str, channels: int) -> Shapes:
    parts = ("weight", "bias", "running_mean", "running_var")
    return {f"{name}.{part}": [channels] for part in parts}


def bottleneck(name: str, channels: int, width: int, projection: bool) -> Shapes:
    out = 4 * width
    shapes = {f"{name}.conv1.weight": [width, channels, 1, 1], **batch_norm(f"{name}.bn1", width)}
    shapes |= {f"{name}.conv2.weight": [width, width, 3, 3], **batch_norm(f"{name}.bn2", width)}
    shapes |= {f"{name}.conv3.weight": [out, width, 1, 1], **batch_norm(f"{name}.bn3", out)}
    if projection:
        shapes[f"{name}.downsample.0.weight"] = [out, channels, 1, 1]
        shapes |= batch_norm(f"{name}.downsample.1", out)
    return shapes


def walk(task: Task) -> tuple[Shapes, list[int]]:
    """Names and shapes of the parameters as the layers imply them, and the output's shape."""
    shape, found = list(task.input.shape), {}
    for layer in task.to_wire()["layers"]:
        name, kind = layer["name"], layer["kind"]
        if kind == "conv":
            filters, kernel = layer["filters"], layer["kernel"]
            found[f"{name}.weight"] = [filters, shape[0], kernel, kernel]
            if layer.get("bias", True):
                found[f"{name}.bias"] = [filters]
            shape = [filters, *(math.ceil(n / layer["stride"]) for n in shape[1:])]
        elif kind == "max_pool":
            size, stride, padding = layer["size"], layer["stride"], layer.get("padding", 0)
            shape = [shape[0], *((n + 2 * padding - size) // stride + 1 for n in shape[1:])]
        elif kind == "flatten":
            shape = [math.prod(shape)]
        elif kind == "dense":
            found |= {
                f"{name}.weight": [layer["units"], shape[0]],
                f"{name}.bias": [layer["units"]],
            }
            shape = [layer["units"]]
        elif kind == "embedding":
            found[f"{name}.weight"] = [layer["vocabulary"], layer["dimension"]]
            shape = [*shape, layer["dimension"]]
        elif kind == "gru":
            three = 3 * layer["units"]
            found |= {f"{name}.weight_ih": [three, shape[-1]]}
            found |= {f"{name}.weight_hh": [three, layer["units"]]}
            found |= {f"{name}.bias_ih": [three], f"{name}.bias_hh": [three]}
            shape = [layer["units"]]
        elif kind == "batch_norm":
            found |= batch_norm(name, shape[0])
        elif kind == "bottleneck":
            found |= bottleneck(name, shape[0], layer["width"], layer["projection"])
            shape = [4 * layer["width"], *(math.ceil(n / layer["stride"]) for n in shape[1:])]
        elif kind == "global_average_pool":
            shape = shape[:1]
        else:
            assert kind in ("relu", "dropout")
    return found, shape


@pytest.fixture(params=NAMES)
def task(request: pytest.FixtureRequest) -> Task:
    return tasks.load(request.param)


def test_every_task_file_is_a_task() -> None:
    assert tasks.names() == list(NAMES)
    for path in TASKS_FOLDER.glob("*.toml"):
        assert definition.read(path).name == path.stem


def test_the_parameters_are_those_of_the_layers(task: Task) -> None:
    """Names, shapes and order, and an output that is as long as the classes or features."""
    expected, output = walk(task)
    assert [(p.name, p.shape) for p in task.parameters] == list(expected.items())
    assert output == [task.classes or task.features]


def test_the_numbers_of_parameters_are_those_of_the_design(task: Task) -> None:
    assert tasks.parameter_count(task) == TRAINABLE[task.name]
    by_hand = sum(
        math.prod(shape) for name, shape in walk(task)[0].items() if "running" not in name
    )
    assert by_hand == TRAINABLE[task.name]


def test_only_batch_norm_statistics_are_never_trained(task: Task) -> None:
    assert [p.name for p in task.parameters if not p.trainable] == [
        p.name for p in task.parameters if ".running_" in p.name
    ]


def test_the_gru_has_two_bias_vectors() -> None:
    alone = [p for p in tasks.load("gru").parameters if p.name.startswith("gru.")]
    assert sum(math.prod(p.shape) for p in alone) == 68_100
    layer = tasks.load("gru").layers[1]
    assert (layer.units, layer.form, layer.returns) == (100, "cudnn", "last")


def test_the_cnn_is_the_one_of_the_design() -> None:
    task = tasks.load("cnn")
    assert task.data == "cifar10"
    described = [
        f"{layer['kind']} {layer.get('filters') or layer.get('units') or layer.get('rate') or ''}"
        for layer in task.to_wire()["layers"]
    ]
    # Pooling before the ReLU is the same function: both are monotonic.
    assert described[:6] == [
        *("conv 50", "relu ", "conv 50", "max_pool ", "relu ", "dropout 0.25"),
    ]
    assert described[6:12] == [
        *("conv 100", "relu ", "conv 100", "max_pool ", "relu ", "dropout 0.25"),
    ]
    assert described[12:] == ["flatten ", "dense 512", "relu ", "dropout 0.5", "dense 10"]
    convolutions = [layer for layer in task.layers if isinstance(layer, definition.Conv)]
    assert {(c.kernel, c.stride, c.padding) for c in convolutions} == {(3, 1, "same")}
    assert task.optimiser == definition.Sgd(learning_rate=0.01, momentum=0.9)


@pytest.mark.parametrize("name", ["mlp", "gru"])
def test_adam_has_the_usual_numbers(name: str) -> None:
    adam = definition.Adam(learning_rate=1e-3, beta1=0.9, beta2=0.999, epsilon=1e-8)
    assert tasks.load(name).optimiser == adam


@pytest.mark.parametrize(
    ("name", "data", "batch_size", "epochs", "classes", "shape"),
    [
        ("mlp", "mnist", 64, 5, 10, [784]),
        ("cnn", "cifar10", 64, 10, 10, [3, 32, 32]),
        ("gru", "imdb", 64, 3, 2, [150]),
        ("resnet50", "synthetic", 32, 1, 0, [3, 224, 224]),
    ],
)
def test_data_and_sizes_are_those_of_the_design(
    name: str, data: str, batch_size: int, epochs: int, classes: int, shape: list[int]
) -> None:
    task = tasks.load(name)
    assert (task.data, task.classes, task.input.shape) == (data, classes, shape)
    assert (task.training.batch_size, task.training.epochs) == (batch_size, epochs)


def test_pixels_are_scaled_by_the_worker_and_tokens_are_not() -> None:
    for name in ("mlp", "cnn"):
        task = tasks.load(name)
        assert (task.input.kind, task.input.dtype) == ("pixels", "uint8")
        assert task.input.scale == 1 / 255
    images = tasks.load("resnet50").input
    assert (images.kind, images.dtype, images.scale) == ("pixels", "float32", 1.0)
    tokens = tasks.load("gru").input
    assert (tokens.kind, tokens.dtype, tokens.vocabulary) == ("tokens", "int32", 30_000)
    assert tokens.scale == 1.0


def test_the_forward_only_task_has_no_loss_and_no_optimiser(task: Task) -> None:
    forward_only = task.name == "resnet50"
    assert task.trains is not forward_only
    assert (task.loss is None) is forward_only
    assert task.features == (2048 if forward_only else 0)


def test_an_override_changes_what_it_names_and_nothing_else() -> None:
    task = tasks.load("cnn")
    changed = task.override(batch_size=32, epochs=2, learning_rate=0.5)
    assert (changed.training.batch_size, changed.training.epochs) == (32, 2)
    assert changed.optimiser == definition.Sgd(learning_rate=0.5, momentum=0.9)
    assert (changed.layers, changed.parameters) == (task.layers, task.parameters)
    assert task.override() == task
    assert tasks.load("cnn") == task


def test_any_override_changes_the_digest(task: Task) -> None:
    digests = {task.digest(), task.override(batch_size=7).digest()}
    digests |= {task.override(epochs=99).digest()}
    assert len(digests) == 3
    if task.trains:
        assert task.override(learning_rate=0.123).digest() not in digests
    assert task.override(batch_size=task.training.batch_size).digest() == task.digest()


def test_the_digest_is_of_the_content_and_not_of_its_layout(tmp_path: Path, task: Task) -> None:
    def reversed_keys(value: object) -> object:
        if isinstance(value, dict):
            return {key: reversed_keys(value[key]) for key in reversed(value)}
        return [reversed_keys(item) for item in value] if isinstance(value, list) else value

    content = tomllib.loads((TASKS_FOLDER / f"{task.name}.toml").read_text(encoding="utf-8"))
    assert msgspec.convert(reversed_keys(content), Task).digest() == task.digest()
    spaced = tmp_path / "spaced.toml"
    spaced.write_text("# a comment\n" + MLP.replace(" = ", "  =  "), encoding="utf-8")
    assert definition.read(spaced).digest() == tasks.load("mlp").digest()


def test_a_task_survives_the_wire(task: Task) -> None:
    received = msgpack.unpackb(msgpack.packb(task.to_wire()))
    assert msgspec.convert(received, Task) == task


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("units = 128", "unist = 128"), ("unist", "$.layers[0]")),
        (("classes = ", "clases = "), ("clases",)),
        (("epochs = 5", "epoch = 5"), ("epoch", "$.training")),
        (("[bench]\nsteps = 400", ""), ("bench",)),
        (('kind = "relu"', 'kind = "gelu"'), ("gelu", "$.layers[1]")),
        (("beta1 = 0.9\n", "beta1 = -0.9\n"), (">= 0", "$.optimiser.beta1")),
        (("beta1 = 0.9\n", "beta1 = nan\n"), (">= 0", "$.optimiser.beta1")),
        (("learning_rate = 0.001", "learning_rate = -0.001"), ("$.optimiser.learning_rate",)),
        (("batch_size = 64", "batch_size = 0"), (">= 1", "$.training.batch_size")),
        (("classes = 10", 'classes = "ten"'), ("int", "$.classes")),
        (("shape = [10]", "shape = [0]"), ("$.parameters[3].shape",)),
        (("[training]", "[training"), ("line",)),
    ],
)
def test_a_mistake_is_named_with_its_file_and_key(
    tmp_path: Path, change: tuple[str, str], said: tuple[str, ...]
) -> None:
    assert change[0] in MLP
    path = tmp_path / "wrong.toml"
    path.write_text(MLP.replace(*change, 1), encoding="utf-8")
    with pytest.raises(UserError) as caught:
        definition.read(path)
    for words in (str(path), *said):
        assert words in str(caught.value)


def test_a_dropout_rate_is_a_probability(tmp_path: Path) -> None:
    text = (TASKS_FOLDER / "cnn.toml").read_text(encoding="utf-8")
    for rate in ("-0.25", "1.0", "1.5"):
        path = tmp_path / "wrong.toml"
        path.write_text(text.replace("rate = 0.25", f"rate = {rate}", 1), encoding="utf-8")
        with pytest.raises(UserError, match=r"wrong\.toml.*\$\.layers\[5\]\.rate"):
            definition.read(path)


def test_a_file_that_is_missing_or_not_text_is_named(tmp_path: Path) -> None:
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b'name = "\xff\xfe"')
    for path in (binary, tmp_path / "missing.toml", tmp_path):
        with pytest.raises(UserError, match=str(path)):
            definition.read(path)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("cmn", "did you mean cnn"),
        ("resnet", "did you mean resnet50"),
        ("transformer", "there are mlp, cnn, gru, resnet50"),
        ("../tasks/mlp", "unknown task '../tasks/mlp'"),
        ("", "there are mlp"),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest_ones(name: str, said: str) -> None:
    with pytest.raises(UserError, match=r"^unknown task") as caught:
        tasks.load(name)
    assert said in str(caught.value)
