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

# What `start` has chosen: gluon_networks or module_networks.
networks = None


def start(device, threads, variant="gluon"):
    """Set the threads and the precision, import MXNet, and tell what computes."""
    global networks
    if variant not in MODULES:
        raise ValueError("variant %r is unknown; known: %s" % (variant, ", ".join(MODULES)))
    set_variables(threads)
    networks = importlib.import_module(MODULES[variant])
    mx = networks.mx
    networks.context(device)
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
        "tasks": ["mlp", "cnn", "gru"],
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
    networks.mx.random.seed(setup.seed)
    return networks.Network(setup, parameters)


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
