"""Theano 1.0 with Lasagne 0.1: symbolic layers, compiled to C when a function is first called."""

import importlib
import os
import platform
import sys

import numpy as np

# The runtime loads this file by its path. Its neighbours are ordinary modules: their folder is put
# at the end of the import path, where it shadows nothing.
sys.path.append(os.path.dirname(os.path.abspath(__file__)))


def start(device, threads):
    """Choose where Theano compiles, import it, and tell what computes."""
    _check_device(device)
    settings = importlib.import_module("theano_settings")
    settings.before_import()
    networks = importlib.import_module("lasagne_networks")
    config = networks.theano.config
    return {
        "framework": {"name": "Theano", "version": networks.theano.__version__},
        "versions": {
            "python": platform.python_version(),
            "numpy": np.__version__,
            "theano": networks.theano.__version__,
            "lasagne": networks.lasagne.__version__,
        },
        "tasks": ["mlp", "cnn", "gru", "resnet50"],
        "forms": {"adam": "hat", "momentum": "inside", "gru": "cudnn"},
        "disclosures": {
            "precision": config.floatX,
            "layout": "NCHW, true convolution (kernels are flipped)",
            "mode": "compiled (%s, linker %s)" % (config.mode, config.linker),
            "compiler": config.cxx,
            "blas": config.blas.ldflags.partition("-l:")[2].partition(" ")[0] or "NumPy's",
            "openmp": str(config.openmp),
            "compiledir": config.compiledir,
            "gru": "theano.scan",
        },
    }


def build(setup, parameters):
    """The network of `setup.task`, holding `parameters`."""
    networks = importlib.import_module("lasagne_networks")
    networks.lasagne.random.set_rng(np.random.RandomState(setup.seed))
    return networks.Network(setup, parameters)


def _check_device(device):
    """ValueError unless it is "cpu": what Theano needs for a GPU is on no package index."""
    if device != "cpu":
        reason = "this Theano computes on the CPU (libgpuarray and pygpu are not in its lock)"
        raise ValueError("device %r is not available: %s" % (device, reason))
