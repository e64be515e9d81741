"""Julia in this Python process, through juliacall: hosts a backend of the Julia workers."""

import functools
import json
import os
import platform
import re
import shutil
from importlib import metadata
from pathlib import Path
from typing import Any, Dict, Tuple

import numpy as np

CHOICE = "ROSETTA_JULIACALL_BACKEND"
"""Environment variable: the folder in julia/workers whose backend is hosted."""

DEFAULT = "knet"
FOLDER = Path(__file__).resolve().parent
JULIA_WORKERS = FOLDER.parents[2] / "julia" / "workers"
EXE = "PYTHON_JULIACALL_EXE"
PROJECT = "PYTHON_JULIACALL_PROJECT"

Batch = Tuple[Any, np.ndarray, np.ndarray]


def start(device: str, threads: int) -> Dict[str, Any]:
    """Start Julia and the hosted backend, and tell what computes.

    ValueError with one sentence where there is no Julia, or it lacks the framework or the device.
    """
    hosted = chosen_backend()
    require_julia()
    julia = host()
    import juliacall  # its import starts Julia: by `host`, and not before `require_julia`

    try:
        told = julia.start(hosted, device, threads)
    except juliacall.JuliaError as error:
        sentence = julia.sentence(error.exception)
        if sentence is None:
            raise
        raise ValueError(sentence) from None
    framework = dict(told["framework"].items())
    own = {"python": platform.python_version(), "numpy": np.__version__}
    return {
        "framework": {"name": framework["name"] + " (juliacall)", "version": framework["version"]},
        "versions": {**told["versions"], **own, "juliacall": metadata.version("juliacall")},
        "tasks": list(told["tasks"]),
        "forms": dict(told["forms"].items()),
        "disclosures": {**told["disclosures"], "hosted": "julia/workers/" + hosted},
    }


def build(setup: Any, parameters: Dict[str, np.ndarray]) -> "Network":
    """The network of `setup.task`, built in Julia with copies of `parameters`."""
    return Network(setup, parameters)


class Network:
    """A Julia network, and what it takes to hand NumPy's arrays to it."""

    def __init__(self, setup: Any, parameters: Dict[str, np.ndarray]) -> None:
        self._julia = host()
        self._names = list(parameters)
        arrays = {name: aligned(values) for name, values in parameters.items()}
        self._network = self._julia.build(
            json.dumps(setup._asdict()), *((name, lent(array)) for name, array in arrays.items())
        )

    def to_device(self, inputs: np.ndarray, labels: np.ndarray) -> Batch:
        """Let Julia see the arrays, which stay in the batch: it may read them during the step."""
        inputs, labels = aligned(inputs), aligned(labels)
        return self._julia.to_device(self._network, lent(inputs), lent(labels)), inputs, labels

    def train_step(self, batch: Batch) -> float:
        """Forward, loss, backward, update; the backend has finished when it returns."""
        return float(self._julia.train_step(self._network, batch[0]))

    def set_learning_rate(self, rate: float) -> None:
        """Use another learning rate from the next step on."""
        self._julia.set_learning_rate(self._network, rate)

    def predict(self, inputs: np.ndarray) -> np.ndarray:
        """Logits or features, float32 (N, …): Julia's are classes × N."""
        inputs = aligned(inputs)
        return np.array(self._julia.predict(self._network, lent(inputs))).T

    def parameters(self) -> Dict[str, np.ndarray]:
        """The parameters by canonical name, float32; Julia has their axes reversed."""
        values = self._julia.parameters(self._network)
        return {name: np.array(values[name]).T for name in self._names}


def aligned(array: np.ndarray) -> np.ndarray:
    """The array itself unless its memory isn't what Julia can use: then a copy.

    A frame off the wire may begin at any address.
    """
    return np.require(array, requirements=["C_CONTIGUOUS", "ALIGNED"])


def lent(array: np.ndarray) -> Tuple[int, str, Tuple[int, ...]]:
    """What Julia needs to use the array's memory. The array must be kept meanwhile."""
    return array.ctypes.data, array.dtype.name, array.shape


def one_line(error: Exception) -> str:
    """What an exception says, without line breaks."""
    return " ".join(str(error).split())


@functools.lru_cache(maxsize=None)
def host() -> Any:
    """The Julia module of `host.jl`. Starts Julia when it is called first.

    ValueError with one sentence when juliacall can't start it.
    """
    # With Julia threads and Python's signal handlers, Julia's garbage collector would crash.
    os.environ.setdefault("PYTHON_JULIACALL_HANDLE_SIGNALS", "yes")
    try:
        from juliacall import Main
    except Exception as error:  # it raises bare Exceptions, and what it was told by the system
        raise ValueError("juliacall can't start Julia: %s" % one_line(error)) from error
    Main.include(str(FOLDER / "host.jl"))
    return Main.RosettaHost


def chosen_backend() -> str:
    """Name of the folder in julia/workers whose backend is hosted. ValueError if there is none."""
    name = os.environ.get(CHOICE, DEFAULT)
    if not re.fullmatch("[a-z][a-z0-9_-]*", name) or not (JULIA_WORKERS / name).is_dir():
        raise ValueError("%s is %r, and julia/workers has no such folder" % (CHOICE, name))
    return name


def require_julia() -> None:
    """Raise ValueError with one sentence unless juliacall will find a Julia without a download.

    Its import would fetch one, or fail after a while without a network. Where the user has said
    which Julia to take, juliacall takes that; otherwise juliapkg looks for one, and is told to
    stay offline unless the user has decided on that too.
    """
    exe, project = os.environ.get(EXE), os.environ.get(PROJECT)
    if (exe is None) != (project is None):
        missing = EXE if exe is None else PROJECT
        raise ValueError("%s and %s go together, and %s is not set" % (EXE, PROJECT, missing))
    if exe is not None and project is not None:
        if shutil.which(exe) is None:
            raise ValueError("%s is %r, which is no program" % (EXE, exe))
        if not os.path.isdir(project):
            raise ValueError("%s is %r, which is no folder" % (PROJECT, project))
        return
    os.environ.setdefault("PYTHON_JULIAPKG_OFFLINE", "yes")
    import juliapkg

    try:
        juliapkg.resolve()
    except Exception as error:  # bare Exceptions, too
        advice = "put julia on the PATH, or set %s and %s" % (EXE, PROJECT)
        raise ValueError("juliacall %s: %s" % (one_line(error), advice)) from error
