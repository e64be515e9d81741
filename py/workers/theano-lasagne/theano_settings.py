"""What has to be settled before Theano and Lasagne are imported."""

import fcntl
import glob
import logging
import os
import sys
import types
import warnings

import numpy as np


def before_import():
    """Set the flags that Theano reads while it is imported, and give Lasagne what it looks for."""
    os.environ["THEANO_FLAGS"] = ",".join("%s=%s" % pair for pair in sorted(flags().items()))
    # Its own search doesn't know the name under which the wheel has the library. It is linked.
    logging.getLogger("theano.tensor.blas").setLevel(logging.ERROR)
    # The number of random streams isn't known from a batch of any size; its guess will do.
    warnings.filterwarnings("ignore", message="MRG_RandomStreams Can't determine #streams")
    sys.modules["theano.tensor.signal.downsample"] = downsample()


def flags():
    """Theano's settings: those of worker.toml, and those that only the process itself can know."""
    given = os.environ.get("THEANO_FLAGS", "")
    found = dict(pair.split("=", 1) for pair in given.split(",") if pair)
    base = found.get("base_compiledir", os.path.join(sys.prefix, "compiledir"))
    own = {"base_compiledir": own_folder(base), "blas.ldflags": blas().replace(",", "\\,")}
    return {"device": "cpu", "floatX": "float32", **found, **own}


def own_folder(base):
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


def blas():
    """How to link the OpenBLAS that is in NumPy's wheel; empty where there is none.

    Theano's documentation wants a BLAS library to be named. This one is there already, and the
    same on every machine. Without any, Theano calls NumPy for each product.
    """
    beside = os.path.join(os.path.dirname(os.path.dirname(np.__file__)), "numpy.libs")
    for library in sorted(glob.glob(os.path.join(beside, "libopenblas*.so*"))):
        folder, name = os.path.split(library)
        return "-L%s -l:%s -Wl,-rpath,%s" % (folder, name, folder)
    return ""


def downsample():
    """The module that Lasagne 0.1 imports for pooling, and that Theano 1.0 has no more."""

    def max_pool_2d(images, ds, ignore_border, st=None, padding=(0, 0), mode="max"):
        from theano.tensor.signal import pool

        return pool.pool_2d(
            images, ws=ds, ignore_border=ignore_border, stride=st, pad=padding, mode=mode
        )

    module = types.ModuleType("theano.tensor.signal.downsample")
    module.max_pool_2d = max_pool_2d
    return module
