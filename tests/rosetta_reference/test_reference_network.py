"""The whole network: parameters, steps, predictions, and what it refuses."""

import numpy as np
import pytest

from rosetta_reference import Network
from rosetta_reference.network import SLICE

NETWORKS = [("mlp", "cudnn"), ("cnn", "cudnn"), ("gru", "cudnn"), ("gru", "classic")]


@pytest.fixture
def make(small_task, draw_parameters):
    """A small network and its task."""

    def make(name, form="cudnn", seed=0, **options):
        task = small_task(name, form)
        return Network(task, draw_parameters(task, seed), **options), task

    return make


@pytest.mark.parametrize(
    ("name", "count"), [("mlp", 101_770), ("cnn", 3_441_592), ("gru", 3_818_302)]
)
def test_the_tasks_have_the_documented_number_of_parameters(
    name, count, full_task, draw_parameters
):
    task = full_task(name)
    network = Network(task, draw_parameters(task), np.float32)
    assert sum(values.size for values in network.parameters().values()) == count


@pytest.mark.parametrize(("name", "form"), NETWORKS)
def test_parameters_come_back_as_they_went_in(name, form, small_task, draw_parameters):
    task = small_task(name, form)
    values = draw_parameters(task)
    network = Network(task, dict(reversed(values.items())), np.float32)
    found = network.parameters()
    assert list(found) == [entry["name"] for entry in task["parameters"]]
    for key, array in found.items():
        assert array.dtype == np.float32
        np.testing.assert_array_equal(array, values[key])


@pytest.mark.parametrize(("name", "form"), NETWORKS)
def test_parameters_are_copied_both_ways(name, form, small_task, draw_parameters, draw_batch):
    task = small_task(name, form)
    values = draw_parameters(task)
    network = Network(task, values, np.float32)
    before = network.parameters()
    for array in before.values():
        array += 1
    network.train_step(*draw_batch(task))
    for key, array in draw_parameters(task).items():
        np.testing.assert_array_equal(values[key], array)
        np.testing.assert_array_equal(before[key], array + 1)
    changed = network.parameters()
    assert all((changed[key] != values[key]).any() for key in values)


@pytest.mark.parametrize(("name", "form"), NETWORKS)
def test_prediction_and_gradients_change_nothing(name, form, make, draw_batch):
    disturbed, task = make(name, form)
    quiet, _ = make(name, form)
    inputs, labels = draw_batch(task)
    for _ in range(3):
        first = disturbed.predict(inputs)
        np.testing.assert_array_equal(first, disturbed.predict(inputs))
        disturbed.predict(inputs[:2])
        assert disturbed.train_step(inputs, labels) == quiet.train_step(inputs, labels)
    before = disturbed.parameters()
    disturbed.gradients(inputs, labels)
    for key, values in disturbed.parameters().items():
        np.testing.assert_array_equal(values, before[key])


@pytest.mark.parametrize(("name", "form"), NETWORKS)
def test_the_loss_is_that_of_the_logits_before_the_update(name, form, make, draw_batch):
    network, task = make(name, form, dropout=False)
    inputs, labels = draw_batch(task)
    logits = network.predict(inputs)
    log_probabilities = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    expected = -log_probabilities[np.arange(len(labels)), labels].mean()
    loss, _ = network.gradients(inputs, labels)
    assert loss == pytest.approx(expected, rel=1e-12)
    assert type(loss) is float
    assert network.train_step(inputs, labels) == loss
    assert network.train_step(inputs, labels) != loss


@pytest.mark.parametrize(("name", "form"), NETWORKS)
def test_float32_agrees_with_float64(name, form, make, draw_batch, relative_error):
    exact, task = make(name, form)
    single, _ = make(name, form, dtype=np.float32)
    before = exact.parameters()
    for seed in range(3):
        batch = draw_batch(task, seed=seed)
        assert single.train_step(*batch) == pytest.approx(exact.train_step(*batch), rel=1e-5)
    assert single.predict(batch[0]).dtype == np.float32
    assert exact.predict(batch[0]).dtype == np.float64
    found, expected = single.parameters(), exact.parameters()
    for key in expected:
        change = expected[key] - before[key]
        assert relative_error(found[key] - before[key], change) < 1e-3, key


