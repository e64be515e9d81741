"""Whether a worker computes under the conditions that were set: what it says, and what is seen."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import psutil

from rosetta.bench import conditions
from rosetta.coordinator import Session
from rosetta.protocol.messages import Hello, Ready

PROCESSORS, VARIABLES = "processors", "thread variables"
ECHOED = (PROCESSORS, VARIABLES)
"""Disclosures by which a worker says what it computes under (SPEC section 9)."""


def differences(session: Session, ready: Ready | None) -> list[str]:
    """Sentences that go on from the worker's name; empty where all is as it was set.

    What it says counts if it runs on this machine, and what is seen if this process started it.
    """
    processors = conditions.processors(session.threads, session.device)
    if not hasattr(os, "sched_setaffinity"):
        processors = []  # nobody was bound
    variables = conditions.thread_variables(session.threads)
    found = list(_threads(session.threads, ready))
    hello = session.hello
    if hello and (session.process or hello.host == socket.gethostname()):
        found += _said(hello, processors, variables)
    if session.process:
        try:
            family = session.process.family()
        except psutil.Error:
            family = []  # it is gone: that is said elsewhere
        for process in family:
            found += _seen(process, processors, variables)
    return list(dict.fromkeys(found))


def _threads(threads: int, ready: Ready | None) -> Iterator[str]:
    if ready and ready.threads != threads:
        yield f"its READY says that it computes with {ready.threads} threads; {threads} were set"


def _said(hello: Hello, processors: Sequence[int], variables: Mapping[str, str]) -> Iterator[str]:
    told = hello.disclosures.get(PROCESSORS)
    if told and processors and told != listed(processors):
        yield f"it says that it may use the processors {told}; {listed(processors)} were set"
    if VARIABLES in hello.disclosures:
        words = [word.partition("=") for word in hello.disclosures[VARIABLES].split()]
        yield from _unlike({name: value for name, _, value in words}, variables, "it says that")


def _seen(
    process: psutil.Process, processors: Sequence[int], variables: Mapping[str, str]
) -> Iterator[str]:
    try:
        environment, allowed = process.environ(), _allowed(process.pid) if processors else []
    except (psutil.Error, OSError):
        return  # it ended meanwhile
    yield from _unlike(environment, variables, "in its process")
    whole = set(processors)
    if allowed and allowed[0] != whole:
        yield f"its process may use the processors {listed(allowed[0])}; {listed(whole)} were set"
    for one in allowed[1:]:
        if not one <= whole | allowed[0]:  # a pool may bind each of its threads to fewer
            yield f"a thread of it may use the processors {listed(one)}; {listed(whole)} were set"


def _allowed(pid: int) -> list[set[int]]:
    """The logical CPUs of each thread of a process, its first one before the others."""
    threads = {int(folder.name) for folder in Path(f"/proc/{pid}/task").iterdir()} - {pid}
    found = [os.sched_getaffinity(pid)]
    for thread in sorted(threads):
        with contextlib.suppress(ProcessLookupError):  # it ended meanwhile
            found.append(os.sched_getaffinity(thread))
    return found


def _unlike(found: Mapping[str, str], wanted: Mapping[str, str], where: str) -> Iterator[str]:
    for name, value in wanted.items():
        if found.get(name) != value:
            yield f"{where} {name} is {found.get(name, 'not set')}; {value} was set"


def listed(processors: Sequence[int] | set[int]) -> str:
    """Logical CPUs as Linux lists them: `0-3,8`."""
    runs: list[list[int]] = []
    for number in sorted(processors):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)
