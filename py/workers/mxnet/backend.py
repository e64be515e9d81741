"""MXNet 1.9: two workers, Gluon (the variant `gluon`) and the symbolic Module API (`module`)."""

import importlib
import os
import platform
import sys

import numpy as np

# The runtime loads this file by its path. Its neighbours are ordinary modules: their folder is put
# at the end of the import path, where it shadows nothing.
sys.path.append(os.path.dirname(os.path.abspath(__file__)))

MODULES = {"gluon": "gluon_networks", "module": "module_networks"}
PRECISION = {"gluon": "float32, TF32 off; loss in float64", "module": "float32, TF32 off"}
MODES = {"gluon": "hybridized, static_alloc, static_shape", "module": "symbolic, bound executor"}
chosen = {"variant": ""}


def start(device, threads, variant=""):
    """Set the threads and the precision, import MXNet, and tell what computes."""
    if variant not in MODULES:
        raise ValueError("no variant %r; there are: %s" % (variant, ", ".join(MODULES)))
    chosen["variant"] = variant
    set_variables(threads)
    networks = chosen_networks()
    networks.find_device(device)
    mx = networks.mx
    features = mx.runtime.Features()
    kernels = [f for f in ("MKLDNN", "BLAS_OPEN", "CUDA", "CUDNN") if features.is_enabled(f)]
    compiled = [f for f in ("CPU_AVX2", "CPU_AVX", "CPU_SSE3") if features.is_enabled(f)]
    return {
        "framework": {"name": "MXNet", "version": mx.__version__},
        "versions": {
            "python": platform.python_version(),
            "numpy": np.__version__,
            "mxnet": mx.__version__,
        },
        "tasks": ["mlp", "cnn", "gru", "resnet50"],
        "forms": {"adam": "hat", "momentum": "inside", "gru": "cudnn"},
        "disclosures": {
            "precision": PRECISION[variant],
            "layout": "NCHW, GRU time first",
            "mode": MODES[variant],
            "engine": os.environ.get("MXNET_ENGINE_TYPE", "ThreadedEnginePerDevice"),
            "cpu kernels": "%s; MXNet's own compiled for %s" % (", ".join(kernels), compiled[0]),
            "gru": "fused (oneDNN on the CPU, cuDNN on a GPU)",
        },
    }


def build(setup, parameters):
    """The network of `setup.task`, holding `parameters`."""
    networks = chosen_networks()
    networks.mx.random.seed(setup.seed)
    return networks.Network(setup, parameters)


def chosen_networks():
    """The module that the variant is written in. It is imported, and MXNet with it, by `start`."""
    return importlib.import_module(MODULES[chosen["variant"]])


def set_variables(threads):
    """The environment variables that MXNet reads once, while it is imported.

    oneDNN, OpenBLAS and MXNet's own loops share OpenMP's pool: `threads` threads. The engine's own
    threads hand operators out. With several of them, independent operators would run side by side,
    each with a pool of `threads`; so there is one, which is the default, and one for operators with
    priority, where the default is four.
    """
    os.environ["OMP_NUM_THREADS"] = str(threads)
    os.environ["MXNET_CPU_WORKER_NTHREADS"] = "1"
    os.environ["MXNET_CPU_PRIORITY_NTHREADS"] = "1"
    # cuDNN 8 uses TF32 for float32 convolutions wherever it can; MXNet has no switch for it.
    os.environ["NVIDIA_TF32_OVERRIDE"] = "0"
