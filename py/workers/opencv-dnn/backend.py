"""OpenCV's dnn module: a network that was trained in Caffe, read from Caffe's two files."""

import os
import platform
import sys

import cv2
import numpy as np

# The runtime loads this file by its path. Its neighbour is an ordinary module: their folder is put
# at the end of the import path, where it shadows nothing.
sys.path.append(os.path.dirname(os.path.abspath(__file__)))

import caffe_files


def start(device, threads):
    """Set the threads, and tell what computes."""
    _check_device(device)
    cv2.setNumThreads(threads)
    return {
        "framework": {"name": "OpenCV dnn", "version": cv2.__version__},
        "versions": {
            "python": platform.python_version(),
            "numpy": np.__version__,
            "opencv": cv2.__version__,
        },
        "tasks": ["resnet50"],
        "forms": {},
        "disclosures": {
            "precision": "float32",
            "layout": "NCHW",
            "mode": "batch norms and ReLUs fused into the convolutions",
            "cpu kernels": cv2.getCPUFeaturesLine(),  # *: used where the processor has it
            "winograd": "on, for 3x3 convolutions with stride 1",
        },
    }


def build(setup, parameters):
    """The network of `setup.task`, holding `parameters`."""
    return Network(setup, parameters)


class Network:
    def __init__(self, setup, parameters):
        self.shapes = {name: values.shape for name, values in parameters.items()}
        model = caffe_files.caffemodel(to_layers(parameters))
        text = caffe_files.resnet50(setup.task).encode()
        self.net = cv2.dnn.readNetFromCaffe(as_buffer(text), as_buffer(model))
        self.net.setPreferableBackend(cv2.dnn.DNN_BACKEND_OPENCV)
        self.net.setPreferableTarget(cv2.dnn.DNN_TARGET_CPU)
        self.net.enableFusion(True)  # both are the default
        self.net.enableWinograd(True)

    def predict(self, inputs):
        self.net.setInput(inputs)
        return self.net.forward().reshape(len(inputs), -1)

    def parameters(self):
        return {
            name: self.net.getParam(*place_of(name, self.shapes)).reshape(shape)
            for name, shape in self.shapes.items()
        }


def to_layers(parameters):
    """Caffe's layer -> its blobs, of the canonical `parameters`."""
    layers = {}
    for name, values in parameters.items():
        layer, index = place_of(name, parameters)
        layers.setdefault(layer, {})[index] = values
        if name.endswith(".running_var"):
            # Caffe keeps statistics as sums; the third blob is what they are divided by.
            layers[layer][2] = np.ones(1, np.float32)
    return {layer: [blobs[i] for i in sorted(blobs)] for layer, blobs in layers.items()}


def place_of(name, names):
    """The layer, and which of its blobs, that holds the parameter `name` of these `names`."""
    layer, _, kind = name.rpartition(".")
    if kind in ("weight", "bias") and layer + ".running_mean" in names:
        layer += "/scale"  # of a batch norm
    return layer, {"weight": 0, "bias": 1, "running_mean": 0, "running_var": 1}[kind]


def as_buffer(content):
    """Bytes as OpenCV takes them."""
    return np.frombuffer(content, np.uint8)


def _check_device(device):
    """ValueError unless it is "cpu": the wheel is built without CUDA."""
    if device != "cpu":
        reason = "this OpenCV (%s) is built for CPUs only" % cv2.__version__
        raise ValueError("device %r is not available: %s" % (device, reason))
