"""Keras 2.3 on Theano, CNTK or TensorFlow 1: `Sequential`, `compile`, `train_on_batch`.

The network is the same code on all three. Keras looks for `KERAS_BACKEND` when it is imported, and
Theano for its flags, so `start` imports them: the name `keras` below is there from then on.
"""

import importlib
import os
import platform
import sys

import numpy as np

# The runtime loads this file by its path. Its neighbour is an ordinary module: their folder is put
# at the end of the import path, where it shadows nothing.
sys.path.append(os.path.dirname(os.path.abspath(__file__)))

import keras2_start

TITLES = {"theano": "Theano", "cntk": "CNTK", "tensorflow": "TensorFlow 1"}
# TensorFlow's convolutions on a CPU know no other layout.
LAYOUTS = {"theano": "channels_first", "cntk": "channels_first", "tensorflow": "channels_last"}
chosen = {"variant": ""}


def start(device, threads, variant=""):
    """Import Keras on the backend `variant`; set threads and precision; tell what computes."""
    if variant not in TITLES:
        raise ValueError("no variant %r; there are: %s" % (variant, ", ".join(TITLES)))
    chosen["variant"] = variant
    os.environ["KERAS_BACKEND"] = variant
    versions, disclosures = keras2_start.START[variant](device, threads)
    global keras
    keras = importlib.import_module("keras")
    # Keras's defaults, unless the user's keras.json says otherwise.
    keras.backend.set_floatx("float32")
    keras.backend.set_epsilon(1e-7)
    keras.backend.set_image_data_format(LAYOUTS[variant])
    return {
        "framework": {"name": "Keras 2 (%s)" % TITLES[variant], "version": keras.__version__},
        "versions": {
            "python": platform.python_version(),
            "numpy": np.__version__,
            "keras": keras.__version__,
            **versions,
        },
        "tasks": ["mlp", "cnn", "gru"],
        "forms": {"adam": "hat", "momentum": "inside", "gru": "cudnn"},
        "disclosures": {
            "precision": "float32",
            "layout": LAYOUTS[variant],
            **disclosures,
        },
    }


def build(setup, parameters):
    """The network of `setup.task`, holding `parameters`."""
    keras2_start.begin(chosen["variant"], setup.seed)
    np.random.seed(setup.seed)  # what the dropout layers' own seeds are drawn from
    return Network(setup, parameters)


def mlp(layers, shape, dropout):
    return [
        keras.layers.Dense(
            layers["fc1"]["units"], activation="relu", input_shape=shape, name="fc1"
        ),
        keras.layers.Dense(layers["fc2"]["units"], name="fc2"),
    ]


def cnn(layers, shape, dropout):
    def conv(name, **options):
        filters = layers[name]["filters"]
        return keras.layers.Conv2D(filters, 3, padding="same", name=name, **options)

    def drop(name):
        return keras.layers.Dropout(layers[name]["rate"] if dropout else 0.0, name=name)

    return [
        conv("conv1", activation="relu", input_shape=shape),
        conv("conv2"),
        keras.layers.MaxPooling2D(2),
        keras.layers.Activation("relu"),
        drop("dropout1"),
        conv("conv3", activation="relu"),
        conv("conv4"),
        keras.layers.MaxPooling2D(2),
        keras.layers.Activation("relu"),
        drop("dropout2"),
        keras.layers.Flatten(),  # in the order rows, columns, channels, in either layout
        keras.layers.Dense(layers["fc1"]["units"], activation="relu", name="fc1"),
        drop("dropout3"),
        keras.layers.Dense(layers["fc2"]["units"], name="fc2"),
    ]


def gru(layers, shape, dropout):
    vocabulary, dimension = layers["embedding"]["vocabulary"], layers["embedding"]["dimension"]
    (time,), units = shape, layers["gru"]["units"]
    return [
        keras.layers.Embedding(vocabulary, dimension, input_length=time, name="embedding"),
        # The default is the classic form.
        keras.layers.GRU(units, reset_after=True, recurrent_activation="sigmoid", name="gru"),
        keras.layers.Dense(layers["fc"]["units"], name="fc"),
    ]


LAYERS = {"mlp": mlp, "cnn": cnn, "gru": gru}


