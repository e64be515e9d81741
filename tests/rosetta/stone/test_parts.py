"""Every part of every worker is found, in the agreed order, and nothing is left out."""

from __future__ import annotations

import pytest

from rosetta import stone, workers
from rosetta.errors import UserError
from rosetta.stone.sources import sources, take_apart
from rosetta.workers import Worker

WORKERS = [worker for worker in workers.catalogue().values() if not worker.harness]

# In each file, what it has of these comes in this order.
ORDER = (
    "start",
    *stone.TASK_PARTS,
    "network",
    "to_device",
    "train_step",
    "set_learning_rate",
    "predict",
    "parameters",
    "make_optimiser",
    "from_canonical",
    "to_canonical",
)

BACKEND = '''\
"""A worker."""

import math


def start(device, threads):
    return {"size": SIZE}


# How many.
SIZE = 3


class Mlp:
    pass


class Network:
    """It holds the parameters."""

    def __init__(self, setup, parameters):
        self.model = Mlp()

    @property
    def to_device(self):
        return helper()

    def train_step(self, batch):
        loss = losses.cross_entropy(batch)
        return math.sqrt(loss)

    def predict(self, inputs):
        return inputs


def helper():
    return 1


def make_optimiser(described):
    return None
'''


def code(worker: Worker, part: str) -> str:
    return "\n".join(snippet.text for snippet in stone.anatomy(worker).parts[part])


def agreed_name(name: str) -> str:
    """Networks may be made by a class or a function: `Mlp`, `mlp`, `make_mlp`."""
    plain = name.rstrip("!").lower()
    network = plain.removeprefix("make_")
    return network if network in stone.TASK_PARTS else plain


@pytest.mark.parametrize("worker", WORKERS, ids=lambda worker: worker.name)
def test_every_part_is_in_every_worker_that_has_the_task(worker: Worker) -> None:
    column = stone.column(worker)
    untrained = {"optimiser", "train_step"} if set(worker.tasks) == {"resnet50"} else set()
    needed = {part.key for part in stone.PARTS} - set(stone.TASK_PARTS) - untrained
    for part in needed | set(worker.tasks):
        assert column.entries[part].snippets, f"{worker.name} has no {part}"


@pytest.mark.parametrize("worker", WORKERS, ids=lambda worker: worker.name)
def test_every_definition_of_a_worker_is_in_a_part(worker: Worker) -> None:
    assert [d.name for d in stone.anatomy(worker).homeless] == []


@pytest.mark.parametrize("worker", WORKERS, ids=lambda worker: worker.name)
def test_the_parts_come_in_the_agreed_order(worker: Worker) -> None:
    for source in sources(worker):
        names = [agreed_name(d.name) for d in take_apart(source).definitions]
        last = {name: place for place, name in enumerate(names) if name in ORDER}
        found = sorted(last, key=lambda name: last[name])
        assert found == [name for name in ORDER if name in last], source.shown


@pytest.mark.parametrize("worker", WORKERS, ids=lambda worker: worker.name)
def test_a_file_can_be_read_in_one_sitting(worker: Worker) -> None:
    lengths = {source.shown: len(source.text.splitlines()) for source in sources(worker)}
    assert {file: lines for file, lines in lengths.items() if lines > 300} == {}


@pytest.mark.parametrize("worker", WORKERS, ids=lambda worker: worker.name)
def test_a_loss_is_shown_wherever_it_stands(worker: Worker) -> None:
    if set(worker.tasks) == {"resnet50"} or stone.read_notes(worker).hosts:
        return  # there is none, or it is the hosted backend's
    shown = stone.column(worker).entries["optimiser"].snippets
    text = "\n".join(snippet.text for snippet in shown).lower().replace("_", "")
    losses = ("crossentropy", "softmaxwithloss", "nll(")
    assert any(loss in text for loss in losses), worker.name


