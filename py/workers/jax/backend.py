"""JAX with Flax NNX and optax: `nnx.Module`, one `jax.jit` for the whole training step."""

import os
import platform
import sys
from functools import partial
from operator import attrgetter

import flax
import jax
import jax.numpy as jnp
import jaxlib
import numpy as np
import optax
from flax import nnx

# The runtime loads this file by its path. Its neighbour is an ordinary module: their folder is put
# at the end of the import path, where it shadows nothing.
sys.path.append(os.path.dirname(os.path.abspath(__file__)))

from resnet50 import ResNet50


def start(device, threads):
    """Set the threads and the precision before XLA's first use, and tell what computes."""
    os.environ["NPROC"] = str(threads)  # the size of XLA's pools: read when it makes them
    if device == "cpu":
        jax.config.update("jax_platforms", "cpu")
        # Otherwise another thread still frees a step's memory when the step's results are ready.
        jax.config.update("jax_cpu_enable_async_dispatch", False)
    else:
        # XLA takes three quarters of the GPU's memory unless told not to: others live there too.
        os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    jax.config.update("jax_default_device", _find_device(device))
    jax.config.update("jax_default_matmul_precision", "highest")  # of convolutions too: no TF32
    return {
        "framework": {"name": "JAX", "version": jax.__version__},
        "versions": {
            "python": platform.python_version(),
            "numpy": np.__version__,
            "jax": jax.__version__,
            "jaxlib": jaxlib.__version__,
            "flax": flax.__version__,
            "optax": optax.__version__,
        },
        "tasks": ["mlp", "cnn", "gru", "resnet50"],
        "forms": {"adam": "torch", "gru": "cudnn"},
        "disclosures": {
            "precision": "float32, matmul precision 'highest' (TF32 off)",
            "layout": "NHWC, kernels HWIO",
            "mode": "jax.jit of the whole step, parameters and optimiser state donated",
            "gru": "lax.scan over the time steps, a cell with two bias vectors",
            "dropout": "masks from the threefry generator",
            **_kernels(device),
        },
    }


def build(setup, parameters):
    """The network of `setup.task`, holding `parameters`."""
    jax.clear_caches()  # of the network before this one: its programs, and with them its arrays
    return Network(setup, parameters)


class Mlp(nnx.Module):
    def __init__(self, task, rngs):
        (inputs,), layers = task["input"]["shape"], by_name(task)
        self.fc1 = nnx.Linear(inputs, layers["fc1"]["units"], rngs=rngs)
        self.fc2 = nnx.Linear(layers["fc1"]["units"], layers["fc2"]["units"], rngs=rngs)

    def __call__(self, x):
        return self.fc2(nnx.relu(self.fc1(x)))


