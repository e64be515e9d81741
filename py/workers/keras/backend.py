"""Keras 3 on TensorFlow, JAX or PyTorch: `keras.Sequential`, `compile`, `train_on_batch`.

The network is the same code on all three. Keras looks for `KERAS_BACKEND` when it is imported, and
the threads of TensorFlow and JAX are settled at their import too, so `start` imports them: the name
`keras` below is there from then on.
"""

import importlib
import os
import platform
import sys

import numpy as np

# The runtime loads this file by its path. Its neighbours are ordinary modules: their folder is put
# at the end of the import path, where it shadows nothing.
sys.path.append(os.path.dirname(os.path.abspath(__file__)))

import keras_start

TITLES = {"tensorflow": "TensorFlow", "jax": "JAX", "torch": "PyTorch"}
chosen = {"variant": ""}


def start(device, threads, variant=""):
    """Import Keras on the backend `variant`; set threads and precision; tell what computes."""
    if variant not in TITLES:
        raise ValueError("no variant %r; there are: %s" % (variant, ", ".join(TITLES)))
    chosen["variant"] = variant
    os.environ["KERAS_BACKEND"] = variant
    versions, disclosures = keras_start.START[variant](device, threads)
    global keras
    keras = importlib.import_module("keras")
    # Keras's defaults, unless the user's ~/.keras/keras.json says otherwise.
    keras.config.set_floatx("float32")
    keras.config.set_image_data_format("channels_last")
    compiles = keras.Sequential().jit_compile  # what "auto" comes to here
    return {
        "framework": {"name": "Keras (%s)" % TITLES[variant], "version": keras.__version__},
        "versions": {
            "python": platform.python_version(),
            "numpy": np.__version__,
            "keras": keras.__version__,
            **versions,
        },
        "tasks": ["mlp", "cnn", "gru", "resnet50"],
        "forms": {"adam": "hat", "momentum": "inside", "gru": "cudnn"},
        "disclosures": {
            "precision": "float32, TF32 off",
            "layout": "NHWC (channels_last)",
            "jit_compile": "auto, which is %s here" % compiles,
            **disclosures,
        },
    }


def build(setup, parameters):
    """The network of `setup.task`, holding `parameters`."""
    keras.utils.clear_session()  # lets go of the network before
    keras.utils.set_random_seed(setup.seed)  # what the dropout layers' own seeds are drawn from
    return Network(setup, parameters)


def mlp(layers, shape, dropout):
    return keras.Sequential(
        [
            keras.Input(shape),
            keras.layers.Dense(layers["fc1"]["units"], activation="relu", name="fc1"),
            keras.layers.Dense(layers["fc2"]["units"], name="fc2"),
        ]
    )


def cnn(layers, shape, dropout):
    channels, rows, columns = shape

    def conv(name, **options):
        filters = layers[name]["filters"]
        return keras.layers.Conv2D(filters, 3, padding="same", name=name, **options)

    def drop(name):
        return keras.layers.Dropout(layers[name]["rate"] if dropout else 0.0, name=name)

    return keras.Sequential(
        [
            keras.Input((rows, columns, channels)),
            conv("conv1", activation="relu"),
            conv("conv2"),
            keras.layers.MaxPooling2D(2),
            keras.layers.ReLU(),
            drop("dropout1"),
            conv("conv3", activation="relu"),
            conv("conv4"),
            keras.layers.MaxPooling2D(2),
            keras.layers.ReLU(),
            drop("dropout2"),
            keras.layers.Flatten(),
            keras.layers.Dense(layers["fc1"]["units"], activation="relu", name="fc1"),
            drop("dropout3"),
            keras.layers.Dense(layers["fc2"]["units"], name="fc2"),
        ]
    )


def gru(layers, shape, dropout):
    vocabulary, dimension = layers["embedding"]["vocabulary"], layers["embedding"]["dimension"]
    return keras.Sequential(
        [
            keras.Input(shape, dtype="int32"),
            keras.layers.Embedding(vocabulary, dimension, name="embedding"),
            keras.layers.GRU(layers["gru"]["units"], name="gru"),  # reset_after is the default
            keras.layers.Dense(layers["fc"]["units"], name="fc"),
        ]
    )


def resnet50(layers, shape, dropout):
    from resnet50 import make_resnet50  # not before `start`: it imports Keras

    return make_resnet50(layers, shape)


MODELS = {"mlp": mlp, "cnn": cnn, "gru": gru, "resnet50": resnet50}
NORM = [".weight", ".bias", ".running_mean", ".running_var"]  # of batch norm, in Keras's order


