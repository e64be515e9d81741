"""`rosetta conform`: whether a worker speaks the protocol."""

from __future__ import annotations

import dataclasses
import os
import shlex
import shutil
from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
from typer.core import TyperCommand

from rosetta import environments, machine, workers
from rosetta.bench import conditions, interrupts, launch
from rosetta.bench.proving import proof_cache
from rosetta.cli import completion, options
from rosetta.conformance import Outcome, Report, Subject, conform, listing, names
from rosetta.conformance.worker_under_test import PLACEHOLDER
from rosetta.coordinator import Deadlines
from rosetta.errors import UserError

_MARKS = {"ok": "ok        ", "wrong": "NOT       ", "not_asked": "not asked "}
_BEHIND = "behind"


class Command(TyperCommand):
    """Remembers what stands behind `--`: the command line of a worker."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As ever, with a note in the context; None: there was no `--`."""
        ctx.meta[_BEHIND] = args[args.index("--") + 1 :] if "--" in args else None
        return super().parse_args(ctx, args)


def command(
    context: typer.Context,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="WORKER | -- COMMAND...",
            help="Worker, or the command line of one, with {connection_file} in it or behind it",
            autocompletion=completion.worker,
        ),
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="Prove it at the tasks' own sizes too (minutes)")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the report as JSON")] = False,
    check: Annotated[
        list[str] | None, typer.Option(help="Only this check or chapter; repeat or use commas")
    ] = None,
    every: Annotated[
        bool, typer.Option("--list", help="Only list all checks, as a Markdown table")
    ] = False,
    threads: Annotated[
        int | None, typer.Option(min=1, max=65536, help="Threads of the worker [all CPUs]")
    ] = None,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:1 …")] = "cpu",
    patience: Annotated[
        float | None, typer.Option(min=1, help="Most seconds for any answer [those of the SPEC]")
    ] = None,
) -> int:
    """Run a worker through the whole protocol: a line for each check of protocol/SPEC.md.

    Exit code 0 only if it does all that the specification requires.
    """
    if every:
        print(listing(), end="")
        return 0
    chosen = options.split(check)
    _require_known(chosen)
    count = threads or machine.usable_cpus()
    subject = _subject(words or [], context.meta[_BEHIND], count, device)
    subject = dataclasses.replace(
        subject, device=device, deadlines=_deadlines(patience), cache=proof_cache()
    )
    report = _conform(
        subject,
        full=full,
        only=lambda name: not chosen or any(_is_in(name, part) for part in chosen),
        tell=(lambda outcome: None) if json else _show,
    )
    if json:
        print(msgspec.json.format(msgspec.json.encode(report)).decode())
    else:
        _conclude(report, whole=not chosen)
    return 0 if report.passed else 1


def _subject(words: list[str], behind: list[str] | None, threads: int, device: str) -> Subject:
    """What is tested: a worker by name, or the command line `behind` the dashes.

    Raises `UserError`.
    """
    processors = conditions.processors(threads, device)
    if behind and behind == words:
        variables = launch.variables(threads)
        return Subject(_absolute(words), variables, processors=processors, threads=threads)
    if len(words) != 1 or behind:
        raise UserError(
            "name one worker, or write its command line behind --, such as: "
            "rosetta conform -- node worker.js {connection_file}"
        )
    worker = workers.get(words[0])
    interpreter = environments.ensure(worker, options.say).interpreter
    assert interpreter is not None  # `ensure` has made it or raised
    argv = worker.command(interpreter, PLACEHOLDER)
    return Subject(
        argv,
        launch.variables(threads, worker),
        worker.name,
        processors=processors,
        threads=threads,
        harness=worker.harness,
    )


def _absolute(words: list[str]) -> list[str]:
    """A command line that can be started from the worker's working folder, which is another one.

    Paths that lead somewhere from here are made absolute: names of files, and what has a slash.
    """
    program = shutil.which(words[0])
    if program is None:
        raise UserError(f"no program {words[0]!r}: nothing on the PATH, and no such file")
    return [str(Path(program).absolute()), *map(_from_here, words[1:])]


def _from_here(word: str) -> str:
    path = Path(word)
    leads_somewhere = path.is_file() or (os.sep in word and path.exists())
    return str(path.absolute()) if leads_somewhere else word


def _conform(subject: Subject, **options: Any) -> Report:
    """The suite; Ctrl-C and the like end it, and leave nothing of it."""
    try:
        with interrupts.at_once():
            return conform(subject, **options)
    except KeyboardInterrupt:
        raise typer.Abort from None  # typer would end without a word


def _deadlines(patience: float | None) -> Deadlines:
    if patience is None:
        return Deadlines()
    return Deadlines(**{field.name: patience for field in dataclasses.fields(Deadlines)})


def _require_known(chosen: list[str]) -> None:
    """Raises `UserError` for a name that is no check's and no chapter's."""
    for part in chosen:
        if not any(_is_in(name, part) for name in names()):
            chapters = dict.fromkeys(name.partition(".")[0] for name in names())
            raise UserError(f"no check {part!r}: the chapters are {', '.join(chapters)}")


def _is_in(name: str, part: str) -> bool:
    return name == part or name.startswith(part + ".")


def _show(outcome: Outcome) -> None:
    mark = _MARKS[outcome.status]
    if outcome.status == "ok":
        line = f"{outcome.expected} | {outcome.came}"
    elif outcome.status == "not_asked":
        line = outcome.came
    else:
        only = "" if outcome.required else " (recommended only)"
        line = f"expected: {outcome.expected} | came: {outcome.came}{only}"
    print(f"{mark}{outcome.name}: {line} (SPEC {outcome.section})", flush=True)


def _conclude(report: Report, *, whole: bool) -> None:
    """`whole`: all checks were asked for."""
    counts = Counter(outcome.status for outcome in report.checks)
    wrong = [o.name for o in report.checks if o.status == "wrong" and o.required]
    asked = f"{counts['ok']} ok, {counts['wrong']} NOT, {counts['not_asked']} not asked"
    words = f"in {report.duration_ns / 1e9:.0f} s of {shlex.join(report.command)}"
    print(f"\n{asked}, {words}")
    verdict = (
        ("it conforms" if whole else "these checks pass")
        if report.passed
        else f"it does not conform: {', '.join(wrong) or 'nothing was asked'}"
    )
    print(verdict)
