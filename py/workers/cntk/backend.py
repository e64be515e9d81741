"""CNTK: layers that make a function, a learner, and a `Trainer` that runs both."""

import os
import platform
import sys
import warnings

import numpy as np

# The runtime loads this file by its path. Its neighbour is an ordinary module: their folder is put
# at the end of the import path, where it shadows nothing.
sys.path.append(os.path.dirname(os.path.abspath(__file__)))

with warnings.catch_warnings():
    # That this is no Ubuntu 16.04 and that no CUDA is there. It computes all the same.
    warnings.simplefilter("ignore")
    import cntk as C  # noqa: N812 - what every user of CNTK calls it

from cntk_networks import NETWORKS, by_name


def start(device, threads):
    """Set the device, the threads and the logging, and tell what computes."""
    C.device.try_set_default_device(_find_device(device))
    C.cntk_py.set_max_num_cputhreads(threads)
    return {
        "framework": {"name": "CNTK", "version": C.__version__},
        "versions": {
            "python": platform.python_version(),
            "numpy": np.__version__,
            "cntk": C.__version__,
        },
        "tasks": ["mlp", "cnn", "gru", "resnet50"],
        "forms": {"adam": "hat", "momentum": "inside", "gru": "classic"},
        "disclosures": {
            "precision": "float32",
            "layout": "NCHW",
            "mode": "graph",
        },
    }


def build(setup, parameters):
    """The network of `setup.task`, holding `parameters`."""
    return Network(setup, parameters)


# Canonical -> CNTK's, where they differ. Statistics are constants to CNTK, not parameters.
BATCH_NORM = {
    "weight": "scale",
    "bias": "bias",
    "running_mean": "aggregate_mean",
    "running_var": "aggregate_variance",
}


class Network:
    def __init__(self, setup, parameters):
        task = setup.task
        self.device = _find_device(setup.device)
        self.input, self.classes = task["input"], task["classes"]
        self.shapes = {p["name"]: p["shape"] for p in task["parameters"]}
        self.inputs = input_variable(self.input)
        self.model = NETWORKS[task["name"]](task, make_dropout(setup))(self.inputs)
        names = {name.rpartition(".")[0] for name in self.shapes}
        self.layers = {name: layer for name, layer in named(self.model) if name in names}
        for name, layer in self.layers.items():
            from_canonical(name, layer, parameters)
        if "optimiser" in task:
            self.make_trainer(task)

    def make_trainer(self, task):
        self.labels = C.input_variable(self.classes)
        loss = C.cross_entropy_with_softmax(self.model, self.labels)
        self.learner = make_optimiser(task["optimiser"], self.model.parameters)
        self.trainer = C.Trainer(self.model, (loss, None), [self.learner])

    def to_device(self, inputs, labels):
        one_hot = np.eye(self.classes, dtype=np.float32)[labels]
        return {
            self.inputs: self.inputs_to_device(inputs),
            self.labels: C.Value(one_hot, device=self.device),
        }

    def train_step(self, batch):
        self.trainer.train_minibatch(batch)
        return self.trainer.previous_minibatch_loss_average

    def set_learning_rate(self, rate):
        self.learner.reset_learning_rate(schedule(rate))

    def predict(self, inputs):
        logits = self.model.eval({self.inputs: self.inputs_to_device(inputs)})
        return logits.reshape(len(inputs), -1)  # features are (batch, channels, 1, 1)

    def parameters(self):
        found = {}
        for name, layer in self.layers.items():
            found.update(to_canonical(name, layer, self.shapes))
        return {name: np.ascontiguousarray(found[name]) for name in self.shapes}

    def inputs_to_device(self, inputs):
        """CNTK's inputs are floats, also token ids: (batch, time, 1)."""
        values = inputs.astype(np.float32)
        if self.input["kind"] == "tokens":
            values = values[:, :, np.newaxis]
        else:
            values *= np.float32(self.input.get("scale", 1.0))
        return C.Value(values, device=self.device)


def input_variable(described):
    """What a batch is given to: pixels as floats, or a sequence of token ids."""
    if described["kind"] == "tokens":
        return C.sequence.input_variable(1)
    return C.input_variable(tuple(described["shape"]), needs_gradient=False)


def make_dropout(setup):
    """A function from a dropout layer's name to the layer, each with a seed of its own."""
    layers = [layer for layer in setup.task["layers"] if layer["kind"] == "dropout"]
    states = np.random.SeedSequence(setup.seed).generate_state(max(len(layers), 1))
    seeds = {layer["name"]: int(state) for layer, state in zip(layers, states)}

    def dropout(name):
        if not setup.dropout:
            return C.layers.identity
        return C.layers.Dropout(by_name(setup.task)[name]["rate"], seed=seeds[name])

    return dropout


