"""A reader that has gone: `rosetta workers | head -1` ends in silence, as Unix programs do."""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

STATUS = 128 + signal.SIGPIPE
"""What a shell says of a program that SIGPIPE has ended."""


@contextmanager
def ends_silently() -> Iterator[None]:
    """Ends the process with STATUS where nobody reads its output any more.

    Python ignores SIGPIPE, and must: the end of a worker isn't ours. So writing raises
    BrokenPipeError, of which Typer makes a SystemExit with status 1. What is still in the
    buffer is written here, since what fails at the interpreter's very end is shown.

    Raises the BrokenPipeError where it is another pipe's.
    """
    try:
        yield
        _flush()
    except (BrokenPipeError, SystemExit) as error:
        broken = error.__context__ if isinstance(error, SystemExit) else error
        if not isinstance(broken, BrokenPipeError):
            broken = _flush_fails()
        if broken is None:
            raise
        if not any(map(_is_broken, _streams())):
            raise broken from None
        silence()
        sys.exit(STATUS)
    except BaseException:  # whoever reads it, what went wrong decides
        if _flush_fails():
            silence()
        raise


def _flush() -> None:
    if sys.stdout is not None:
        sys.stdout.flush()


def _flush_fails() -> BrokenPipeError | None:
    try:
        _flush()
    except BrokenPipeError as error:
        return error
    return None


def silence() -> None:
    """From now on, what is written to a stream without a reader is lost without an error."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in filter(_is_broken, _streams()):
        os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _streams() -> list[TextIO]:
    """Those of standard output and error that were not closed when we were started."""
    return [stream for stream in (sys.__stdout__, sys.__stderr__) if stream is not None]


def _is_broken(stream: TextIO) -> bool:
    poll = select.poll()
    poll.register(stream, 0)  # errors are told unasked
    return any(events & select.POLLERR for _, events in poll.poll(0))
