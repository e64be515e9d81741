"""A whole run: environments, then every task, then the summary."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Literal

from rosetta import environments
from rosetta.bench import observing, record
from rosetta.bench.context import Context
from rosetta.bench.features import FeatureFile
from rosetta.bench.interrupts import orderly
from rosetta.bench.peak import matrix_peak
from rosetta.bench.plan import Plan, TaskPlan
from rosetta.bench.progress import Reporter
from rosetta.bench.ratios import why_no_ratios, with_ratios
from rosetta.bench.resume import Earlier, continued
from rosetta.bench.task_run import TaskRun
from rosetta.coordinator import Router, SharedMemory
from rosetta.environments import EnvironmentUnavailable
from rosetta.errors import UserError
from rosetta.report import markdown
from rosetta.report.html import write_or_say
from rosetta.results import Row, RunDirectory, Summary
from rosetta.scratch import ScratchFolder


def run(plan: Plan, reporter: Reporter) -> Summary:
    """Carry out `plan` and return its summary, which is in the run directory too.

    Ctrl-C ends it early: the summary then says `interrupted` and what is missing. `UserError` is
    raised before anything is made or started where the plan can't be carried out at all.
    """
    router = Router(plan.bind, encrypted=plan.encrypt)
    shared = SharedMemory.where_possible() if plan.plane == "shm" else None
    try:
        with (
            ScratchFolder() as scratch,
            RunDirectory(plan.out, resume=plan.earlier is not None) as directory,
        ):
            if plan.earlier:
                plan.earlier.check_still_the_last()
            context = Context(plan, router, directory, reporter, scratch, shared)
            if plan.features:
                names, resume = plan.image_names(), plan.earlier is not None
                context.features = FeatureFile(plan.features, names, plan.run, resume=resume)
            return _Run(context).run()
    finally:
        router.close()
        if shared:
            shared.close()


class _Run:
    """Goes through the tasks, and keeps `run.json` and the summary up to date meanwhile."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._plan = context.plan
        self._record = record.describe(context.plan)
        self._rows: list[Row] = []
        self._left = list(context.plan.tasks)
        self._resumed: list[str] = []
        self._notes = [*context.plan.warnings, *context.plan.notes]
        if context.plan.schedule == "sequential" and context.plan.repeats == 1:
            self._notes.append(
                "one worker after the other, once: how the machine changed meanwhile is in the "
                "ratios, and isn't known (--repeats)"
            )
        if context.plan.earlier:
            self._go_on(context.plan.earlier)

    def run(self) -> Summary:
        for warning in self._plan.warnings:
            self._context.reporter.note(warning)
        self._context.directory.write_run(self._record)
        left = self._left
        self._write("running", left)
        try:
            self._make_environments()
            self._measure_peak()
            self._context.directory.write_run(self._record)
            with orderly(self._context.router):
                while left:
                    self._run_task(left[0])
                    left.pop(0)
                    self._write("running", left)
        except KeyboardInterrupt:
            return self._write("interrupted", left)
        except BaseException:
            # A full disk, for instance: what can still be written is, and the cause goes on.
            with contextlib.suppress(UserError):
                self._write("interrupted", left)
            raise
        return self._write("complete", left)

    def _go_on(self, earlier: Earlier) -> None:
        self._record, differences = continued(earlier, self._record)
        planned = [task.task.name for task in self._left]
        self._rows = earlier.rows(planned)
        again = {row.task for row in earlier.summary.rows} - {row.task for row in self._rows}
        self._left = [t for t in self._left if t.task.name in earlier.left(planned)]
        self._resumed = [*earlier.summary.resumed, self._plan.started]
        self._notes = list(dict.fromkeys([*earlier.summary.notes, *self._notes, *differences]))
        self._notes += [f"resumed: {task} was begun anew" for task in planned if task in again]

    def _make_environments(self) -> None:
        reporter = self._context.reporter
        started = [w for w in self._plan.workers if w.name not in self._plan.joining]
        made = environments.ensure_all(started, reporter.note)
        for worker in started:
            result = made[worker.name]
            if isinstance(result, EnvironmentUnavailable):
                self._context.unavailable[worker.name] = str(result)
                reporter.note(f"{worker.name} is skipped: {result}")
            else:
                record.add_environment(self._record, worker)

    def _measure_peak(self) -> None:
        """On a CPU; a run that is gone on with keeps what its rows were compared with."""
        plan = self._plan
        if plan.earlier and plan.earlier.summary.matrix_peak_flops:
            self._context.matrix_peak = plan.earlier.summary.matrix_peak_flops
        elif plan.device == "cpu":
            self._context.matrix_peak = matrix_peak(plan.threads)

    def _run_task(self, task: TaskPlan) -> None:
        task_run = TaskRun(self._context, task)
        try:
            task_run.run()
        finally:
            participants = task_run.participants
            for participant in participants:
                if participant.session and participant.session.hello:
                    record.add_hello(self._record, participant.name, participant.session.hello)
            plan = self._plan
            paired = plan.schedule == "interleaved" or plan.repeats > 1
            rows = with_ratios(task_run.rows(), participants, plan.baseline, paired=paired)
            self._rows += rows
            self._notes += why_no_ratios(rows, self._plan.baseline)
            self._notes += observing.notes(task.task.name, participants)
            with contextlib.suppress(UserError):  # the summary's own write tells
                self._context.directory.write_run(self._record)

    def _write(
        self, state: Literal["running", "complete", "interrupted"], left: Sequence[TaskPlan]
    ) -> Summary:
        unwritten = None if state == "running" else self._write_features()
        summary = Summary(
            run=self._plan.run,
            state=state,
            baseline=self._plan.baseline,
            matrix_peak_flops=self._context.matrix_peak,
            notes=self._notes,
            missing=[task.task.name for task in left],
            resumed=self._resumed,
            unwritten=unwritten,
            rows=self._rows,
        )
        self._context.directory.write_summary(summary, markdown(summary, self._record))
        if state != "running":
            write_or_say(self._context.directory.path, self._context.reporter.note)
        return summary

    def _write_features(self) -> str | None:
        """Write them where that was asked for; why they couldn't be written."""
        try:
            if self._context.features:
                self._context.features.write()
        except UserError as error:  # the results are worth more, and are written all the same
            return str(error)
        return None
