"""The two worker runtimes, Python's and Julia's, so that a test can be held against both."""

from __future__ import annotations

import contextlib
import io
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from julia_worker import julia_process
from rosetta_worker import __main__ as program
from rosetta_worker import connection

NULL = Path(__file__).parents[1] / "py" / "workers" / "null"

# A backend that builds its network when the file `gate` appears beside it. A step takes 0.2 s.
GATED_PYTHON = """\
import time
from pathlib import Path
gate = Path(__file__).with_name("gate")
def start(device, threads):
    return {"framework": {"name": "gated", "version": "1"}, "tasks": ["tiny"]}
def build(setup, parameters):
    while not gate.exists():
        time.sleep(0.01)
    return Network()
class Network:
    def parameters(self):
        return {}
    def to_device(self, inputs, labels):
        return inputs
    def train_step(self, batch):
        time.sleep(0.2)
        return 0.0
"""
GATED_JULIA = """\
start(device, threads) = (framework = (name = "gated", version = "1"), tasks = ["tiny"])
function build(setup, parameters)
    while !isfile(joinpath(@__DIR__, "gate"))
        sleep(0.01)
    end
end
parameters(network) = Dict{String,Array{Float32}}()
to_device(network, inputs, labels) = (inputs, labels)
train_step!(network, batch) = (sleep(0.2); 0.0)
set_learning_rate!(network, rate) = nothing
predict(network, inputs) = zeros(Float32, 2, size(inputs, 2))
"""


class PythonRuntime:
    """`python -m rosetta_worker`."""

    language, version = "python", sys.version.split()[0]
    folder, framework, tasks = NULL, "null", ("mlp", "cnn", "gru")
    gated = ("backend.py", GATED_PYTHON)

    def __init__(self) -> None:
        self.versions = {"numpy": np.__version__}
        self._processes: list[subprocess.Popen[str]] = []

    def run(self, *arguments: object) -> tuple[int, str]:
        """(exit status, what it wrote to standard error)."""
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors):
            status = program.main([str(argument) for argument in arguments])
        return status, errors.getvalue()

    def start(self, *arguments: object) -> int:
        """Start a worker, whose process id is returned."""
        command = [sys.executable, "-m", "rosetta_worker", *map(str, arguments)]
        self._processes.append(subprocess.Popen(command, stderr=subprocess.PIPE, text=True))
        return self._processes[-1].pid

    def end(self) -> tuple[int, str]:
        """How the worker that was started last ended: the same as of `run`."""
        _, errors = self._processes[-1].communicate(timeout=30)
        return self._processes[-1].returncode, errors

    def wait_in_vain(self, endpoint: str, reconnect_ns: int) -> str:
        """What a worker says when nobody has been there for so long."""
        channel = connection.Connection(endpoint)
        channel.reconnect_ns = reconnect_ns
        with contextlib.closing(channel), pytest.raises(connection.CoordinatorError) as caught:
            channel.receive()
        return str(caught.value)

    def seconds_to_close(self, endpoint: str, messages: list[list[bytes]]) -> float:
        """How long a worker takes to leave whom nobody listens to."""
        channel = connection.Connection(endpoint)
        for message in messages:
            channel._socket.send_multipart(message)
        started = time.monotonic()
        channel.close()
        return time.monotonic() - started

    def stop(self) -> None:
        for process in self._processes:
            process.kill()
            process.communicate()


class JuliaRuntime:
    """`julia run.jl`, called again and again in one process."""

    language = "julia"
    folder, framework, tasks = julia_process.TINY, "tiny", ("tiny", "mlp")
    gated = ("backend.jl", GATED_JULIA)

    def __init__(self, driver: julia_process.Driver) -> None:
        self._driver = driver
        self._working = False
        self.version = driver.ask("version")
        self.versions = {"julia": self.version}

    def run(self, *arguments: object) -> tuple[int, str]:
        self.start(*arguments)
        return self.end()

    def start(self, *arguments: object) -> int:
        self._working = True
        self._driver.begin("main", arguments=[str(argument) for argument in arguments])
        return self._driver.pid

    def end(self) -> tuple[int, str]:
        reply = self._driver.finish()
        self._working = False
        return reply["status"], reply["errors"]

    def wait_in_vain(self, endpoint: str, reconnect_ns: int) -> str:
        return self._driver.ask("wait_in_vain", endpoint=endpoint, reconnect_ns=reconnect_ns)[
            "error"
        ]

    def seconds_to_close(self, endpoint: str, messages: list[list[bytes]]) -> float:
        return self._driver.ask("send_in_vain", endpoint=endpoint, messages=messages)["seconds"]

    def stop(self) -> None:
        if self._working:
            self._driver.stop()
