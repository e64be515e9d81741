"""A process that does a block whenever it gets a line, and answers with a line of JSON."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from rosetta.errors import one_line

_END_SECONDS = 5.0


class CompanionError(Exception):
    """It ended, or didn't answer in time; one sentence."""


class Companion:
    """One such process. Its first line says that it is ready."""

    def __init__(
        self,
        command: Sequence[str | Path],
        *,
        log: Path,
        environment: Mapping[str, str],
        processors: Sequence[int] = (),
        limit_s: float = 600.0,
    ) -> None:
        """Start `command`; what it complains of goes to `log`.

        It may run on the logical CPUs `processors` only; empty: wherever this process may.
        `limit_s`: how long a block may take. Raises OSError when it can't be started.
        """
        self._log, self._limit_s = log, limit_s
        with log.open("ab") as errors:
            self._process = subprocess.Popen(
                [str(word) for word in command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=dict(environment),
                bufsize=0,
                start_new_session=True,
            )
        if processors and hasattr(os, "sched_setaffinity"):
            with contextlib.suppress(ProcessLookupError):
                # In time: Python takes milliseconds before it imports what counts the processors.
                os.sched_setaffinity(self._process.pid, processors)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ready(self) -> dict[str, Any]:
        """Its first line. Raises CompanionError."""
        return self._answer()

    def ask(self, *words: object) -> dict[str, Any]:
        """The answer to a line of these words. Raises CompanionError."""
        assert self._process.stdin
        with contextlib.suppress(BrokenPipeError):  # the missing answer tells
            self._process.stdin.write(" ".join(map(str, words)).encode() + b"\n")
        return self._answer()

    def close(self) -> None:
        """No more lines: it ends by itself, or is ended."""
        assert self._process.stdin and self._process.stdout
        self._process.stdin.close()
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout
        readable, _, _ = select.select([self._process.stdout], [], [], self._limit_s)
        if not readable:
            raise CompanionError(f"no answer within {self._limit_s:g} s{self._last_words()}")
        line = self._process.stdout.readline()
        try:
            answer: dict[str, Any] = json.loads(line)
        except ValueError:
            said = f"said {one_line(line.decode(errors='replace'))!r}" if line else "ended"
            raise CompanionError(f"{said}{self._last_words()}") from None
        return answer

    def _last_words(self) -> str:
        words = self._log.read_text(encoding="utf-8", errors="replace").splitlines()
        return f": {one_line(words[-1])}" if words else ""