class Network:
    def __init__(self, setup, parameters):
        task = setup.task
        self.input, self.names = task["input"], [p["name"] for p in task["parameters"]]
        shape = tuple(self.input["shape"])
        if len(shape) == 3 and LAYOUTS[chosen["variant"]] == "channels_last":
            shape = shape[1:] + shape[:1]
        layers = LAYERS[task["name"]](by_name(task), shape, setup.dropout)
        self.model = keras.Sequential(layers)
        self.flat = flattened_image(self.model)
        for layer in self.with_weights():
            layer.set_weights(from_canonical(layer.name, parameters, self.flat))
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        self.model.compile(make_optimiser(task["optimiser"]), loss)

    def to_device(self, inputs, labels):
        return self.inputs_to_device(inputs), labels  # Keras takes NumPy's arrays

    def train_step(self, batch):
        return float(self.model.train_on_batch(*batch))

    def set_learning_rate(self, rate):
        keras.backend.set_value(self.model.optimizer.learning_rate, rate)

    def predict(self, inputs):
        return self.model.predict_on_batch(self.inputs_to_device(inputs))

    def parameters(self):
        found = {}
        for layer in self.with_weights():
            found.update(to_canonical(layer.name, layer.get_weights(), self.flat))
        return {name: np.array(found[name], np.float32, order="C") for name in self.names}

    def inputs_to_device(self, inputs):
        if self.input["kind"] != "pixels":
            return inputs
        if inputs.ndim == 4 and LAYOUTS[chosen["variant"]] == "channels_last":
            inputs = inputs.transpose(0, 2, 3, 1)
        return inputs.astype(np.float32, order="C") * np.float32(self.input.get("scale", 1.0))

    def with_weights(self):
        return [layer for layer in self.model.layers if layer.weights]


def make_optimiser(described):
    """`keras.optimizers` as the task describes it; its defaults are spelt out where they matter."""
    rate = described["learning_rate"]
    if described["kind"] == "sgd":
        return keras.optimizers.SGD(rate, momentum=described["momentum"], nesterov=False)
    betas = described["beta1"], described["beta2"]
    return mended(keras.optimizers.Adam)(rate, *betas, epsilon=described["epsilon"])


def mended(adam):
    """The class `adam`; on TensorFlow, without a fault that Keras 2.3 has there."""
    if chosen["variant"] != "tensorflow":
        return adam
    import tensorflow as tf

    class Mended(adam):
        def get_updates(self, loss, params):
            # It counts the step and then reads the number of steps before, which in TensorFlow's
            # graph has no order: the first step had the second one's bias correction. Counted
            # last, the number is the one before.
            updates = super().get_updates(loss, params)[1:]
            with tf.control_dependencies(updates):
                return [*updates, keras.backend.update_add(self.iterations, 1)]

    return Mended


def from_canonical(name, p, flat):
    """The weights of the layer `name` in Keras's order and layout; `p` are the canonical ones."""
    if name == "embedding":
        return [p["embedding.weight"]]
    if name == "gru":
        biases = np.stack([p["gru.bias_ih"], p["gru.bias_hh"]], axis=1)
        matrices = p["gru.weight_ih"], p["gru.weight_hh"], biases
        return [swap_gates(matrix).T for matrix in matrices]
    weight, bias = p[name + ".weight"], p[name + ".bias"]
    if weight.ndim == 4:
        return [flipped(weight.transpose(2, 3, 1, 0)), bias]
    if name == "fc1" and flat:
        rows, columns, channels = flat
        weight = weight.reshape(-1, channels, rows, columns).transpose(0, 2, 3, 1)
    return [weight.reshape(len(bias), -1).T, bias]


def to_canonical(name, weights, flat):
    """The inverse of `from_canonical`: canonical name -> values."""
    if name == "embedding":
        return {"embedding.weight": weights[0]}
    if name == "gru":
        weight_ih, weight_hh, biases = (swap_gates(weight.T) for weight in weights)
        return {
            "gru.weight_ih": weight_ih,
            "gru.weight_hh": weight_hh,
            "gru.bias_ih": biases[:, 0],
            "gru.bias_hh": biases[:, 1],
        }
    weight, bias = weights
    if weight.ndim == 4:
        weight = flipped(weight).transpose(3, 2, 0, 1)
    elif name == "fc1" and flat:
        weight = weight.T.reshape(-1, *flat).transpose(0, 3, 1, 2).reshape(len(bias), -1)
    else:
        weight = weight.T
    return {name + ".weight": weight, name + ".bias": bias}


def flipped(kernel):
    """A kernel (rows, columns, in, out) the other way round, where Keras convolves in truth."""
    return kernel[::-1, ::-1] if chosen["variant"] == "theano" else kernel


def swap_gates(matrix):
    """Rows of the gates reset, update, new in Keras's order update, reset, new; or back."""
    first, second, new = np.split(matrix, 3)
    return np.concatenate([second, first, new])


def flattened_image(model):
    """(rows, columns, channels) of what the network flattens, if it does. Canonical is CHW."""
    flattens = [layer for layer in model.layers if isinstance(layer, keras.layers.Flatten)]
    if not flattens:
        return None
    shape = flattens[0].input_shape[1:]
    return shape if LAYOUTS[chosen["variant"]] == "channels_last" else shape[1:] + shape[:1]


def by_name(task):
    """The task's layers by their names."""
    return {layer["name"]: layer for layer in task["layers"]}