@pytest.mark.parametrize(("name", "form"), NETWORKS)
def test_the_same_seed_gives_the_same_training(name, form, make, draw_batch):
    (one, task), (two, _) = make(name, form, seed=5), make(name, form, seed=5)
    for seed in range(3):
        batch = draw_batch(task, seed=seed)
        assert one.train_step(*batch) == two.train_step(*batch)
    for key, values in one.parameters().items():
        np.testing.assert_array_equal(values, two.parameters()[key])


def test_dropout_acts_in_training_only_and_can_be_left_out(small_task, draw_parameters, draw_batch):
    task = small_task("cnn")
    batch = draw_batch(task)
    values = draw_parameters(task)
    nets = {
        "1": Network(task, values, seed=1),
        "1 again": Network(task, values, seed=1),
        "2": Network(task, values, seed=2),
        "off": Network(task, values, dropout=False, seed=1),
    }
    predictions = {key: net.predict(batch[0]) for key, net in nets.items()}
    losses = {key: net.train_step(*batch) for key, net in nets.items()}
    assert losses["1"] == losses["1 again"]
    assert len({losses["1"], losses["2"], losses["off"]}) == 3
    for logits in predictions.values():
        np.testing.assert_array_equal(logits, predictions["off"])


@pytest.mark.parametrize(("name", "form"), NETWORKS)
def test_many_samples_are_predicted_as_few_are(name, form, make, draw_batch):
    network, task = make(name, form)
    inputs, _ = draw_batch(task, size=SLICE + 3)
    logits = network.predict(inputs)
    assert logits.shape == (SLICE + 3, task["classes"])
    for part in (slice(0, 5), slice(SLICE, None)):
        np.testing.assert_allclose(logits[part], network.predict(inputs[part]), rtol=1e-10)
    assert network.predict(inputs[:0]).shape == (0, task["classes"])


@pytest.mark.parametrize("form", ["torch", "hat"])
def test_the_adam_form_reaches_the_optimiser(form, make, draw_batch):
    network, task = make("mlp", adam_form=form)
    inputs, labels = draw_batch(task)
    _, gradients = network.gradients(inputs, labels)
    before = network.parameters()
    network.train_step(inputs, labels)
    settings = task["optimiser"]
    scale = 1 if form == "torch" else np.sqrt(1 - settings["beta2"])
    for key, values in network.parameters().items():
        g = gradients[key]
        change = -settings["learning_rate"] * g / (np.abs(g) + settings["epsilon"] / scale)
        np.testing.assert_allclose(values - before[key], change, rtol=1e-6, atol=1e-12)


def test_pixels_are_scaled_inside(make, draw_batch):
    network, task = make("mlp")
    inputs, _ = draw_batch(task)
    p = network.parameters()
    hidden = np.maximum(inputs / 255 @ p["fc1.weight"].T + p["fc1.bias"], 0)
    expected = hidden @ p["fc2.weight"].T + p["fc2.bias"]
    np.testing.assert_allclose(network.predict(inputs), expected, rtol=1e-12)