def make_optimiser(described, parameters):
    """`C.learners` as the task describes it; their defaults are something else."""
    # Without IGNORE, rates and momenta are meant for one sample and scaled to the batch's size.
    settings = {"minibatch_size": C.learners.IGNORE}
    rate = schedule(described["learning_rate"])
    if described["kind"] == "sgd":
        # unit_gain would take the gradient times 1 - momentum.
        momentum = momentum_schedule(described["momentum"])
        return C.momentum_sgd(parameters, rate, momentum, unit_gain=False, **settings)
    # The moments are computed with 1 - beta in float32, where 1 - 0.999 is off by 1.3e-5, and their
    # correction in float64. With betas that float32 can hold, both compute with the same numbers.
    beta1, beta2 = (float(np.float32(described[name])) for name in ("beta1", "beta2"))
    return C.adam(
        parameters,
        rate,
        momentum_schedule(beta1),
        variance_momentum=momentum_schedule(beta2),
        epsilon=described["epsilon"],
        unit_gain=True,
        **settings,
    )


def schedule(rate):
    return C.learning_parameter_schedule(rate, minibatch_size=C.learners.IGNORE)


def momentum_schedule(momentum):
    return C.momentum_schedule(momentum, minibatch_size=C.learners.IGNORE)


def named(model):
    """(name, part) of all parts of the network: layers, and a parameter that has none."""
    parts = C.logging.graph.depth_first_search(model, lambda part: bool(part.name))
    return [(part.name, part) for part in parts]


def from_canonical(name, layer, p):
    """Gives CNTK's `layer` of this name its part of the canonical parameters `p`."""
    if name == "gru":
        w, u, bias = (swap_gates(p["gru." + part]) for part in ("weight_ih", "weight_hh", "bias"))
        gates, new = np.split(u, [2 * len(u) // 3])
        values = {"W": w.T, "H": gates.T, "H1": new.T, "b": bias}
    elif name == "embedding":
        layer.value = p["embedding.weight"]
        return
    elif name + ".running_mean" in p:
        values = {theirs: p[name + "." + ours] for ours, theirs in BATCH_NORM.items()}
        values["aggregate_count"] = np.ones(1, np.float32)
    else:
        weight = p[name + ".weight"]
        values = {"W": weight if weight.ndim == 4 else weight.T}
        if name + ".bias" in p:
            values["b"] = p[name + ".bias"]
    for attribute, value in values.items():
        parameter = getattr(layer, attribute)
        parameter.value = np.ascontiguousarray(value).reshape(parameter.shape)


def to_canonical(name, layer, shapes):
    """The inverse of `from_canonical`: canonical name -> values, of these canonical `shapes`."""
    if name == "gru":
        recurrent = np.concatenate([layer.H.value, layer.H1.value], axis=1)
        return {
            "gru.weight_ih": swap_gates(layer.W.value.T),
            "gru.weight_hh": swap_gates(recurrent.T),
            "gru.bias": swap_gates(layer.b.value),
        }
    if name == "embedding":
        return {"embedding.weight": layer.value}
    if name + ".running_mean" in shapes:
        return {name + "." + ours: getattr(layer, own).value for ours, own in BATCH_NORM.items()}
    weight, found = layer.W.value, {}
    if name + ".bias" in shapes:
        found[name + ".bias"] = layer.b.value.ravel()
    if len(shapes[name + ".weight"]) == 2:
        weight = weight.reshape(-1, weight.shape[-1]).T
    found[name + ".weight"] = weight
    return found


def swap_gates(matrix):
    """Rows of the gates reset, update, new in CNTK's order update, reset, new; or back."""
    reset, update, new = np.split(matrix, 3)
    return np.concatenate([update, reset, new])


def _find_device(device):
    """CNTK's own of "cpu", "cuda" (the first GPU) or "cuda:1". ValueError if it isn't there."""
    if device == "cpu":
        return C.device.cpu()
    gpus = [one for one in C.device.all_devices() if one.type() == C.device.DeviceKind.GPU]
    names = ["cuda:%d" % gpu.id() for gpu in gpus]
    name = "cuda:0" if device == "cuda" else device
    if name not in names:
        reason = "this CNTK (%s) sees %s" % (C.__version__, ", ".join(names) or "no CUDA device")
        raise ValueError("device %r is not available: %s" % (device, reason))
    return gpus[names.index(name)]
