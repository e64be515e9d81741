"""A task's name stands for one network; whatever else it asks for is refused, not ignored."""

import copy

import pytest

from rosetta import tasks
from rosetta_worker import networks
from rosetta_worker.wire import WireError


def changed(name, change):
    task = copy.deepcopy(tasks.load(name).to_wire())
    change(task)
    return task


def layer(task, name):
    return next(entry for entry in task["layers"] if entry["name"] == name)


@pytest.mark.parametrize("name", ["mlp", "cnn", "gru"])
def test_the_tasks_files_are_taken(name):
    networks.check(tasks.load(name).to_wire(), {}, 7)


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("mlp", lambda t: t["input"].update(kind="tokens"), "the input has kind = 'tokens'"),
        ("mlp", lambda t: t["input"].update(dtype="int32"), "the input has dtype = 'int32'"),
        ("gru", lambda t: t["input"].update(dtype="uint8"), "the input has dtype = 'uint8'"),
        ("cnn", lambda t: layer(t, "conv1").update(kernel=5), "layer conv1 has kernel = 5"),
        ("cnn", lambda t: layer(t, "pool1").update(padding=1), "layer pool1 has padding = 1"),
        ("cnn", lambda t: layer(t, "conv2").update(dilation=2), "layer conv2 has dilation = 2"),
        ("gru", lambda t: layer(t, "gru").update(form="classic"), "has form = 'classic'"),
        ("gru", lambda t: layer(t, "gru").update(returns="all"), "has returns = 'all'"),
        ("mlp", lambda t: t["layers"].pop(1), "mlp has other layers"),
        ("mlp", lambda t: t["optimiser"].update(weight_decay=0.1), "weight_decay = 0.1"),
        ("mlp", lambda t: t["optimiser"].update(kind="lamb"), "kind = 'lamb'"),
        ("mlp", lambda t: t.update(loss="hinge"), "loss = 'hinge'"),
    ],
)
def test_another_network_is_unsupported(name, change, words):
    with pytest.raises(WireError) as caught:
        networks.check(changed(name, change), {}, 7)
    assert caught.value.code == "unsupported"
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("mlp", lambda t: layer(t, "fc1").pop("units")),
        ("mlp", lambda t: t["optimiser"].pop("beta1")),
        ("mlp", lambda t: t.pop("optimiser")),
        ("mlp", lambda t: t["input"].pop("kind")),
    ],
)
def test_what_is_missing_is_a_bad_header(name, change):
    with pytest.raises(WireError) as caught:
        networks.check(changed(name, change), {}, 7)
    assert caught.value.code == "bad_header"


def test_another_name_is_its_backends_own_business():
    networks.check({"name": "mine"}, {}, 7)