def bright_half(task, random):
    """Pixels of which class 1 has the second half bright."""
    labels = random.integers(0, 2, 32).astype(np.int32)
    inputs = random.integers(0, 100, (32, *task["input"]["shape"])).astype(np.uint8)
    flat = inputs.reshape(32, -1)
    flat[labels == 1, flat.shape[1] // 2 :] += 150
    return inputs, labels


def marked_sequence(task, random):
    """Tokens of which class 1 has token 7 in front and class 0 has token 8."""
    labels = random.integers(0, 2, 32).astype(np.int32)
    inputs = random.integers(0, 7, (32, *task["input"]["shape"])).astype(np.int32)
    inputs[:, 0] = 8 - labels
    return inputs, labels


@pytest.mark.parametrize(("name", "form"), NETWORKS)
def test_a_separable_problem_is_learned(name, form, small_task, draw_parameters):
    task = small_task(name, form)
    task["optimiser"]["learning_rate"] = 0.02 if task["optimiser"]["kind"] == "adam" else 0.01
    network = Network(task, draw_parameters(task), np.float32, dropout=False)
    random = np.random.default_rng(0)
    draw = marked_sequence if name == "gru" else bright_half
    for _ in range(200):
        network.train_step(*draw(task, random))
    inputs, labels = draw(task, random)
    assert (network.predict(inputs).argmax(axis=1) == labels).all()


def test_parameters_that_do_not_fit_are_all_named(small_task, draw_parameters):
    task = small_task("mlp")
    values = draw_parameters(task)
    values["fc3.bias"] = values.pop("fc1.bias")
    values["fc2.weight"] = values["fc2.weight"].T
    with pytest.raises(ValueError, match="do not fit") as caught:
        Network(task, values)
    for part in (
        "fc1.bias is missing",
        "fc3.bias is not a parameter",
        "fc2.weight has shape (5, 10) instead of (10, 5)",
    ):
        assert part in str(caught.value)


def change_layer(index, **keys):
    return lambda task: task["layers"][index].update(keys)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("mlp", change_layer(1, kind="swish"), r"layer relu1: kind 'swish' is unknown; .*'relu'"),
        ("mlp", change_layer(1, name="fc1"), "two layers are named fc1"),
        ("mlp", change_layer(2, units=9), r"shape \(9,\), but the task has 10 classes"),
        ("cnn", change_layer(0, bias=False), "the task lists the parameters"),
        ("cnn", change_layer(3, padding=2), "a window could lie in the padding alone"),
        ("mlp", lambda task: task.update(classes=0, features=10), "neither a loss nor"),
        ("cnn", change_layer(0, dilation=2), r"layer conv1: .* unknown are \['dilation'\]"),
        ("mlp", change_layer(0, bias=True), r"layer fc1: .* unknown are \['bias'\]"),
        ("cnn", lambda task: task["layers"][0].pop("stride"), r"missing are \['stride'\]"),
        ("mlp", lambda task: task.pop("loss"), "loss None is unknown"),
        ("cnn", change_layer(0, padding="full"), "padding 'full' is unknown"),
        ("cnn", change_layer(0, kernel=2), "needs an odd kernel"),
        ("cnn", change_layer(3, size=9), "window is larger than the image"),
        ("cnn", change_layer(5, rate=1.0), r"rate 1.0 is not in \[0, 1\)"),
        ("cnn", lambda task: task["layers"].pop(12), "dense takes samples of 1 axes"),
        (
            "gru",
            change_layer(1, form="minimal"),
            r"form 'minimal' is unknown; .*'classic', 'cudnn'",
        ),
        ("gru", change_layer(1, returns="all"), "returns 'all' is unknown"),
        ("mlp", lambda task: task["parameters"].pop(), "the task lists the parameters"),
        ("mlp", lambda task: task["optimiser"].update(kind="lion"), "optimiser 'lion' is unknown"),
        ("mlp", lambda task: task.update(loss="hinge"), "loss 'hinge' is unknown"),
        ("mlp", lambda task: task["input"].update(kind="audio"), "input kind 'audio' is unknown"),
        ("gru", lambda task: task["input"].pop("vocabulary"), "input's vocabulary is missing"),
        ("gru", change_layer(0, vocabulary=8), "vocabulary of 8 is smaller than the input's of 9"),
    ],
)
def test_a_task_that_is_not_understood_is_refused(
    name, change, message, small_task, draw_parameters
):
    task = small_task(name)
    values = draw_parameters(task)
    change(task)
    with pytest.raises(ValueError, match=message):
        Network(task, values)


