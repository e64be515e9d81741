"""TensorFlow 2: `tf.keras.layers`, and a training step of one's own under `tf.function`."""

import os
import platform
import sys

# TensorFlow reads these when it is imported. 1 leaves out what its libraries tell of themselves,
# and keeps warnings. Keras would take another backend if the user's keras.json names one.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")
os.environ["KERAS_BACKEND"] = "tensorflow"

import numpy as np
import tensorflow as tf
from tensorflow.keras import layers
from tensorflow.python.framework import ops  # private: see free_networks
from tensorflow.python.util import _pywrap_util_port  # private: nothing else tells of oneDNN

# The runtime loads this file by its path. Its neighbours are ordinary modules: their folder is put
# at the end of the import path, where it shadows nothing.
sys.path.append(os.path.dirname(os.path.abspath(__file__)))

from keras_layouts import from_canonical, to_canonical
from resnet50 import make_resnet50

MODES = {"": "tf.function", "eager": "eager", "jit_compile": "tf.function, jit_compile=True (XLA)"}
chosen = {"variant": ""}


def start(device, threads, variant=""):
    """Set the threads, the device and the precision, and tell what computes."""
    if variant not in MODES:
        raise ValueError("no variant %r; there are: %s" % (variant, ", ".join(filter(None, MODES))))
    chosen["variant"] = variant
    gpus = _find_device(device)
    tf.config.set_visible_devices(gpus, "GPU")  # the first that is visible is the default device
    for gpu in gpus:
        tf.config.experimental.set_memory_growth(gpu, True)  # not all of it: others live there too
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    tf.config.experimental.enable_tensor_float_32_execution(False)
    tf.config.run_functions_eagerly(variant == "eager")
    tf.keras.backend.set_floatx("float32")  # these two may be set otherwise in a keras.json
    tf.keras.backend.set_image_data_format("channels_last")
    build_info = tf.sysconfig.get_build_info()
    return {
        "framework": {"name": "TensorFlow", "version": tf.__version__},
        "versions": {
            "python": platform.python_version(),
            "numpy": np.__version__,
            "tensorflow": tf.__version__,
            "keras": tf.keras.__version__,
            "cuda": build_info.get("cuda_version", "none"),
            "cudnn": build_info.get("cudnn_version", "none"),
        },
        "tasks": ["mlp", "cnn", "gru", "resnet50"],
        "forms": {"adam": "hat", "momentum": "inside", "gru": "cudnn"},
        "disclosures": {
            "precision": "float32, TF32 off",
            "layout": "NHWC",
            "mode": MODES[variant],
            "onednn": "on" if _pywrap_util_port.IsMklEnabled() else "off",
            "gru": "cuDNN" if _has_cudnn(device) else "Keras's loop over the time steps",
        },
    }


def build(setup, parameters):
    """The network of `setup.task`, holding `parameters`."""
    free_networks()
    tf.keras.utils.set_random_seed(setup.seed)
    return Network(setup, parameters)


def free_networks():
    """Free what the network before this one has left.

    A traced step is kept for ever, with its variables: Keras's optimisers sum their gradients over
    the replicas by a `tf.custom_gradient`, which TensorFlow registers and never forgets (issues
    92094 and 97697). The entries are looked up while a gradient is traced, and not afterwards.
    """
    registered = ops.gradient_registry._registry
    for name in [name for name in registered if name.startswith("CustomGradient-")]:
        del registered[name]
    tf.keras.backend.clear_session()  # collects the garbage, too


def make_mlp(setup):
    layer = by_name(setup.task)
    return tf.keras.Sequential(
        [
            layers.Input(setup.task["input"]["shape"]),
            layers.Dense(layer["fc1"]["units"], activation="relu", name="fc1"),
            layers.Dense(layer["fc2"]["units"], name="fc2"),
        ]
    )


def make_cnn(setup):
    (channels, rows, columns), layer = setup.task["input"]["shape"], by_name(setup.task)

    def conv(name, activation=None):
        filters = layer[name]["filters"]
        return layers.Conv2D(filters, 3, padding="same", activation=activation, name=name)

    def dropout(name):
        return layers.Dropout(layer[name]["rate"] if setup.dropout else 0.0, name=name)

    return tf.keras.Sequential(
        [
            layers.Input((rows, columns, channels)),
            conv("conv1", "relu"),
            conv("conv2"),
            layers.MaxPooling2D(2),
            layers.ReLU(),
            dropout("dropout1"),
            conv("conv3", "relu"),
            conv("conv4"),
            layers.MaxPooling2D(2),
            layers.ReLU(),
            dropout("dropout2"),
            layers.Flatten(name="flatten"),
            layers.Dense(layer["fc1"]["units"], activation="relu", name="fc1"),
            dropout("dropout3"),
            layers.Dense(layer["fc2"]["units"], name="fc2"),
        ]
    )


def make_gru(setup):
    layer = by_name(setup.task)
    vocabulary, dimension = layer["embedding"]["vocabulary"], layer["embedding"]["dimension"]
    # use_cudnn="auto" would fall back silently to the loop; this says which it is, or fails.
    return tf.keras.Sequential(
        [
            layers.Input(setup.task["input"]["shape"], dtype="int32"),
            layers.Embedding(vocabulary, dimension, name="embedding"),
            layers.GRU(layer["gru"]["units"], use_cudnn=_has_cudnn(setup.device), name="gru"),
            layers.Dense(layer["fc"]["units"], name="fc"),
        ]
    )


