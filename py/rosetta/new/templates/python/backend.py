"""$title: what is still missing says so when it is called."""

import platform

import numpy as np


def start(device, threads):
    """Set the threads and the precision, and tell what computes."""
    if device != "cpu":
        raise ValueError("device %r is not available: $title computes on the CPU" % device)
    return {
        "framework": {"name": "$title", "version": np.__version__},
        "versions": {"python": platform.python_version(), "numpy": np.__version__},
        "tasks": ["mlp"],
        "forms": {"adam": "torch", "gru": "cudnn"},
        "disclosures": {"precision": "float32"},
    }


def build(setup, parameters):
    """The network of `setup.task`, holding `parameters`."""
    return Network(setup, parameters)


class Network:
    def __init__(self, setup, parameters):
        self.scale = setup.task["input"].get("scale", 1.0)
        self.optimiser = setup.task["optimiser"]
        self.rate = self.optimiser["learning_rate"]
        self.values = parameters  # canonical names and layouts: protocol/tasks/README.md

    def to_device(self, inputs, labels):
        """A batch: uint8 pixels (batch, pixels) and int32 labels (batch,), read-only."""
        return inputs, labels

    def train_step(self, batch):
        """The mean loss before the update, a float, when all of the update is done."""
        raise NotImplementedError("step 3: forward, loss, backward, update")

    def set_learning_rate(self, rate):
        """Use another learning rate from the next step on."""
        self.rate = rate

    def predict(self, inputs):
        """The logits, float32 (batch, classes), of uint8 pixels (batch, pixels)."""
        raise NotImplementedError("step 2: the logits")

    def parameters(self):
        """The present values, float32: dense weights (out, in), biases (out,)."""
        return {name: array.copy() for name, array in self.values.items()}
