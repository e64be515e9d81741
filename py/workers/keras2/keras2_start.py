"""What has to be settled in Theano, CNTK or TensorFlow before Keras is imported on top of it.

Each function sets threads, device and precision, and returns versions and disclosures.
"""

import fcntl
import glob
import os
import sys
import warnings

import numpy as np


def start_theano(device, threads):
    _check_device(device, "Theano (its libgpuarray is on no package index)", [])
    flags = dict(
        pair.split("=", 1) for pair in os.environ.get("THEANO_FLAGS", "").split(",") if pair
    )
    base = flags.get("base_compiledir", os.path.join(sys.prefix, "compiledir"))
    flags.update(base_compiledir=_own_folder(base), device="cpu", floatX="float32")
    flags["blas.ldflags"] = _blas().replace(",", "\\,")
    os.environ["THEANO_FLAGS"] = ",".join("%s=%s" % pair for pair in sorted(flags.items()))
    warnings.filterwarnings("ignore", category=DeprecationWarning)  # of Python's distutils
    # The number of random streams isn't known from a batch of any size; its guess will do.
    warnings.filterwarnings("ignore", message="MRG_RandomStreams Can't determine #streams")
    import theano

    config = theano.config
    return {"theano": theano.__version__}, {
        "mode": "compiled (%s, linker %s)" % (config.mode, config.linker),
        "gru": "theano.scan",
        "cpu kernels": config.blas.ldflags or "NumPy's",
        "openmp": str(config.openmp),
        "compiler": config.cxx,
        "compiledir": config.compiledir,
    }


def start_cntk(device, threads):
    with warnings.catch_warnings():
        # That this is no Ubuntu 16.04 and that no CUDA is there. It computes all the same.
        warnings.simplefilter("ignore")
        import cntk

    gpus = [one for one in cntk.device.all_devices() if one.type() == cntk.device.DeviceKind.GPU]
    names = ["cuda:%d" % gpu.id() for gpu in gpus]
    number = _check_device(device, "CNTK (%s)" % cntk.__version__, names)
    cntk.device.try_set_default_device(cntk.device.cpu() if number is None else gpus[number])
    cntk.cntk_py.set_max_num_cputhreads(threads)
    return {"cntk": cntk.__version__}, {
        "mode": "graph",
        "gru": "cntk.recurrence",
        "cpu kernels": "MKL-ML inside the wheel",
    }


def start_tensorflow(device, threads):
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # leaves warnings out, not errors
    warnings.filterwarnings("ignore", category=FutureWarning)  # NumPy's, of TensorFlow's own types
    import tensorflow as tf

    tf.compat.v1.logging.set_verbosity(tf.compat.v1.logging.ERROR)
    _check_device(device, "TensorFlow (%s)" % tf.__version__, [])
    session["config"] = tf.compat.v1.ConfigProto(
        intra_op_parallelism_threads=threads,
        inter_op_parallelism_threads=1,
        device_count={"CPU": 1, "GPU": 0},
    )
    return {"tensorflow": tf.__version__}, {
        "mode": "graph and session",
        "gru": "tf.while_loop",
        "cpu kernels": "Eigen",
    }


START = {"theano": start_theano, "cntk": start_cntk, "tensorflow": start_tensorflow}
session = {}


def begin(variant, seed):
    """Lets go of the network before, and seeds what Keras's own seeds don't reach."""
    if variant == "cntk":
        import cntk

        cntk.cntk_py.reset_random_seed(seed)  # its dropout takes the next seed, not Keras's
    if variant == "tensorflow":
        import tensorflow as tf
        from keras import backend

        backend.clear_session()
        graph = tf.compat.v1.get_default_graph()
        backend.set_session(tf.compat.v1.Session(graph=graph, config=session["config"]))


def _own_folder(base):
    """The first folder in `base` that no other process compiles in; it is this one's until it ends.

    Two processes with the same folder wait for each other whenever one compiles. One after the
    other they share it, and so what has been compiled.
    """
    number = 0
    while True:
        folder = os.path.join(base, str(number))
        os.makedirs(folder, exist_ok=True)
        lock = os.open(os.path.join(folder, "in-use"), os.O_RDWR | os.O_CREAT)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return folder  # the lock is let go when the process ends
        except BlockingIOError:
            os.close(lock)
            number += 1


def _blas():
    """How to link the OpenBLAS that is in NumPy's wheel; empty where there is none.

    Without any, Theano calls NumPy for each product.
    """
    beside = os.path.join(os.path.dirname(os.path.dirname(np.__file__)), "numpy.libs")
    for library in sorted(glob.glob(os.path.join(beside, "libopenblas*.so*"))):
        folder, name = os.path.split(library)
        return "-L%s -l:%s -Wl,-rpath,%s" % (folder, name, folder)
    return ""


def _check_device(device, framework, names):
    """Which of the GPUs `names` "cuda" or "cuda:1" is; None for "cpu". ValueError if not there."""
    if device == "cpu":
        return None
    name = "cuda:0" if device == "cuda" else device
    if name not in names:
        seen = ", ".join(names) or "no CUDA device"
        raise ValueError("device %r is not available: this %s sees %s" % (device, framework, seen))
    return names.index(name)
