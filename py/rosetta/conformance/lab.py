"""Where checks get their workers from: one process as long as it is good, else a fresh one."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rosetta.conformance import small
from rosetta.conformance.check import NotAskedError, WrongError
from rosetta.conformance.small import sensitive_parameters
from rosetta.conformance.traces import Departure, Traces, clear
from rosetta.conformance.worker_under_test import Subject, WorkerUnderTest, shown
from rosetta.coordinator import Router, SharedMemory, WorkerFailureError
from rosetta.protocol.messages import Hello
from rosetta.scratch import ScratchFolder
from rosetta.tasks import Task
from rosetta.tasks.forms import in_form


class Lab:
    """One suite's router, folders and workers. Everything ends with its `with`."""

    def __init__(self, subject: Subject, *, full: bool = False) -> None:
        """`full`: the proof is made at the tasks' own sizes too."""
        self.subject = subject
        self.full = full
        self.hello: Hello | None = None
        self.declined: str | None = None
        """What it said when it left, since it can't compute as it was asked to; None: it hasn't."""
        self.longest: dict[str, float] = {}
        self.timeouts: list[str] = []
        self.departures: list[Departure] = []
        self.traces = Traces()
        self._router = Router()
        self._scratch = ScratchFolder()
        self._workers: list[WorkerUnderTest] = []
        self._current: WorkerUnderTest | None = None
        self._shared: SharedMemory | None = None
        self._number = 0
        self._ids: list[list[int]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for worker in list(self._workers):
            self.close(worker)
        self._router.close()
        if self._shared:
            self._shared.close()
        self._scratch.remove()

    # --- workers ----------------------------------------------------------------------------------

    def start(
        self, *, router: Router | None = None, parent: Sequence[str] = (), **changes: Any
    ) -> WorkerUnderTest:
        """A worker of its own for one check, started; `changes` are those of its connection file.

        A value of None takes a key away. `parent` is a command that starts it, where that isn't us.
        It is closed with `close`.
        """
        self._number += 1
        folder = self._scratch.path.resolve() / str(self._number)
        folder.mkdir()
        worker = WorkerUnderTest(router or self._router, self.subject)
        self._workers.append(worker)
        worker.file = folder / "connection.json"
        worker.write_connection_file(worker.file)
        if changes:
            content = json.loads(worker.file.read_text(encoding="utf-8"))
            content = {k: v for k, v in {**content, **changes}.items() if v is not None}
            worker.file.write_text(json.dumps(content), encoding="utf-8")
        variables = {**self.subject.variables, **self.traces.variables(worker)}
        worker.start(folder, variables, parent)
        return worker

    def close(self, worker: WorkerUnderTest) -> None:
        """End a worker's process if it runs, and keep what is known of it."""
        worker.close()
        clear(worker)
        self._workers.remove(worker)
        if worker is self._current:
            self._current = None
        self._ids.append(worker.ids)
        for phase, seconds in worker.longest.items():
            self.longest[phase] = max(self.longest.get(phase, 0.0), seconds)
        shutil.rmtree(worker.folder.parent, ignore_errors=True)

    def greeting(self) -> WorkerUnderTest:
        """The common worker after its HELLO and before any WELCOME."""
        worker = self._current
        if worker is None or worker.state != "greeting":
            self.renew()
            worker = self._current = self.start()
        self.hello = worker.greet()
        return worker

    def idle(self, *, shared: bool | None = None) -> WorkerUnderTest:
        """The common worker without a network; `shared`: with the plane `shm`, or without it."""
        worker = self._current
        if worker is None or shared not in (None, worker.shared is not None):
            self.renew()
        worker = self._current or self.greeting()
        if worker.state == "greeting":
            worker.welcome(self._memory() if shared else None)
        elif worker.state == "set up":
            worker.end_task()
        return worker

    def ready(
        self, task: Task | None = None, *, shared: bool | None = None, anew: bool = False
    ) -> WorkerUnderTest:
        """The common worker with a network for `task` (by default: the first of its own).

        It may have been trained already, unless it is to be built `anew`.
        """
        task = task or self.any_task()
        worker = self._current
        fits = worker is not None and (shared is None or shared is (worker.shared is not None))
        if worker and fits and worker.state == "set up" and worker.task == task and not anew:
            return worker
        worker = self.idle(shared=shared)
        worker.set_up(task, self.parameters(task))
        return worker

    def renew(self) -> None:
        """Let the next check have a fresh worker."""
        if self._current:
            self.close(self._current)

    def settle(self) -> None:
        """The common worker has answered all that was asked. Raises `WrongError` if it says more"""
        worker = self._current
        if worker is None:
            return
        worker.router.pump(0)
        if worker.inbox:
            raise WrongError(f"{shown(worker.inbox[0][0])}, for which nothing asked")
        if worker.exited():
            assert worker.process
            reason = worker.process.exit_reason() or ""
            raise WorkerFailureError("crashed", reason)

    def sessions(self) -> list[list[int]]:
        """The ids of the messages of every session so far."""
        return [*self._ids, *(worker.ids for worker in self._workers)]

    # --- what can be asked ------------------------------------------------------------------------

    def tasks(self) -> list[Task]:
        """The small networks of the tasks that the worker has, in the forms that it has."""
        has = self.hello.tasks if self.hello else ()
        return [task for task in self.all_tasks() if task.name in has]

    def all_tasks(self) -> list[Task]:
        """The small networks of all tasks, in the forms that the worker has."""
        forms = self.hello.forms if self.hello else {}
        return [in_form(small.small(name), forms) for name in small.NAMES]

    def any_task(self) -> Task:
        """A task of the worker's. Raises `NotAskedError`."""
        found = self.tasks()
        if not found:
            known = ", ".join(small.NAMES)
            raise NotAskedError(f"its HELLO has none of the tasks {known}")
        return found[0]

    def require_task(self, name: str) -> None:
        """Raises `NotAskedError` for a worker that doesn't have the task."""
        if self.hello is None or name not in self.hello.tasks:
            raise NotAskedError(f"it doesn't have the task {name}")

    def require_plane(self, plane: str) -> None:
        """Raises `NotAskedError` for a worker that didn't declare the plane."""
        if self.hello is None or plane not in self.hello.planes:
            raise NotAskedError(f"its HELLO doesn't have the plane {plane}")
        if plane == "shm" and self._memory() is None:
            raise NotAskedError("this machine has no memory that can be shared")

    def require_numbers(self) -> None:
        """Raises `NotAskedError` for a worker that measures the harness."""
        if self.subject.harness:
            raise NotAskedError("a worker of the harness computes nothing")

    def parameters(self, task: Task) -> dict[str, NDArray[np.float32]]:
        """Initial parameters of `task`, none of which are zero."""
        return sensitive_parameters(task)

    def _memory(self) -> SharedMemory | None:
        if self._shared is None:
            self._shared = SharedMemory.where_possible()
        return self._shared


def same(found: Mapping[str, NDArray[Any]], expected: Mapping[str, NDArray[Any]]) -> str | None:
    """The first array that differs, in a few words; None when all are the same to the bit."""
    if list(found) != list(expected):
        return f"arrays {list(found)}"
    for name, values in expected.items():
        other = found[name]
        if other.dtype != values.dtype or other.shape != values.shape:
            return f"{name} is {other.dtype} {list(other.shape)}"
        if other.tobytes() != values.tobytes():
            return f"{name} has other values"
    return None
