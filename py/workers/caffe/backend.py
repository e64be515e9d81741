"""Caffe: a net described with `NetSpec`, a solver that trains it, a second net that predicts."""

import contextlib
import os
import platform
import shutil
import sys
import tempfile
import uuid

import numpy as np

# The runtime loads this file by its path. Its neighbour is an ordinary module: their folder is put
# at the end of the import path, where it shadows nothing.
sys.path.append(os.path.dirname(os.path.abspath(__file__)))
os.environ.setdefault("GLOG_minloglevel", "2")  # errors only, or it tells of each layer it makes

import caffe
import caffe_networks
from caffe.proto import caffe_pb2


def start(device, threads):
    """Check the device, and tell what computes. OpenBLAS has read its threads when it was loaded.

    Caffe itself computes in one thread.
    """
    _check_device(device)
    caffe.set_mode_cpu()
    return {
        "framework": {"name": "Caffe", "version": caffe.__version__},
        "versions": {
            "python": platform.python_version(),
            "numpy": np.__version__,
            "caffe": caffe.__version__,
        },
        "tasks": ["mlp", "cnn", "gru", "resnet50"],
        "forms": {"adam": "hat", "momentum": "inside", "gru": "cudnn"},
        "disclosures": {
            "precision": "float32",
            "layout": "NCHW",
            "mode": "static net",
            "gru": "layers of their own for each time step",
            "cpu kernels": "the wheel's own OpenBLAS; all else in one thread",
        },
    }


def build(setup, parameters):
    """The network of `setup.task`, holding `parameters`."""
    return Network(setup, parameters)


# Canonical name -> (layer, blob): its parts along the first axis, where it isn't the first or
# second blob of its own layer. All time steps share what the first one's layers have.
BLOBS = {
    "gru.weight_ih": [("gru/input_gates", 0), ("gru/input_new", 0)],
    "gru.weight_hh": [("gru/gates0", 0), ("gru/new0", 0)],
    "gru.bias_ih": [("gru/input_gates", 1), ("gru/input_new", 1)],
    "gru.bias_hh": [("gru/gates0", 1), ("gru/new0", 1)],
}


class Network:
    """A net that predicts, and one that trains where the task has an optimiser."""

    def __init__(self, setup, parameters):
        task = setup.task
        self.input, self.names = task["input"], list(parameters)
        net = caffe_networks.describe(task, setup.batch_size, setup.dropout)
        with written(net) as path:
            self.predictor = caffe.Net(path, caffe.TEST)
        self.net = self.predictor
        if "optimiser" in task:
            net = caffe_networks.describe(task, setup.batch_size, setup.dropout, loss=True)
            self.settings = make_optimiser(task["optimiser"], net, setup.seed)
            self.folder = os.path.join(tempfile.gettempdir(), "caffe-" + uuid.uuid4().hex)
            self.settings.snapshot_prefix = os.path.join(self.folder, "snapshot")
            self.start_solver()
        self.set_parameters(parameters)

    def start_solver(self, snapshot=None):
        """A solver of the present settings, and of the state in the file `snapshot`."""
        with written(self.settings) as path:
            self.solver = caffe.get_solver(path)
        self.settings.ClearField("random_seed")  # another solver goes on with the same numbers
        if snapshot is not None:
            self.solver.restore(snapshot)
        self.net = self.solver.net
        self.predictor.share_with(self.net)

    def to_device(self, inputs, labels):
        self.feed_inputs(self.net, inputs)  # the batch lies in the net's own blobs
        self.feed(self.net, "label", labels)

    def train_step(self, batch):
        self.solver.step(1)
        return self.net.blobs["loss"].data.item()

    def set_learning_rate(self, rate):
        # A solver's settings are read once, so there is a new one. A snapshot holds what it needs
        # of the old one: parameters, moments, the number of steps.
        self.settings.base_lr = rate
        os.mkdir(self.folder)
        try:
            self.solver.snapshot()
            name = "snapshot_iter_%d.solverstate" % self.solver.iter
            self.start_solver(os.path.join(self.folder, name))
        finally:
            shutil.rmtree(self.folder)

    def predict(self, inputs):
        self.feed_inputs(self.predictor, inputs)
        (logits,) = self.predictor.forward().values()
        return logits.reshape(len(inputs), -1).copy()

    def parameters(self):
        return {
            name: np.concatenate([blob.data for blob in self.blobs_of(name)]) for name in self.names
        }

    def set_parameters(self, parameters):
        for name, values in parameters.items():
            blobs, start = self.blobs_of(name), 0
            for blob in blobs:
                rows = len(blob.data)
                blob.data[...] = values[start : start + rows]
                start += rows
            if name.endswith(".running_mean"):
                # Statistics are kept as sums; the third blob is what they are divided by.
                self.net.params[name.rpartition(".")[0]][2].data[...] = 1

    def blobs_of(self, name):
        """The blobs that hold the parameter `name`, its parts along the first axis."""
        if name in BLOBS:
            return [self.net.params[layer][index] for layer, index in BLOBS[name]]
        layer, _, kind = name.rpartition(".")
        index = {"weight": 0, "bias": 1, "running_mean": 0, "running_var": 1}[kind]
        if kind in ("weight", "bias") and layer + "/scale" in self.net.params:
            layer += "/scale"  # of a batch norm
        return [self.net.params[layer][index]]

    def feed_inputs(self, net, inputs):
        if self.input["kind"] == "tokens":
            _, _, units = net.blobs["state"].data.shape
            self.feed(net, "data", inputs.T)
            self.feed(net, "state", np.zeros((1, len(inputs), units), np.float32))
        else:
            self.feed(net, "data", inputs, self.input.get("scale", 1.0))

    def feed(self, net, name, values, scale=1.0):
        """Copies `values` times `scale` into a blob, as float32: Caffe has no other type."""
        blob = net.blobs[name]
        blob.reshape(*values.shape)  # the other layers follow in the next forward pass
        np.multiply(values, np.float32(scale), out=blob.data, casting="unsafe")


@contextlib.contextmanager
def written(message):
    """The path of a file with the prototxt `message`: Caffe's constructors want one."""
    with tempfile.NamedTemporaryFile("w", suffix=".prototxt", encoding="ascii") as file:
        file.write(str(message))
        file.flush()
        yield file.name


def make_optimiser(described, net, seed):
    """A solver's settings as the task describes them, for `net`."""
    settings = caffe_pb2.SolverParameter(
        net_param=net,
        base_lr=described["learning_rate"],
        lr_policy="fixed",
        weight_decay=0.0,
        solver_mode=caffe_pb2.SolverParameter.CPU,
        random_seed=seed,
    )
    if described["kind"] == "sgd":
        settings.type, settings.momentum = "SGD", described["momentum"]
    else:
        settings.type, settings.delta = "Adam", described["epsilon"]
        settings.momentum, settings.momentum2 = described["beta1"], described["beta2"]
    return settings


def _check_device(device):
    """ValueError unless it is "cpu": the wheel is built without CUDA."""
    if device != "cpu":
        reason = "this Caffe (%s) is built for CPUs only" % caffe.__version__
        raise ValueError("device %r is not available: %s" % (device, reason))
