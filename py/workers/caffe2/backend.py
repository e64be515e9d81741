"""Caffe2: a net that trains and one that predicts, on the same parameter blobs of one workspace."""

import os
import platform
import sys

import numpy as np
from caffe2.proto import caffe2_pb2
from caffe2.python import brew, core, model_helper, optimizer, workspace
from caffe2.python.gru_cell import GRU
from caffe2.python.modeling.initializers import Initializer

# The runtime loads this file by its path; its neighbours are looked for here, after all else.
sys.path.append(os.path.dirname(os.path.abspath(__file__)))

from caffe2_blas import blas
from resnet50 import norm_blob, resnet50


def start(device, threads, variant=""):
    """Set the threads and the logging, and tell what computes."""
    if variant not in ("", "avx2"):
        raise ValueError("no variant %r; there are: avx2" % variant)
    _find_device(device)
    if variant == "avx2":
        os.environ["MKL_DEBUG_CPU_TYPE"] = "5"  # read at the first product
    core.GlobalInit(
        [
            "caffe2",
            "--caffe2_omp_num_threads=%d" % threads,
            "--caffe2_mkl_num_threads=%d" % threads,
            "--pthreadpool_size=%d" % threads,
            # The one on a CPU has four threads for each recurrent layer, whatever was said above.
            "--caffe2_rnn_executor=%d" % (device != "cpu"),
            # Fatal errors only. One level lower it complains at each start that it was compiled
            # without AVX, and of a failing operator it says no more than the exception does.
            "--caffe2_log_level=3",
        ]
    )
    options = workspace.C.get_build_options()
    return {
        "framework": {"name": "Caffe2", "version": options["TORCH_VERSION"]},
        "versions": {
            "python": platform.python_version(),
            "numpy": np.__version__,
            "torch (the wheel)": options["TORCH_VERSION"],
            "cuda": options["CUDA_VERSION"],
            "cudnn": options["CUDNN_VERSION"],
        },
        "tasks": ["mlp", "cnn", "gru", "resnet50"],
        "forms": {"adam": "hat", "momentum": "inside", "gru": "cudnn"},
        "disclosures": {
            "precision": "float32",
            "layout": "NCHW",
            "mode": "static graph, net type simple: one operator after the other",
            "cpu kernels": "convolutions by im2col and MKL; compiled without AVX",
            **blas(),
            "gru": "RecurrentNetwork: a net of 11 operators, run once a time step",
            "adam": "build_adam, its counter moved behind the update: it starts at step 1, not 2",
        },
    }


def build(setup, parameters):
    """The network of `setup.task`, holding `parameters`."""
    return Network(setup, parameters)


def mlp(model, task, training):
    (inputs,), layers = task["input"]["shape"], by_name(task)
    hidden, classes = layers["fc1"]["units"], layers["fc2"]["units"]
    x = scaled_pixels(model, task)
    x = brew.fc(model, x, "fc1", inputs, hidden)
    x = brew.relu(model, x, x)
    return brew.fc(model, x, "fc2", hidden, classes)


