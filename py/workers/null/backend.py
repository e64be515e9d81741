"""A worker that computes nothing: what remains of its times is the harness's own cost."""

import platform

import numpy as np


def start(device, threads):
    """Accept any device and any number of threads: nothing is computed on them."""
    return {
        "framework": {"name": "null", "version": "1"},
        "versions": {"python": platform.python_version(), "numpy": np.__version__},
        "tasks": ["mlp", "cnn", "gru"],
        "disclosures": {"computes": "nothing: its loss is always 0, its logits are zeros"},
    }


def build(setup, parameters):
    """A network that keeps its parameters and never uses them."""
    return Network(setup.task["classes"], parameters)


class Network:
    def __init__(self, classes, parameters):
        self.classes = classes
        self.values = parameters

    def to_device(self, inputs, labels):
        return inputs

    def train_step(self, batch):
        return 0.0

    def set_learning_rate(self, rate):
        pass

    def predict(self, inputs):
        return np.zeros((len(inputs), self.classes), np.float32)

    def parameters(self):
        return self.values
