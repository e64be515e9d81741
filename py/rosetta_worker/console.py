"""What a worker prints when it runs from a tape."""

import os
import sys

from rosetta_worker.recorded import Recorded
from rosetta_worker.wire import Header

_MS = 1e6
_NOBODY_READS = 141
"""What a shell says of a program that SIGPIPE has ended."""


def show(header: Header) -> None:
    """Print one line for an answer; times in milliseconds."""
    line = _LINES.get(header["type"])
    if line:
        _print(line(header))


def report(recorded: Recorded) -> None:
    """Say which answers are the recorded ones; on standard error, which aren't."""
    for line in recorded.lines(right=True):
        _print(line)
    for line in recorded.lines(right=False):
        print("rosetta worker: " + line, file=sys.stderr, flush=True)


def _print(line: str) -> None:
    """Print `line`; when nobody reads any more, end in silence as Unix programs do."""
    try:
        print(line, flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python complains
        sys.exit(_NOBODY_READS)


def _hello(header: Header) -> str:
    return "%s %s on %s, %d threads" % (
        header["framework"],
        header["framework_version"],
        header["device"],
        header["threads"],
    )


def _ready(header: Header) -> str:
    built = "%d parameters, built in %.1f ms" % (
        header["parameter_count"],
        header["setup_ns"] / _MS,
    )
    return built + "\n%6s %12s %10s %10s %10s" % ("step", "loss", "wait ms", "copy ms", "step ms")


def _result(header: Header) -> str:
    return "%6d %12.7f %10.3f %10.3f %10.3f" % (
        header["step"],
        header["loss"],
        header["wait_ns"] / _MS,
        header["copy_ns"] / _MS,
        header["step_ns"] / _MS,
    )


def _predictions(header: Header) -> str:
    return "predictions in %.3f ms" % (header["predict_ns"] / _MS)


def _error(header: Header) -> str:
    return "ERROR %s: %s" % (header["code"], header["message"])


_LINES = {
    "HELLO": _hello,
    "READY": _ready,
    "RESULT": _result,
    "PREDICTIONS": _predictions,
    "ERROR": _error,
}