def cnn(model, task, training):
    (channels, rows, columns), layers = task["input"]["shape"], by_name(task)
    c1, c2, c3, c4 = (layers["conv%d" % i]["filters"] for i in (1, 2, 3, 4))
    hidden, classes = layers["fc1"]["units"], layers["fc2"]["units"]
    rates = [layers["dropout%d" % i]["rate"] for i in (1, 2, 3)]
    x = scaled_pixels(model, task)
    # The gradient of the pixels isn't wanted, and a convolution computes it unless told.
    x = brew.conv(model, x, "conv1", channels, c1, kernel=3, pad=1, no_gradient_to_input=True)
    x = brew.relu(model, x, x)
    x = brew.conv(model, x, "conv2", c1, c2, kernel=3, pad=1)
    x = brew.max_pool(model, x, "pool1", kernel=2, stride=2)
    x = brew.relu(model, x, "relu2")  # not in place: max-pooling's gradient needs its output
    x = brew.dropout(model, x, "dropout1", ratio=rates[0])
    x = brew.conv(model, x, "conv3", c2, c3, kernel=3, pad=1)
    x = brew.relu(model, x, x)
    x = brew.conv(model, x, "conv4", c3, c4, kernel=3, pad=1)
    x = brew.max_pool(model, x, "pool2", kernel=2, stride=2)
    x = brew.relu(model, x, "relu4")
    x = brew.dropout(model, x, "dropout2", ratio=rates[1])
    x = brew.fc(model, x, "fc1", c4 * (rows // 4) * (columns // 4), hidden)
    x = brew.relu(model, x, x)
    x = brew.dropout(model, x, "dropout3", ratio=rates[2])
    return brew.fc(model, x, "fc2", hidden, classes)


def gru(model, task, training):
    (time,), layers = task["input"]["shape"], by_name(task)
    vocabulary, dimension = layers["embedding"]["vocabulary"], layers["embedding"]["dimension"]
    units, classes = layers["gru"]["units"], layers["fc"]["units"]
    # (batch, time) to (time, batch), the order of Caffe2's recurrent layers, then to one axis:
    # a dense gradient is only computed for look-ups in one axis. A sparse one would leave the
    # rows that a batch doesn't touch out of Adam's update.
    tokens = model.net.Transpose(inputs_of(model), "tokens")
    tokens = model.net.FlattenToVec(tokens, "flat_tokens")
    table = model.create_param("embedding_w", [vocabulary, dimension], Initializer("ConstantFill"))
    x = model.net.Gather([table, tokens], "looked_up", dense_gradient=True)
    x, _ = model.net.Reshape(x, ["embedded", "_embedded"], shape=[time, -1, dimension])
    _, last = GRU(
        model,
        x,
        None,  # all sequences have the same length
        [initial_state_of(model)],
        dimension,
        units,
        "gru",
        outputs_with_grads=(1,),  # the last output, not that of all time steps
        linear_before_reset=True,  # as in cuDNN; Caffe2's default is the classic form
        forward_only=not training,
    )
    last = model.net.Squeeze(last, "gru/last", dims=[0])
    return brew.fc(model, last, "fc", units, classes)


MODELS = {"mlp": mlp, "cnn": cnn, "gru": gru}
MODELS["resnet50"] = lambda model, task, training: resnet50(model, task, inputs_of(model))

# Canonical name -> Caffe2's blobs, which are its parts along the first axis, where it isn't a
# layer's `_w` or `_b`. All gates' products with the input are one matrix, those with the state not.
GATES = ["reset", "update", "output"]
BLOBS = {
    "gru.weight_ih": ["gru/i2h_w"],
    "gru.weight_hh": ["gru/%s_gate_t_w" % gate for gate in GATES],
    "gru.bias_ih": ["gru/i2h_b"],
    "gru.bias_hh": ["gru/%s_gate_t_b" % gate for gate in GATES],
}


class Network:
    """Two nets in Caffe2's workspace, which is one for the whole process."""

    def __init__(self, setup, parameters):
        workspace.ResetWorkspace()  # frees the nets and blobs of the task before
        self.device = _find_device(setup.device)
        self.names = list(parameters)
        task = setup.task
        self.state_size = by_name(task)["gru"]["units"] if task["name"] == "gru" else None
        trains = "optimiser" in task
        self.predictor = model_helper.ModelHelper(name="predict", init_params=False)
        models = [self.predictor]
        with core.DeviceScope(self.device):
            if trains:
                self.trainer = make_trainer(setup)
                models.append(self.trainer)
            with brew.arg_scope([brew.dropout], is_test=True):
                self.logits = MODELS[task["name"]](self.predictor, task, training=False)
        for model in models:
            workspace.RunNetOnce(model.param_init_net)  # the optimiser's state, random weights
        for name, values in parameters.items():
            blobs = blobs_of(name)
            for blob, part in zip(blobs, np.split(values, len(blobs))):
                self.feed(blob, part)
        if trains:
            self.set_learning_rate(task["optimiser"]["learning_rate"])
        for model in models:
            fed = [inputs_of(model), initial_state_of(model), "labels"]
            workspace.CreateNet(model.net, input_blobs=fed)

    def to_device(self, inputs, labels):
        self.feed_inputs(self.trainer, inputs)
        self.feed("labels", labels)  # the batch lies in the workspace, where the net looks for it

    def train_step(self, batch):
        workspace.RunNet(self.trainer.net)  # a simple net waits for each operator, on a GPU too
        return float(workspace.FetchBlob("loss"))

    def set_learning_rate(self, rate):
        optimizer.set_lr_injection(rate)

    def predict(self, inputs):
        self.feed_inputs(self.predictor, inputs)
        workspace.RunNet(self.predictor.net)
        return workspace.FetchBlob(self.logits)

    def parameters(self):
        return {
            name: np.concatenate([workspace.FetchBlob(blob) for blob in blobs_of(name)])
            for name in self.names
        }

    def feed_inputs(self, model, inputs):
        self.feed(inputs_of(model), inputs)
        if self.state_size is not None:
            state = np.zeros((1, len(inputs), self.state_size), np.float32)
            self.feed(initial_state_of(model), state)

    def feed(self, blob, values):
        workspace.FeedBlob(blob, values, device_option=self.device)


def inputs_of(model):
    """Name of the blob that `model` reads its inputs from: each has its own."""
    return model.name + "_inputs"


def initial_state_of(model):
    """Name of the blob with the GRU's initial state (1, batch, units)."""
    return model.name + "_initial_state"


def scaled_pixels(model, task):
    """The bytes of the pixels as they were fed, to float32 times the task's scale."""
    x = model.net.Cast(inputs_of(model), "pixels", to=core.DataType.FLOAT)
    x = model.net.Scale(x, x, scale=task["input"].get("scale", 1.0))
    return model.net.StopGradient(x, x)


def seed_dropout(net, seed):
    """Gives each dropout layer random numbers of its own.

    With one seed for all of them they would draw the same numbers; without any, others each time.
    """
    layers = [op for op in net.Proto().op if op.type == "Dropout"]
    states = np.random.SeedSequence(seed).generate_state(len(layers))
    for op, state in zip(layers, states):
        op.device_option.random_seed = int(state)


def make_trainer(setup):
    """The net of a step: forward, loss, backward, update. It waits to be created."""
    model = model_helper.ModelHelper(name="train")
    with brew.arg_scope([brew.dropout], is_test=not setup.dropout):
        logits = MODELS[setup.task["name"]](model, setup.task, training=True)
    seed_dropout(model.net, setup.seed)
    _, loss = model.net.SoftmaxWithLoss([logits, "labels"], ["softmax", "loss"])
    model.AddGradientOperators([loss])
    make_optimiser(model, setup.task["optimiser"])
    return model


def make_optimiser(model, described):
    """Adds the update of the parameters to the net.

    The learning rate is 1 times what `set_lr_injection` sets: Caffe2's way to change it later.
    """
    common = {"base_learning_rate": 1.0, "allow_lr_injection": True}
    if described["kind"] == "sgd":
        # Nesterov's is the default. The learning rate is part of the velocity: the form `inside`.
        optimizer.build_sgd(model, momentum=described["momentum"], nesterov=False, **common)
        return
    coefficients = {name: described[name] for name in ("beta1", "beta2", "epsilon")}
    optimizer.build_adam(model, **coefficients, **common)
    count_after_the_update(model.net)


def count_after_the_update(net):
    """Moves the counter of steps to the end of the net.

    `build_adam` counts before the update, and Adam counts from 0: Caffe2's first step is one with
    the bias correction of the second, 0.744 times as long.
    """
    ops = net.Proto().op
    (position,) = (i for i, op in enumerate(ops) if op.type == "AtomicIter")
    ops.append(ops.pop(position))


def blobs_of(name):
    """Caffe2's names for the parts of the parameter `name`."""
    if name in BLOBS:
        return BLOBS[name]
    layer, kind = name.rsplit(".", 1)
    return [norm_blob(layer, kind) or layer + {"weight": "_w", "bias": "_b"}[kind]]


def by_name(task):
    """The task's layers by their names."""
    return {layer["name"]: layer for layer in task["layers"]}


def _find_device(device):
    """Caffe2's own of "cpu", "cuda" (the first GPU) or "cuda:1". ValueError if it isn't there."""
    if device == "cpu":
        return core.DeviceOption(caffe2_pb2.CPU)
    names, reason = ["cuda:%d" % number for number in range(workspace.NumGpuDevices())], ""
    name = "cuda:0" if device == "cuda" else device
    if name not in names:
        reason = "this Caffe2 sees %s" % (", ".join(names) or "no CUDA device")
    elif workspace.GetDeviceProperties(names.index(name))["major"] > 7:
        reason = "this Caffe2 (CUDA 10.2) has code for compute capability 3.7 to 7.x only"
    if reason:
        raise ValueError("device %r is not available: %s" % (device, reason))
    return core.DeviceOption(caffe2_pb2.CUDA, names.index(name))
