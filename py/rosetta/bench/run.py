"""A whole run: environments, then every task, then the summary."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from importlib import metadata
from pathlib import Path
from typing import Any

import msgspec

from rosetta import environments, machine
from rosetta.bench import conditions
from rosetta.bench.interrupts import orderly
from rosetta.bench.plan import Plan, TaskPlan
from rosetta.bench.progress import Reporter
from rosetta.bench.ratios import with_ratios
from rosetta.bench.task_run import TaskRun
from rosetta.coordinator import Router
from rosetta.environments import EnvironmentUnavailable
from rosetta.environments.state import lock_digest
from rosetta.protocol import VERSION
from rosetta.report import markdown
from rosetta.results import Row, Run, RunDirectory, Summary
from rosetta.workers import CHECKOUT, Worker


def run(plan: Plan, reporter: Reporter) -> Summary:
    """Carry out `plan` and return its summary, which is in the run directory too.

    Ctrl-C ends it early: the summary then says `interrupted` and what is missing. `UserError` is
    raised before anything is started or written where the plan can't be carried out at all.
    """
    unavailable = _make_environments(plan, reporter)
    router = Router(plan.bind)
    scratch = Path(tempfile.mkdtemp(prefix="rosetta-run-"))
    try:
        with RunDirectory(plan.out) as directory, orderly(router):
            return _Recorder(plan, reporter, router, directory, scratch, unavailable).run()
    finally:
        router.close()
        shutil.rmtree(scratch, ignore_errors=True)


def _make_environments(plan: Plan, reporter: Reporter) -> dict[str, str]:
    """Worker → why it has no environment."""
    unavailable = {}
    for worker in plan.workers:
        if worker.name in plan.joining:
            continue
        try:
            environments.ensure(worker, reporter.note)
        except EnvironmentUnavailable as error:
            unavailable[worker.name] = str(error)
            reporter.note(f"{worker.name} is skipped: {error}")
    return unavailable


class _Recorder:
    """Runs the tasks and keeps `run.json` and the summary up to date while they go on."""

    def __init__(
        self,
        plan: Plan,
        reporter: Reporter,
        router: Router,
        directory: RunDirectory,
        scratch: Path,
        unavailable: dict[str, str],
    ) -> None:
        self._plan = plan
        self._reporter = reporter
        self._router = router
        self._directory = directory
        self._scratch = scratch
        self._unavailable = unavailable
        self._rows: list[Row] = []
        self._hellos: dict[str, Any] = {}

    def run(self) -> Summary:
        self._write_run()
        self._write("running", missing=[t.task.name for t in self._plan.tasks])
        for position, task in enumerate(self._plan.tasks):
            task_run = TaskRun(
                self._plan,
                task,
                self._router,
                self._directory,
                self._reporter,
                self._scratch,
                self._unavailable,
            )
            try:
                task_run.run()
            except KeyboardInterrupt:
                self._finish(task_run, task)
                missing = [t.task.name for t in self._plan.tasks[position:]]
                return self._write("interrupted", missing)
            self._finish(task_run, task)
            self._write("running", missing=[t.task.name for t in self._plan.tasks[position + 1 :]])
        return self._write("complete", missing=[])

    def _finish(self, task_run: TaskRun, task: TaskPlan) -> None:
        for participant in task_run.participants:
            if participant.session and participant.session.hello:
                hello = msgspec.to_builtins(participant.session.hello)
                hello.pop("key")
                self._hellos[participant.name] = hello
        self._rows += with_ratios(task_run.rows(), task_run.participants, self._plan.baseline)
        self._write_run()

    def _write(self, state: Any, missing: list[str]) -> Summary:
        summary = Summary(
            run=self._plan.run,
            state=state,
            baseline=self._plan.baseline,
            notes=list(self._plan.notes),
            missing=missing,
            rows=self._rows,
        )
        self._directory.write_summary(summary, markdown(summary))
        return summary

    def _write_run(self) -> None:
        plan = self._plan
        self._directory.write_run(
            Run(
                run=plan.run,
                rosetta=metadata.version("rosetta-bench"),
                revision=revision(),
                protocol=VERSION,
                started=plan.started,
                command=list(plan.command),
                options=plan.options,
                tasks={t.task.name: _task_record(t) for t in plan.tasks},
                data={t.task.name: _data_record(t) for t in plan.tasks},
                workers={w.name: self._worker_record(w) for w in plan.workers},
                environment=conditions.variables(plan.threads),
                machine=machine.describe(),
            )
        )

    def _worker_record(self, worker: Worker) -> dict[str, Any]:
        return {
            "status": worker.status,
            "python": worker.environment.python,
            "lock_sha256": lock_digest(worker),
            "hello": self._hellos.get(worker.name),
        }


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


def _task_record(plan: TaskPlan) -> dict[str, Any]:
    return {
        "sha256": plan.task.digest(),
        "steps": plan.steps,
        "epochs": plan.epochs,
        "test_samples": plan.test_samples,
        "content": plan.task.to_wire(),
    }


def _data_record(plan: TaskPlan) -> dict[str, Any]:
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
