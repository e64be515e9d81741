"""The worker under test: its process, and whatever is said to it, right or wrong."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rosetta.conformance import frames
from rosetta.conformance.check import WrongError
from rosetta.conformance.frames import Header
from rosetta.coordinator import Deadlines, Process, Router, Session, SharedMemory
from rosetta.protocol import VERSION, Arrays, messages
from rosetta.protocol.messages import Error, Message
from rosetta.tasks import Task

State = Literal["greeting", "idle", "set up"]
CREDIT = 8
"""What WELCOME grants; checks have less or as much under way."""

PLACEHOLDER = "{connection_file}"
ArrayMap = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class Subject:
    """What is tested, and the conditions under which it is."""

    argv: list[str]
    """Its command line, in which `{connection_file}` is replaced; else that is appended."""
    variables: Mapping[str, str]
    """The environment of its process."""
    name: str = "worker"
    processors: Sequence[int] = ()
    """The logical CPUs that it may run on; empty: any."""
    device: str = "cpu"
    threads: int = 1
    harness: bool = False
    """It measures the harness and computes nothing: its numbers mean nothing."""
    deadlines: Deadlines = field(default_factory=Deadlines)
    cache: Path | None = None
    """Where the reference's slow results are kept."""

    def command(self, connection_file: Path) -> list[str]:
        """The command line for one process."""
        file = str(connection_file)
        if any(PLACEHOLDER in argument for argument in self.argv):
            return [argument.replace(PLACEHOLDER, file) for argument in self.argv]
        return [*self.argv, file]