MODELS = {"mlp": make_mlp, "cnn": make_cnn, "gru": make_gru, "resnet50": make_resnet50}


class Network:
    def __init__(self, setup, parameters):
        self.gpu = setup.device != "cpu"
        self.pixels = setup.task["input"]["kind"] == "pixels"
        self.scale = setup.task["input"].get("scale", 1.0)
        self.names = [parameter["name"] for parameter in setup.task["parameters"]]
        self.model = MODELS[setup.task["name"]](setup)
        for layer in self.model.layers:
            if layer.weights:
                own = [parameters[name] for name in self.names_of(layer)]
                layer.set_weights(from_canonical(self.model, layer, own))
        self.forward = make_predict(self.model)
        if "optimiser" in setup.task:
            self.optimiser = make_optimiser(setup.task["optimiser"])
            self.optimiser.build(self.model.trainable_variables)
            self.step = make_train_step(self.model, self.optimiser)

    def to_device(self, inputs, labels):
        return self.inputs_to_device(inputs), tf.constant(labels)

    def train_step(self, batch):
        loss = self.step(*batch)
        if self.gpu:
            tf.test.experimental.sync_devices()
        return float(loss)

    def set_learning_rate(self, rate):
        self.optimiser.learning_rate.assign(rate)

    def predict(self, inputs):
        return self.forward(self.inputs_to_device(inputs)).numpy()

    def parameters(self):
        found = {}
        for layer in self.model.layers:
            if layer.weights:
                values = to_canonical(self.model, layer, layer.get_weights())
                found.update(zip(self.names_of(layer), values))
        return {name: np.ascontiguousarray(found[name]) for name in self.names}

    def names_of(self, layer):
        """The canonical names of a layer's parameters, in the order of its weights."""
        return [name for name in self.names if name.startswith(layer.name + ".")]

    def inputs_to_device(self, inputs):
        tensor = tf.constant(inputs)
        if inputs.ndim == 4:
            tensor = tf.transpose(tensor, [0, 2, 3, 1])  # NCHW -> NHWC, still bytes
        return tf.cast(tensor, tf.float32) * self.scale if self.pixels else tensor


def make_train_step(model, optimiser):
    @tf.function(input_signature=open_batches(model, labels=True), jit_compile=_uses_xla())
    def step(inputs, labels):
        with tf.GradientTape() as tape:
            logits = model(inputs, training=True)
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
            loss = tf.reduce_mean(losses)
        gradients = tape.gradient(loss, model.trainable_variables)
        # An embedding's gradient comes as IndexedSlices, with a slice for each token. Keras's Adam
        # squares them before it adds up those of equal tokens: a dense gradient has them added.
        gradients = [tf.convert_to_tensor(gradient) for gradient in gradients]
        optimiser.apply_gradients(zip(gradients, model.trainable_variables))
        return loss

    return step


def make_predict(model):
    @tf.function(input_signature=open_batches(model, labels=False), jit_compile=_uses_xla())
    def forward(inputs):
        return model(inputs, training=False)

    return forward


def open_batches(model, labels):
    """A signature with any number of samples, so that a smaller last batch isn't traced anew.

    None, hence a trace for each number, where there is a loop over time steps: knowing the number
    it takes 8 % less.
    """
    (inputs,) = model.inputs
    if inputs.dtype != "float32":
        return None
    signature = [tf.TensorSpec(inputs.shape, tf.float32)]
    return [*signature, tf.TensorSpec([None], tf.int32)] if labels else signature


def make_optimiser(described):
    """Keras's own, as the task describes it; its defaults are spelt out where they matter."""
    rate = described["learning_rate"]
    if described["kind"] == "sgd":
        return tf.keras.optimizers.SGD(rate, momentum=described["momentum"], nesterov=False)
    # Keras takes 1 - beta in double precision and 1 - beta ** t in single, where 0.999 isn't 0.999:
    # the first steps come out 1e-5 too short. Betas that single precision can hold agree.
    betas = [float(np.float32(described[beta])) for beta in ("beta1", "beta2")]
    return tf.keras.optimizers.Adam(rate, *betas, epsilon=described["epsilon"])  # not Keras's 1e-7


def by_name(task):
    """The task's layers by their names."""
    return {layer["name"]: layer for layer in task["layers"]}


def _find_device(device):
    """The GPU "cuda" (the first) or "cuda:1" in a list; none for "cpu". ValueError if not there."""
    if device == "cpu":
        return []
    gpus = tf.config.list_physical_devices("GPU")
    names = ["cuda:%d" % number for number in range(len(gpus))]
    name = "cuda:0" if device == "cuda" else device
    if name not in names:
        seen = ", ".join(names) or "no CUDA device"
        reason = "this TensorFlow (%s) sees %s" % (tf.__version__, seen)
        raise ValueError("device %r is not available: %s" % (device, reason))
    return [gpus[names.index(name)]]


def _uses_xla():
    """Whether XLA compiles every tf.function of `build`."""
    return chosen["variant"] == "jit_compile"


def _has_cudnn(device):
    """Whether a GRU can be cuDNN's, which XLA can't compile."""
    return device != "cpu" and not _uses_xla()