class Cnn(nnx.Module):
    def __init__(self, task, rngs):
        (channels, rows, columns), layers = task["input"]["shape"], by_name(task)
        c1, c2, c3, c4 = (layers["conv%d" % i]["filters"] for i in (1, 2, 3, 4))
        hidden, classes = layers["fc1"]["units"], layers["fc2"]["units"]
        self.conv1 = nnx.Conv(channels, c1, (3, 3), padding="SAME", rngs=rngs)
        self.conv2 = nnx.Conv(c1, c2, (3, 3), padding="SAME", rngs=rngs)
        self.conv3 = nnx.Conv(c2, c3, (3, 3), padding="SAME", rngs=rngs)
        self.conv4 = nnx.Conv(c3, c4, (3, 3), padding="SAME", rngs=rngs)
        self.flattened = (rows // 4, columns // 4, c4)
        self.fc1 = nnx.Linear(c4 * (rows // 4) * (columns // 4), hidden, rngs=rngs)
        self.fc2 = nnx.Linear(hidden, classes, rngs=rngs)
        self.dropout1 = nnx.Dropout(layers["dropout1"]["rate"], rngs=rngs)
        self.dropout2 = nnx.Dropout(layers["dropout2"]["rate"], rngs=rngs)
        self.dropout3 = nnx.Dropout(layers["dropout3"]["rate"], rngs=rngs)

    def __call__(self, x):
        x = nnx.relu(self.conv1(x))
        x = self.dropout1(nnx.relu(nnx.max_pool(self.conv2(x), (2, 2), strides=(2, 2))))
        x = nnx.relu(self.conv3(x))
        x = self.dropout2(nnx.relu(nnx.max_pool(self.conv4(x), (2, 2), strides=(2, 2))))
        x = self.dropout3(nnx.relu(self.fc1(x.reshape(len(x), -1))))
        return self.fc2(x)


class GruCell(nnx.Module):
    """One time step in cuDNN's form: with a bias on the state's side, which `nnx.GRUCell` lacks."""

    def __init__(self, features, units, rngs):
        self.ih = nnx.Linear(features, 3 * units, rngs=rngs)
        self.hh = nnx.Linear(units, 3 * units, rngs=rngs)

    def __call__(self, h, x):
        reset_x, update_x, new_x = jnp.split(self.ih(x), 3, axis=-1)
        reset_h, update_h, new_h = jnp.split(self.hh(h), 3, axis=-1)
        reset = nnx.sigmoid(reset_x + reset_h)
        update = nnx.sigmoid(update_x + update_h)
        new = nnx.tanh(new_x + reset * new_h)
        return (1 - update) * new + update * h


class Gru(nnx.Module):
    def __init__(self, task, rngs):
        layers = by_name(task)
        vocabulary, dimension = layers["embedding"]["vocabulary"], layers["embedding"]["dimension"]
        self.units = layers["gru"]["units"]
        self.embedding = nnx.Embed(vocabulary, dimension, rngs=rngs)
        self.gru = GruCell(dimension, self.units, rngs)
        self.fc = nnx.Linear(self.units, layers["fc"]["units"], rngs=rngs)

    def __call__(self, tokens):
        inputs = self.embedding(tokens.T)  # (time, batch, dimension): scan goes along the first
        h = jnp.zeros((len(tokens), self.units))
        h, _ = jax.lax.scan(lambda h, x: (self.gru(h, x), None), h, inputs)
        return self.fc(h)


MODULES = {"mlp": Mlp, "cnn": Cnn, "gru": Gru, "resnet50": ResNet50}

# Canonical name -> Flax's path, where it isn't told by the kind of the layer.
PATHS = {
    "embedding.weight": "embedding.embedding",
    "gru.weight_ih": "gru.ih.kernel",
    "gru.weight_hh": "gru.hh.kernel",
    "gru.bias_ih": "gru.ih.bias",
    "gru.bias_hh": "gru.hh.bias",
}
NORM_NAMES = {"weight": "scale", "running_mean": "mean", "running_var": "var"}  # of batch norm


@partial(jax.jit, donate_argnames="state")
def train_step(graphdef, state, inputs, labels):
    """Forward, loss, backward, update: (the new state, the loss before)."""
    model, optimiser = nnx.merge(graphdef, state)

    def mean_loss(model):
        logits = model(inputs)
        return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()

    loss, gradients = nnx.value_and_grad(mean_loss)(model)
    optimiser.update(model, gradients)
    return nnx.state((model, optimiser)), loss


@jax.jit
def predict(graphdef, state, inputs):
    """Logits or features: dropout off, batch norm with its running statistics."""
    model, _ = nnx.merge(graphdef, state)
    model.eval()
    return model(inputs)


@partial(jax.jit, static_argnames="scale")
def to_floats(pixels, scale):
    """float32, and images NCHW → NHWC."""
    if pixels.ndim == 4:
        pixels = pixels.transpose(0, 2, 3, 1)
    return pixels.astype(jnp.float32) * scale


def make(setup, parameters):
    """Model and optimiser (None where nothing is trained), with copies of `parameters`."""
    model = MODULES[setup.task["name"]](setup.task, nnx.Rngs(setup.seed))
    for name, values in parameters.items():
        variable(model, name)[...] = jnp.array(from_canonical(model, name, values))
    if not setup.dropout:
        model = nnx.view(model, deterministic=True, raise_if_not_found=False)
    if "optimiser" not in setup.task:
        return model, None
    return model, nnx.Optimizer(model, make_optimiser(setup.task["optimiser"]), wrt=nnx.Param)


class Network:
    def __init__(self, setup, parameters):
        self.pixels = setup.task["input"]["kind"] == "pixels"
        self.scale = setup.task["input"].get("scale", 1.0)
        self.names = list(parameters)
        # As one program, from which XLA leaves out the random values that are overwritten.
        model, optimiser = nnx.jit(partial(make, setup))(parameters)
        # Flax's "functional training loop": what is static and what changes, apart, so that no
        # step has to walk through the modules' attributes in Python.
        self.graphdef, self.state = nnx.split((model, optimiser))

    def to_device(self, inputs, labels):
        return jax.block_until_ready((self.inputs_to_device(inputs), jax.device_put(labels)))

    def train_step(self, batch):
        self.state, loss = train_step(self.graphdef, self.state, *batch)
        jax.block_until_ready((self.state, loss))  # the loss alone is there before the update is
        return float(loss)

    def set_learning_rate(self, rate):
        _, optimiser = nnx.merge(self.graphdef, self.state)
        optimiser.opt_state.hyperparams["learning_rate"][...] = rate
        self.state[1] = nnx.state(optimiser)

    def predict(self, inputs):
        return np.array(predict(self.graphdef, self.state, self.inputs_to_device(inputs)))

    def parameters(self):
        model, _ = nnx.merge(self.graphdef, self.state)
        return {
            name: to_canonical(model, name, np.asarray(variable(model, name)[...]))
            for name in self.names
        }

    def inputs_to_device(self, inputs):
        # On the CPU `device_put` may keep NumPy's memory, which is the message's own: that is safe,
        # as nothing that outlives the answer to the message is a view of it.
        inputs = jax.device_put(inputs)
        return to_floats(inputs, self.scale) if self.pixels else inputs


def make_optimiser(described):
    """optax as the task describes it, with hyper-parameters that are part of its state: arrays,
    whose values can change without compiling anew.

    It also makes Adam exact: of Python floats optax takes 1 - beta2 in float64 for the moment and
    1 - beta2**t in float32 for its correction, which differ by 1.3e-5; of arrays both in float32.
    """
    rate = described["learning_rate"]
    if described["kind"] == "sgd":
        sgd = optax.inject_hyperparams(optax.sgd)
        return sgd(rate, momentum=described["momentum"], nesterov=False)
    adam = optax.inject_hyperparams(optax.adam)
    return adam(rate, described["beta1"], described["beta2"], described["epsilon"])


def variable(model, name):
    """The `nnx.Variable` of the canonical parameter `name`."""
    path, _, kind = PATHS.get(name, name).rpartition(".")
    layer = attrgetter(path)(model)
    names = NORM_NAMES if isinstance(layer, nnx.BatchNorm) else {"weight": "kernel"}
    return getattr(layer, names.get(kind, kind))


def from_canonical(model, name, values):
    """Canonical layout → Flax's: OIHW → HWIO, (out, in) → (in, out), CHW → HWC before a flatten."""
    if name == "embedding.weight" or values.ndim == 1:
        return values
    if values.ndim == 4:
        return values.transpose(2, 3, 1, 0)
    if name == "fc1.weight" and isinstance(model, Cnn):
        rows, columns, channels = model.flattened
        values = values.reshape(-1, channels, rows, columns).transpose(0, 2, 3, 1)
    return values.reshape(len(values), -1).T


def to_canonical(model, name, values):
    """The other way round, as a C-contiguous copy."""
    if name == "embedding.weight" or values.ndim == 1:
        return values.copy()
    if values.ndim == 4:
        return values.transpose(3, 2, 0, 1).copy()
    values = values.T
    if name == "fc1.weight" and isinstance(model, Cnn):
        values = values.reshape(-1, *model.flattened).transpose(0, 3, 1, 2)
    return values.reshape(len(values), -1).copy()


def by_name(task):
    """The task's layers by their names."""
    return {layer["name"]: layer for layer in task["layers"]}


def _find_device(device):
    """JAX's own of "cpu", "cuda" (the first GPU) or "cuda:1". ValueError if it isn't there."""
    if device == "cpu":
        return jax.devices("cpu")[0]
    try:
        gpus = jax.devices("cuda")
    except RuntimeError:  # no such platform
        gpus = []
    names = ["cuda:%d" % number for number in range(len(gpus))]
    name = "cuda:0" if device == "cuda" else device
    if name not in names:
        reason = "this JAX (%s) sees %s" % (jax.__version__, ", ".join(names) or "no CUDA device")
        raise ValueError("device %r is not available: %s" % (device, reason))
    return gpus[names.index(name)]


def _kernels(device):
    if device != "cpu":
        return {"gpu memory": "not preallocated"}
    return {"cpu kernels": "XLA for this processor; its YNNPACK for products and convolutions"}