class WorkerUnderTest(Session):
    """A session that can also say what no coordinator would, and keeps count of what it hears."""

    def __init__(self, router: Router, subject: Subject) -> None:
        super().__init__(
            router,
            subject.name,
            "conformance",
            device=subject.device,
            threads=subject.threads,
            deadlines=subject.deadlines,
            credit=CREDIT,
        )
        self.subject = subject
        self.state: State = "greeting"
        self.task: Task | None = None
        self.step = 0
        self.shared: SharedMemory | None = None
        self.folder = Path()
        self.file = Path()
        self.started = 0.0
        self.ids: list[int] = []
        self.longest: dict[str, float] = {}
        self.strangers = router.strangers

    def start(self, folder: Path, variables: Mapping[str, str], parent: Sequence[str] = ()) -> None:
        """Start its process in an empty folder below `folder`; the connection file is written.

        `parent`: the command line of a process that starts the one behind it.
        """
        self.folder = folder / "working"
        self.folder.mkdir()
        command = [*parent, *self.subject.command(self.file)]
        self.started = time.monotonic()
        self.process = Process(
            command, variables, folder / "log", self.folder, self.subject.processors
        )

    @property
    def is_known_again(self) -> bool:
        """Whether it has chosen a routing id: those that libzmq makes begin with a zero byte."""
        return self.identity is not None and self.identity[:1] != b"\0"

    def exited(self) -> bool:
        """Its process has exited; not reaped here, for that ends what it has left behind."""
        assert self.process
        try:
            return self.process.is_waiting_to_be_reaped()
        except ChildProcessError:
            return True

    # --- hearing --------------------------------------------------------------------------------

    def greeted(self, identity: bytes, hello: messages.Hello) -> None:
        """The worker's HELLO came."""
        super().greeted(identity, hello)
        self.ids.append(hello.id)

    def deliver(self, message: Message, arrays: Arrays) -> None:
        """Another message of the worker came."""
        self.ids.append(message.id)
        super().deliver(message, arrays)

    def greet(self) -> messages.Hello:
        """Wait for its HELLO."""
        start = self.deadlines.start
        self.wait_until(lambda: self.hello is not None, start, "HELLO", since=self.started)
        self._took("start", self.started)
        assert self.hello is not None
        return self.hello

    def hear(self, awaited: str, phase: str = "step") -> tuple[Message, Arrays]:
        """Its next message, whatever it is, within the deadline of `phase`."""
        since = time.monotonic()
        seconds: float = getattr(self.deadlines, phase)
        self.wait_until(lambda: bool(self.inbox), seconds, awaited)
        self._took(phase, since)
        return self.inbox.popleft()

    def hear_answer(self, kind: str, re: int, phase: str = "step") -> tuple[Any, Arrays]:
        """Its next message, which must be a `kind` that answers `re`. Raises `WrongError`."""
        message, arrays = self.hear(f"{kind} re {re}", phase)
        if messages.type_of(type(message)) != kind or getattr(message, "re", None) != re:
            raise WrongError(f"{shown(message)} where {kind} re {re} was due")
        return message, arrays

    # --- saying ---------------------------------------------------------------------------------

    def say(
        self,
        kind: str,
        fields: Mapping[Any, Any] | None = None,
        arrays: ArrayMap | None = None,
        *parts: bytes,
    ) -> int:
        """Send a message whose header is `fields` and what `arrays` adds; returns its id."""
        header: Header = {"type": kind, "id": self.router.next_id()}
        if arrays:
            header["arrays"] = frames.described(arrays)
            parts = (*frames.bytes_of(arrays), *parts)
        header.update(fields or {})
        self.send([frames.pack(header), *parts])
        return int(header["id"])

    def welcome(
        self, shared: SharedMemory | None = None, reconnect_ns: int = 10**10, **more: Any
    ) -> int:
        """Send WELCOME, with `more` keys; returns its id."""
        assert self.hello is not None
        fields: Header = {
            "re": self.hello.id,
            "protocol": VERSION,
            "credit": CREDIT,
            "reconnect_ns": reconnect_ns,
        }
        if shared:
            fields["shm"] = {"path": shared.path, "size_bytes": shared.size_bytes}
        self.shared, self.state = shared, "idle"
        return self.say("WELCOME", {**fields, **more})

    def setup_fields(self, task: Task, **changes: Any) -> Header:
        """The fields of a right SETUP for `task`, but for its arrays."""
        return {
            "task": task.to_wire(),
            "batch_size": task.training.batch_size,
            "seed": 1,
            "dropout": False,
            "threads": self.subject.threads,
            **changes,
        }

    def set_up(
        self, task: Task, parameters: Mapping[str, NDArray[np.float32]], **changes: Any
    ) -> messages.Ready:
        """Have the network of `task` built; what READY says isn't looked at."""
        number = self.say("SETUP", self.setup_fields(task, **changes), parameters)
        return self.hear_ready(task, number)

    def hear_ready(self, task: Task, number: int) -> messages.Ready:
        """The answer to SETUP `number`."""
        ready, _ = self.hear_answer("READY", number, "setup")
        self.state, self.task, self.step = "set up", task, 0
        assert isinstance(ready, messages.Ready)
        return ready

    def train_on(
        self, inputs: NDArray[Any], labels: NDArray[Any], rate: float | None = None
    ) -> messages.Result:
        """One step."""
        number = self.say_batch(inputs, labels, rate)
        result, _ = self.hear_answer("RESULT", number, self._step_phase())
        assert isinstance(result, messages.Result)
        return result

    def say_batch(
        self, inputs: NDArray[Any], labels: NDArray[Any], rate: float | None = None
    ) -> int:
        """Send the next step's BATCH; returns its id."""
        fields: Header = {"step": self.step}
        if rate is not None:
            fields["learning_rate"] = rate
        self.step += 1
        return self.say("BATCH", fields, {"inputs": inputs, "labels": labels})

    def logits(self, inputs: NDArray[Any]) -> NDArray[np.float32]:
        """What it predicts: checked for its shape."""
        assert self.task is not None
        number = self.say("PREDICT", {}, {"inputs": inputs})
        _, arrays = self.hear_answer("PREDICTIONS", number, "first_step")
        return read_logits(arrays, (len(inputs), self.task.classes))

    def values(self) -> Arrays:
        """Its present parameters."""
        number = self.say("PARAMETERS")
        return self.hear_answer("VALUES", number)[1]

    def end_task(self) -> None:
        """END, and its answer."""
        self.hear_answer("ENDED", self.say("END"), "end")
        self.state, self.task = "idle", None

    def _step_phase(self) -> str:
        return "first_step" if self.step <= 1 else "step"

    def _took(self, phase: str, since: float) -> None:
        seconds = time.monotonic() - since
        self.longest[phase] = max(self.longest.get(phase, 0.0), seconds)


def read_logits(arrays: Arrays, shape: tuple[int, int]) -> NDArray[np.float32]:
    """The array `logits` of a PREDICTIONS. Raises `WrongError`."""
    found = arrays.get("logits")
    if found is None:
        raise WrongError(f"PREDICTIONS with the arrays {list(arrays)}, and no `logits`")
    if found.shape != shape or found.dtype != np.float32:
        raise WrongError(f"logits {found.dtype} {list(found.shape)}, not float32 {list(shape)}")
    return found


def shown(message: Message) -> str:
    """A message in a few words."""
    kind, re = messages.type_of(type(message)), getattr(message, "re", None)
    about = f" re {re}" if re is not None else ""
    if isinstance(message, Error):
        fatal = ", fatal" if message.fatal else ""
        return f"ERROR {message.code}{about}{fatal} ({message.message})"
    return f"{kind}{about}"