class Network:
    def __init__(self, setup, parameters):
        task = setup.task
        self.input, self.names = task["input"], [p["name"] for p in task["parameters"]]
        model = MODELS[task["name"]]
        self.model = model(by_name(task), self.input["shape"], setup.dropout)
        self.flat = flattened_image(self.model)
        given = {keras_name(name): values for name, values in parameters.items()}
        for layer in self.with_weights():
            layer.set_weights(from_canonical(layer.name, given, self.flat))
        if "optimiser" in task:
            self.compile(task["optimiser"])

    def compile(self, described):
        optimiser = make_optimiser(described)
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        self.model.compile(optimiser, loss)
        optimiser.build(self.model.trainable_variables)  # or the first step does it
        self.variables = self.model.variables + optimiser.variables

    def to_device(self, inputs, labels):
        batch = self.inputs_to_device(inputs), keras.ops.convert_to_tensor(labels)
        synchronise(batch)
        return batch

    def train_step(self, batch):
        loss = self.model.train_on_batch(*batch)
        synchronise(variable.value for variable in self.variables)  # the loss is there before them
        return float(loss)

    def set_learning_rate(self, rate):
        self.model.optimizer.learning_rate = rate  # a variable: nothing is compiled anew

    def predict(self, inputs):
        return self.model.predict_on_batch(self.inputs_to_device(inputs))

    def parameters(self):
        found = {}
        for layer in self.with_weights():
            found.update(to_canonical(layer.name, layer.get_weights(), self.flat))
        return {n: np.array(found[keras_name(n)], np.float32, order="C") for n in self.names}

    def inputs_to_device(self, inputs):
        tensor = keras.ops.convert_to_tensor(inputs)
        if self.input["kind"] != "pixels":
            return tensor
        if inputs.ndim == 4:
            tensor = keras.ops.transpose(tensor, (0, 2, 3, 1))
        return keras.ops.cast(tensor, "float32") * self.input.get("scale", 1.0)

    def with_weights(self):
        return [layer for layer in self.model.layers if layer.weights]


def make_optimiser(described):
    """`keras.optimizers` as the task describes it; its defaults are spelt out where they matter."""
    rate = float(described["learning_rate"])
    if described["kind"] == "sgd":
        sgd = mended(keras.optimizers.SGD)
        return sgd(rate, momentum=float(described["momentum"]), nesterov=False)
    # Keras takes 1 - beta in float64 for the moments and 1 - betaᵗ in float32 for their correction,
    # where 0.999 is another number: steps are up to 1e-5 too short. Rounded before, it is one.
    betas = [float(np.float32(described[name])) for name in ("beta1", "beta2")]
    return mended(keras.optimizers.Adam)(rate, *betas, epsilon=float(described["epsilon"]))


def mended(optimiser):
    """The class `optimiser`; on TensorFlow, without two faults that Keras 3.15 has there."""
    if chosen["variant"] != "tensorflow":
        return optimiser
    import tensorflow as tf

    class Mended(optimiser):
        def apply(self, grads, trainable_variables=None):
            # The gradient of an embedding is a `tf.IndexedSlices`, a slice for each token: a token
            # that is there twice has two. Adam would square them and then add them up, g₁² + g₂²
            # for (g₁ + g₂)². The conversion to a tensor adds them up first.
            grads = [tf.convert_to_tensor(gradient) for gradient in grads]
            return super().apply(grads, trainable_variables)

        def _all_reduce_sum_gradients(self, grads_and_vars):
            # The sum over the replicas of a `tf.distribute` strategy, of which there is one. Its
            # custom gradient stays registered, and with it the step's graph and all variables,
            # when the model is long gone.
            return grads_and_vars

    return Mended


def synchronise(tensors):
    """Return when the device has computed `tensors`."""
    if chosen["variant"] == "jax":
        import jax

        jax.block_until_ready(list(tensors))
    elif chosen["variant"] == "torch":
        import torch

        if torch.cuda.is_initialized():
            torch.cuda.synchronize(os.environ["KERAS_TORCH_DEVICE"])
    else:
        import tensorflow as tf

        tf.test.experimental.sync_devices()


def keras_name(name):
    """Of a canonical parameter, with its layer's name here: layer1_0_conv1.weight."""
    return name.replace(".", "_", name.count(".") - 1)


def from_canonical(name, p, flat):
    """The weights of the layer `name` in Keras's order and layout; `p` are the canonical ones."""
    if name == "embedding":
        return [p["embedding.weight"]]
    if name == "gru":
        biases = np.stack([p["gru.bias_ih"], p["gru.bias_hh"]], axis=1)
        matrices = p["gru.weight_ih"], p["gru.weight_hh"], biases
        return [swap_gates(matrix).T for matrix in matrices]
    if name + ".running_mean" in p:
        return [p[name + suffix] for suffix in NORM]
    weight, bias = p[name + ".weight"], [p[name + ".bias"]] if name + ".bias" in p else []
    if weight.ndim == 4:
        return [weight.transpose(2, 3, 1, 0), *bias]
    if name == "fc1" and flat:
        rows, columns, channels = flat
        weight = weight.reshape(-1, channels, rows, columns).transpose(0, 2, 3, 1)
    return [weight.reshape(len(weight), -1).T, *bias]


def to_canonical(name, weights, flat):
    """The inverse of `from_canonical`: name -> values."""
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
    weight, *others = weights
    if weight.ndim == 4:
        weight = weight.transpose(3, 2, 0, 1)
    elif name == "fc1" and flat:
        weight = weight.T.reshape(-1, *flat).transpose(0, 3, 1, 2).reshape(len(others[0]), -1)
    else:
        weight = weight.T
    return {name + suffix: values for suffix, values in zip(NORM, [weight, *others])}


def swap_gates(matrix):
    """Rows of the gates reset, update, new in Keras's order update, reset, new; or back."""
    first, second, new = np.split(matrix, 3)
    return np.concatenate([second, first, new])


def flattened_image(model):
    """(rows, columns, channels) of what the network flattens, if it does. Canonical is CHW."""
    flattens = [layer for layer in model.layers if isinstance(layer, keras.layers.Flatten)]
    return flattens[0].input.shape[1:] if flattens else None


def by_name(task):
    """The task's layers by their names."""
    return {layer["name"]: layer for layer in task["layers"]}
