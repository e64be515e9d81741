"""What a check is, and what comes of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta, Struct

from rosetta.tasks import Task

if TYPE_CHECKING:
    from rosetta.conformance.lab import Lab

Status = Literal["ok", "wrong", "not_asked"]
EACH_TASK = "TASK"
"""Stands in a check's name for the task, where it is made once for each that the worker has."""


class WrongError(Exception):
    """The worker did something else than the specification says; one sentence: what came."""


class NotAskedError(Exception):
    """The check can't be made of this worker; one sentence: why."""


@dataclass(frozen=True)
class Check:
    """One thing that the specification says of a worker.

    `run` makes the check and returns what came, in a few words; it raises `WrongError`,
    `NotAskedError`, or the coordinator's `WorkerFailureError`.
    """

    name: str
    section: str
    expected: str
    run: Callable[..., str]
    required: bool = True

    @property
    def each_task(self) -> bool:
        """Whether it is made once for each task: `run` then takes the small task too."""
        return EACH_TASK in self.name

    def of(self, task: Task) -> Check:
        """The check for one task."""

        def run(lab: Lab) -> str:
            lab.require_task(task.name)
            return self.run(lab, task)

        name = self.name.replace(EACH_TASK, task.name)
        return Check(name, self.section, self.expected, run, self.required)


@dataclass(frozen=True)
class Chapter:
    """Checks that belong together, in the order in which they are made."""

    name: str
    checks: list[Check] = field(default_factory=list)

    def check(
        self, name: str, section: str, expected: str, *, required: bool = True
    ) -> Callable[[Callable[..., str]], Callable[..., str]]:
        """Decorates the function that makes the check `name` of this chapter."""

        def keep(run: Callable[..., str]) -> Callable[..., str]:
            self.checks.append(Check(f"{self.name}.{name}", section, expected, run, required))
            return run

        return keep


class Outcome(Struct, frozen=True, kw_only=True):
    """What came of one check."""

    name: Annotated[str, Meta(description="chapter, task where there is one, and check")]
    status: Annotated[Status, Meta(description="`not_asked`: it can't be made of this worker")]
    required: Annotated[bool, Meta(description="false: the specification says SHOULD")]
    section: Annotated[str, Meta(description="where protocol/SPEC.md says so")]
    expected: Annotated[str, Meta(description="what the specification says, in short")]
    came: Annotated[str, Meta(description="what the worker did, or why it wasn't asked")]


class Report(Struct, frozen=True, kw_only=True):
    """A worker's conformance to the protocol."""

    protocol: Annotated[str, Meta(description="version of the protocol")]
    command: Annotated[list[str], Meta(description="how the worker was started")]
    hello: Annotated[
        dict[str, Any] | None, Meta(description="the worker's HELLO without its key, or null")
    ]
    checks: list[Outcome]
    passed: Annotated[bool, Meta(description="no required check is wrong, and one was made")]
    duration_ns: Annotated[int, Meta(ge=0, description="of the whole suite")]


def passed(outcomes: list[Outcome]) -> bool:
    """No required check is wrong, and there are some that were made."""
    wrong = any(o.required and o.status == "wrong" for o in outcomes)
    return not wrong and any(o.status == "ok" for o in outcomes)