def test_a_default_may_be_written_out(small_task, draw_parameters, draw_batch):
    task, written = small_task("cnn"), small_task("cnn")
    for layer in written["layers"]:
        layer.update({"conv": {"bias": True}, "max_pool": {"padding": 0}}.get(layer["kind"], {}))
    inputs, labels = draw_batch(task)
    losses = {Network(t, draw_parameters(t)).train_step(inputs, labels) for t in (task, written)}
    assert len(losses) == 1


def test_pixels_without_a_scale_are_taken_as_they_are(small_task, draw_parameters, draw_batch):
    bare, one = small_task("mlp"), small_task("mlp")
    del bare["input"]["scale"]
    one["input"]["scale"] = 1
    inputs, _ = draw_batch(bare)
    logits = [Network(task, draw_parameters(task)).predict(inputs) for task in (bare, one)]
    np.testing.assert_array_equal(*logits)


def test_an_integer_type_is_refused(make):
    with pytest.raises(ValueError, match="int32 is not a float type"):
        make("mlp", dtype=np.int32)


@pytest.mark.parametrize(
    ("name", "spoil", "message"),
    [
        ("mlp", lambda x, y: (x.astype(np.float32), y), r"inputs must be uint8 .* not float32"),
        ("mlp", lambda x, y: (x[:, :4], y), r"not uint8 of shape \(5, 4\)"),
        ("mlp", lambda x, y: (x, y[:3]), "labels must be integers"),
        ("mlp", lambda x, y: (x, y.astype(np.float32)), "labels must be integers"),
        ("mlp", lambda x, y: (x, y + 10), "a label lies outside 0 to 9"),
        ("mlp", lambda x, y: (x, y - 10), "a label lies outside 0 to 9"),
        ("mlp", lambda x, y: (x[:0], y[:0]), "the batch is empty"),
        ("gru", lambda x, y: (x.astype(np.float32), y), r"inputs must be int32 .* not float32"),
        ("gru", lambda x, y: (x + 9, y), "a token lies outside 0 to 8"),
        ("gru", lambda x, y: (x - 9, y), "a token lies outside 0 to 8"),
    ],
)
def test_a_batch_that_does_not_fit_is_refused(name, spoil, message, make, draw_batch):
    network, task = make(name)
    good = draw_batch(task)
    inputs, labels = spoil(*good)
    before = network.parameters()
    for method in (network.check, network.train_step, network.gradients):
        with pytest.raises(ValueError, match=message):
            method(inputs, labels)
    for key, values in network.parameters().items():
        np.testing.assert_array_equal(values, before[key])
    network.check(*good)
    network.train_step(*good)


@pytest.mark.parametrize(
    ("name", "spoil", "message"),
    [
        ("mlp", lambda x: x.astype(np.float32), r"inputs must be uint8 .* not float32"),
        ("mlp", lambda x: x[:, :4], r"not uint8 of shape \(5, 4\)"),
        ("gru", lambda x: x + 9, "a token lies outside 0 to 8"),
    ],
)
def test_inputs_that_do_not_fit_are_not_predicted(name, spoil, message, make, draw_batch):
    network, task = make(name)
    inputs, _ = draw_batch(task)
    for method in (network.check, network.predict):
        with pytest.raises(ValueError, match=message):
            method(spoil(inputs))


@pytest.mark.parametrize(("name", "form"), NETWORKS)
def test_a_trusting_network_computes_the_same_and_checks_nothing(
    name, form, make, draw_batch, monkeypatch
):
    careful, task = make(name, form)
    trusting, _ = make(name, form, trusting=True)
    checked = []
    monkeypatch.setattr(Network, "check", lambda network, *batch: checked.append(network))
    inputs, labels = draw_batch(task)
    for network in (careful, trusting):
        network.gradients(inputs, labels)
        network.train_step(inputs, labels)
    np.testing.assert_array_equal(trusting.predict(inputs), careful.predict(inputs))
    assert checked == [careful] * 3
