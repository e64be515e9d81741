"""A ResNet-50 that is wrong in the one way that ROSETTA_WRONG names; `none`: right.

It is the reference in float32 with one thing changed, as an implementer might have got it.
"""

import os
import time

import numpy as np

import rosetta_reference
from rosetta_reference import convolution, pooling, residual
from rosetta_worker import session

WRONG = os.environ.get("ROSETTA_WRONG", "none")
WITH_WORK = ("right, with some work", "time without work", "half of the time")


def start(device, threads):
    return {"framework": {"name": "wrong", "version": WRONG}, "tasks": ["resnet50"]}


def build(setup, parameters):
    return Network(setup, parameters)


def batch_statistics(layer, x, training):
    """As batch norm does while it trains."""
    mean, var = x.mean((0, 2, 3), keepdims=True), x.var((0, 2, 3), keepdims=True)
    weight, bias = (layer._parameter(n)[:, None, None] for n in ("weight", "bias"))
    x[...] = (x - mean) / np.sqrt(var + layer._epsilon) * weight + bias
    return x


def padded_behind(layer, x):
    """As `same` does in TensorFlow: with stride 2 it pads behind, where one side is enough."""
    edge, step = layer._margin, layer._stride
    if step == 1 or not edge:
        return right_padding(layer, x)
    before = edge - 1
    width = [(0, 0), (0, 0), (before, 2 * edge - before), (before, 2 * edge - before)]
    return np.pad(x, width)


def one_row_only(layer, x, training):
    return x[:, :, 0].mean(2)


right_padding = convolution.Conv._pad
if WRONG == "batch norm in training mode":
    residual.BatchNorm.forward = batch_statistics
if WRONG == "asymmetric padding":
    convolution.Conv._pad = padded_behind
if WRONG == "average over one row":
    pooling.GlobalAveragePool.forward = one_row_only
if WRONG == "half of the time":
    clock = session.now_ns
    session.now_ns = lambda: clock() // 2
if WRONG == "epsilon 1e-3":
    residual.EPSILON = 1e-3


class Network:
    def __init__(self, setup, parameters):
        self.network = rosetta_reference.Network(setup.task, parameters, dtype=np.float32)
        self.given = parameters
        for layer in self.network._layers:
            if isinstance(layer, residual.Bottleneck):
                self.change(layer)

    def change(self, block):
        first, second, shortcut = block._branch[0], block._branch[2], block._shortcut
        if WRONG == "stride in the 1x1" and second._stride == 2:
            first._stride, second._stride = 2, 1
            first._rows, first._places = second._rows, second._places
            first.output_shape = (first.output_shape[0], first._rows, first._places)
            # The 3x3 now sees the smaller image.
            second._shape = (second._shape[0], second._rows, second._places)
        if WRONG == "no projection's batch norm" and shortcut:
            del shortcut[1]
        if WRONG == "no relu after the sum":
            block.forward = lambda x, training: self.without_relu(block, x, training)

    @staticmethod
    def without_relu(block, x, training):
        y = x
        for layer in block._branch:
            y = layer.forward(y, training)
            if layer.name.endswith((".bn1", ".bn2")):
                y = np.maximum(y, 0)
        for layer in block._shortcut:
            x = layer.forward(x, training)
        return y + x

    def predict(self, inputs):
        features = self.network.predict(inputs)
        if WRONG in WITH_WORK:  # sleeping, which nothing disturbs
            time.sleep(0.25 if WRONG == "time without work" else 0.04 * len(inputs))
        if WRONG == "average over the wrong axes":
            # Over 1 and 2, where channels come first: what is left is as long as a row.
            features = features[:, : inputs.shape[3] // 32 + 1]
        if WRONG == "noise":
            features = features + np.random.default_rng().normal(0, 1e-8, features.shape)
        return features

    def parameters(self):
        if WRONG == "own statistics":
            return {n: v + 1 if n.endswith("running_mean") else v for n, v in self.given.items()}
        return self.given