def test_a_definition_goes_by_its_name_or_to_who_uses_it(made) -> None:
    worker = made(**{"backend.py": BACKEND})
    assert "def start" in code(worker, "start")
    assert "# How many.\nSIZE = 3" in code(worker, "start")
    assert "def helper" in code(worker, "layout")
    assert "@property\ndef to_device" in code(worker, "layout")
    assert code(worker, "imports") == '"""A worker."""\n\nimport math'
    assert "It holds the parameters." in code(worker, "build")
    assert "train_step" not in code(worker, "build")
    assert stone.anatomy(worker).homeless == []


def test_the_statement_with_the_loss_is_shown_beside_the_optimiser(made) -> None:
    optimiser = code(made(**{"backend.py": BACKEND}), "optimiser")
    assert optimiser.startswith("loss = losses.cross_entropy(batch)\ndef make_optimiser")


def test_a_part_that_is_not_there_is_empty(made) -> None:
    assert stone.anatomy(made(**{"backend.py": BACKEND})).parts["gru"] == []


def test_a_definition_that_nothing_uses_is_homeless(made) -> None:
    worker = made(**{"backend.py": BACKEND + "\n\ndef lost():\n    pass\n"})
    assert [definition.name for definition in stone.anatomy(worker).homeless] == ["lost"]


def test_resnet50_is_found_by_its_name_and_by_its_file(made) -> None:
    worker = made(
        **{
            "backend.py": BACKEND + "\n\nimport my_resnet50\n",
            "my_resnet50.py": "class Stem:\n    pass\n\n\nclass MyResNet50:\n    pass\n",
        }
    )
    assert "class Stem" in code(worker, "resnet50")
    assert "class MyResNet50" in code(worker, "resnet50")


def test_a_file_that_the_backend_does_not_name_is_none_of_its_code(made) -> None:
    worker = made(**{"backend.py": BACKEND, "compiled_once.py": "def build():\n    pass\n"})
    assert [source.path.name for source in sources(worker)] == ["backend.py"]


def test_an_attribute_of_a_library_is_not_a_function_of_the_worker(made) -> None:
    worker = made(**{"backend.py": BACKEND + "\n\ndef sqrt():\n    pass\n"})  # math.sqrt is used
    assert [definition.name for definition in stone.anatomy(worker).homeless] == ["sqrt"]


def test_a_worker_without_a_framework_shows_the_layers_that_a_task_needs() -> None:
    for name, dense, convolution in (
        ("numpy", "class Dense", "class Conv("),
        ("julia", "Dense{T} <: Layer{T}", "Convolution{T} <: Layer{T}"),
    ):
        worker = workers.get(name)
        assert dense in code(worker, "mlp")
        assert convolution in code(worker, "cnn")
        assert convolution not in code(worker, "mlp")
        assert "Gru" in code(worker, "gru")


def test_workers_of_one_folder_show_their_own_code_only() -> None:
    gluon = [source.path.name for source in sources(workers.get("mxnet-gluon"))]
    assert "gluon_networks.py" in gluon
    assert "module_networks.py" not in gluon
    assert "def start_jax" in code(workers.get("keras-jax"), "start")
    assert "def start_torch" not in code(workers.get("keras-jax"), "start")


def test_a_hosted_backend_lends_its_networks() -> None:
    entry = stone.column(workers.get("juliacall")).entries["cnn"]
    assert entry.hosted == "Knet"
    assert {snippet.source.shown for snippet in entry.snippets} == {"julia/workers/knet/backend.jl"}


def test_code_that_cannot_be_read_is_named(made) -> None:
    worker = made(**{"backend.py": "def start(:\n"})
    with pytest.raises(UserError, match=r"backend\.py: line 1: "):
        stone.anatomy(worker)


def test_a_folder_without_a_backend_is_named(made) -> None:
    with pytest.raises(UserError, match=r"made: there is no backend\.py or backend\.jl"):
        stone.anatomy(made())
