"""`rosetta prove`: the proof alone, worker by worker."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rosetta import environments
from rosetta.bench.interrupts import orderly
from rosetta.bench.launch import launch
from rosetta.coordinator import Router, Session, WorkerFailureError
from rosetta.environments import EnvironmentUnavailable
from rosetta.proof import Verdict, prove
from rosetta.scratch import ScratchFolder
from rosetta.tasks import Task
from rosetta.workers import Worker


@dataclass(frozen=True)
class Outcome:
    """What the proof of one worker on one task came to."""

    worker: str
    task: str
    verdict: Verdict | None
    reason: str | None
    """Why there is no verdict."""
    seconds: float


def proof_cache() -> Path:
    """Where the reference's slow results are kept."""
    return environments.home() / "proof"


def prove_workers(
    workers: Sequence[Worker], tasks: Sequence[Task], *, device: str, threads: int
) -> Iterator[Outcome]:
    """Prove each worker on each task that it has, in a process of its own each time."""
    unavailable = dict(_unavailable(workers))
    router = Router()
    try:
        with ScratchFolder() as scratch, orderly(router):
            for worker in workers:
                for task in tasks:
                    if task.name in worker.tasks:
                        if worker.name in unavailable:
                            reason = unavailable[worker.name]
                            yield Outcome(worker.name, task.name, None, reason, 0.0)
                            continue
                        yield _outcome(router, worker, task, device, threads, scratch)
    finally:
        router.close()


def _unavailable(workers: Sequence[Worker]) -> Iterator[tuple[str, str]]:
    """The workers whose environment can't be made, and why."""
    for name, made in environments.ensure_all(workers).items():
        if isinstance(made, EnvironmentUnavailable):
            yield name, str(made)


def _outcome(
    router: Router, worker: Worker, task: Task, device: str, threads: int, scratch: Path
) -> Outcome:
    started = time.monotonic()
    verdict, reason = None, None
    try:
        session = Session(router, worker.name, "proof", device=device, threads=threads, credit=1)
        log = scratch / f"{worker.name}.log"
        verdict = prove_in_own_process(session, worker, task, scratch=scratch, log=log)
    except WorkerFailureError as failure:
        reason = str(failure)
    return Outcome(worker.name, task.name, verdict, reason, time.monotonic() - started)


def prove_in_own_process(
    session: Session, worker: Worker, task: Task, *, scratch: Path, log: Path
) -> Verdict:
    """Start `worker` for `session`, prove it, and part: what is timed later starts afresh.

    Raises `WorkerFailureError`. The session is closed in any case.
    """
    name = f"{worker.name}.{task.name}.proof"
    try:
        file = launch(session, worker, name=name, scratch=scratch, log=log)
        session.await_hello(time.monotonic())
        file.unlink(missing_ok=True)
        verdict = prove(session, task, cache=proof_cache())
        session.bye()
        return verdict
    finally:
        session.close()
