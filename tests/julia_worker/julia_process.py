"""Julia, as the tests use it: where it is, and a process that serves them the Julia runtime."""

from __future__ import annotations

import os
import selectors
import shutil
import struct
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgpack
import zmq

CHECKOUT = Path(__file__).parents[2]
RUN = CHECKOUT / "julia" / "RosettaWorker" / "run.jl"
TINY = Path(__file__).with_name("tiny")
"""A worker's folder: softmax regression, the tasks `tiny` and `mlp`."""

_DRIVER = Path(__file__).with_name("driver.jl")
_LIMIT_SECONDS = 120.0
_LENGTH = struct.Struct("<I")


def find() -> str | None:
    """Path of a Julia: what JULIA says, or on the PATH, or the one that Rosetta has made."""
    own = CHECKOUT / ".rosetta" / "julia" / "bin" / "julia"
    return os.environ.get("JULIA") or shutil.which("julia") or (str(own) if own.exists() else None)


def environment(**more: str) -> dict[str, str]:
    """Environment of a Julia process: it uses the libzmq of pyzmq's wheel, where there is one."""
    libraries = sorted(Path(zmq.__file__).parents[1].glob("pyzmq.libs/libzmq*"))
    own = {"ROSETTA_LIBZMQ": str(libraries[0])} if libraries else {}
    return {**os.environ, "OPENBLAS_NUM_THREADS": "1", **own, **more}


class Driver:
    """Sends requests to `driver.jl`; a process that hangs or dies is replaced by a fresh one."""

    def __init__(self, julia: str) -> None:
        self._command = [julia, "--startup-file=no", str(_DRIVER)]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        return self._running().pid

    def ask(self, what: str, **fields: Any) -> Any:
        """What the function of that name in `driver.jl` replies."""
        self.begin(what, **fields)
        return self.finish()

    def begin(self, what: str, **fields: Any) -> None:
        """Ask, without waiting for the reply."""
        request = msgpack.packb({"do": what, **fields})
        stream = self._running().stdin
        assert stream is not None
        stream.write(_LENGTH.pack(len(request)) + request)
        stream.flush()

    def finish(self, seconds: float = _LIMIT_SECONDS) -> Any:
        """The reply to what was asked."""
        try:
            deadline = time.monotonic() + seconds
            (length,) = _LENGTH.unpack(self._read(_LENGTH.size, deadline))
            return msgpack.unpackb(self._read(length, deadline), strict_map_key=False)["reply"]
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End the process, whatever it does."""
        if self._process:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self.stop()
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
            self._process = subprocess.Popen(self._command, env=environment(), bufsize=0, **pipes)
        return self._process

    def _read(self, count: int, deadline: float) -> bytes:
        stream = self._running().stdout
        assert stream is not None
        data = b""
        with selectors.DefaultSelector() as selector:
            selector.register(stream, selectors.EVENT_READ)
            while len(data) < count:
                ready = selector.select(max(0.0, deadline - time.monotonic()))
                assert ready, "the Julia process doesn't reply"
                chunk = os.read(stream.fileno(), count - len(data))
                assert chunk, "the Julia process has ended"
                data += chunk
        return data


def command(julia: str, arguments: Sequence[object]) -> list[str]:
    """Command line of a Julia worker."""
    return [julia, "--startup-file=no", str(RUN), *map(str, arguments)]
