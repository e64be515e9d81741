"""The NumPy worker: the networks of `rosetta_reference`, in float32."""

import ctypes
import os
import platform
from typing import Any, Dict, Tuple

import numpy as np
from numpy._core import _multiarray_umath

import rosetta_reference

Batch = Tuple[np.ndarray, np.ndarray]


def start(device: str, threads: int) -> Dict[str, Any]:
    """Return what this worker is. ValueError for a device other than "cpu".

    The BLAS library read its number of threads from the environment when it was loaded, so there
    is nothing to set here: the variables are disclosed as they were found.
    """
    if device != "cpu":
        raise ValueError("device %r is not available: NumPy computes on the CPU" % device)
    return {
        "framework": {"name": "NumPy", "version": np.__version__},
        "versions": {"numpy": np.__version__, "python": platform.python_version()},
        "tasks": ["mlp", "cnn", "gru", "resnet50"],
        "forms": {"adam": "torch", "gru": "cudnn"},
        "disclosures": {
            "precision": "float32",
            "blas": _blas(),
            **_blas_at_run_time(),
            "OPENBLAS_NUM_THREADS": os.environ.get("OPENBLAS_NUM_THREADS", "not set"),
            "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "not set"),
        },
    }


def build(setup: Any, parameters: Dict[str, np.ndarray]) -> "Network":
    """Return the task's network, ready for its first step.

    It trusts its batches, since the runtime has checked them and `train_step` is timed.
    """
    network = rosetta_reference.Network(
        setup.task,
        parameters,
        dtype=np.float32,
        dropout=setup.dropout,
        seed=setup.seed,
        adam_form="torch",
        trusting=True,
    )
    return Network(network)


class Network:
    """One network in training."""

    tells_parts = True

    def __init__(self, network: rosetta_reference.Network) -> None:
        self._network = network

    def to_device(self, inputs: np.ndarray, labels: np.ndarray) -> Batch:
        """Return the arrays themselves: the host's memory is the device's."""
        return inputs, labels

    def train_step(self, batch: Batch) -> float:
        """Forward, loss, backward, update; NumPy has finished when the call returns."""
        inputs, labels = batch
        return self._network.train_step(inputs, labels, self.done)

    def done(self, part: str) -> None:
        """Take note that a part of the step is done: the runtime puts its clock here."""

    def set_learning_rate(self, rate: float) -> None:
        """Use another learning rate from the next step on."""
        self._network.set_learning_rate(rate)

    def predict(self, inputs: np.ndarray) -> np.ndarray:
        """Return the logits, float32 (N, classes), with dropout off; or the features."""
        return self._network.predict(inputs)

    def parameters(self) -> Dict[str, np.ndarray]:
        """Return the parameters by canonical name, float32."""
        return self._network.parameters()


def _blas() -> str:
    """Return the name and version of the BLAS library that NumPy was built with."""
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    return "{} {}".format(blas.get("name", "unknown"), blas.get("version", "")).strip()


def _blas_at_run_time() -> Dict[str, str]:
    """Return the kernel that OpenBLAS chose for this processor, and its number of threads.

    Only the library itself knows them. The names are those of the OpenBLAS inside NumPy's wheels;
    a NumPy with another BLAS discloses nothing here.
    """
    library = ctypes.CDLL(_multiarray_umath.__file__)
    try:
        kernel = library.scipy_openblas_get_corename64_
        threads = library.scipy_openblas_get_num_threads64_
    except AttributeError:
        return {}
    kernel.restype = ctypes.c_char_p
    return {"blas_kernel": kernel().decode(), "blas_threads": str(threads())}
