"""`run.json`: everything that is needed to repeat a run."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Mapping
from importlib import metadata
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from rosetta import environments, machine
from rosetta.bench import conditions
from rosetta.bench.plan import Plan, TaskPlan
from rosetta.protocol import VERSION
from rosetta.protocol.messages import Hello
from rosetta.results import Run
from rosetta.workers import CHECKOUT, Worker

_PRIVATE = ("key", "host", "pid")
"""Fields of HELLO that a record is better off without: a secret, and what names the machine."""


def describe(plan: Plan) -> Run:
    """The record as it is known before the first worker has said anything."""
    return Run(
        run=plan.run,
        rosetta=metadata.version("rosetta-bench"),
        revision=revision(),
        protocol=VERSION,
        started=plan.started,
        command=list(plan.command),
        options=plan.options,
        tasks={task.task.name: _task(task) for task in plan.tasks},
        data={task.task.name: _data(task) for task in plan.tasks},
        workers={worker.name: _worker(worker) for worker in plan.workers},
        environment=conditions.variables(plan.threads),
        processors=conditions.processors(plan.threads, plan.device),
        inherited=machine.speed_variables(os.environ),
        machine=machine.describe(),
    )


def add_environment(run: Run, worker: Worker) -> None:
    """Keep what the environment of `worker` is made of, now that it has been made."""
    run.workers[worker.name] |= environments.pins(worker)


def add_hello(run: Run, worker: str, hello: Hello) -> None:
    """Keep what a worker said of itself."""
    content = msgspec.to_builtins(hello)
    run.workers[worker]["hello"] = {k: v for k, v in content.items() if k not in _PRIVATE}


def revision() -> str | None:
    """Git revision of the checkout, with `+` when files differ from it; None outside git."""
    try:
        described = subprocess.run(
            ["git", "describe", "--always", "--dirty=+", "--abbrev=12"],
            cwd=CHECKOUT,
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return described.stdout.strip() or None


def _worker(worker: Worker) -> dict[str, Any]:
    return {
        "status": worker.status,
        **environments.pins(worker),
        "hello": None,
    }


def _task(plan: TaskPlan) -> dict[str, Any]:
    return {
        "sha256": plan.task.digest(),
        "steps": plan.steps,
        "epochs": plan.epochs,
        "block": plan.block,
        "test_samples": plan.test_samples,
        "content": plan.task.to_wire(),
        **({"weights_sha256": _digest(plan.weights)} if plan.weights else {}),
    }


def _digest(weights: Mapping[str, NDArray[np.float32]]) -> str:
    sha = hashlib.sha256()
    for name, values in weights.items():
        sha.update(name.encode())
        sha.update(values.data)
    return sha.hexdigest()


def _data(plan: TaskPlan) -> dict[str, Any]:
    source = plan.dataset.source
    return {
        "name": plan.dataset.name,
        "label": plan.dataset.label,
        "train_samples": len(plan.dataset.train),
        "test_samples": len(plan.dataset.test),
        "kind": source.kind,
        "path": source.path,
        "sha256": dict(source.sha256),
        "warnings": list(source.warnings),
    }
