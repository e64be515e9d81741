"""The commands put together, and what happens to their errors."""

from __future__ import annotations

import io
import logging
import sys

import typer

from rosetta.cli import (
    bench,
    closed_pipe,
    compare,
    conform,
    data,
    doctor,
    env,
    harness,
    new,
    prove,
    report,
    show,
    stone,
    sweep,
    table,
    tape,
    worker,
    workers,
)
from rosetta.errors import UserError, one_line
from rosetta.workers import CHECKOUT, PY_FOLDER

app = typer.Typer(
    name="rosetta",
    help="Trains the same network in many frameworks, on the same batches, and times it.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command("bench")(bench.command)
app.command("prove")(prove.command)
app.command("conform", cls=conform.Command)(conform.command)
app.command("worker")(worker.command)
app.command("new")(new.command)
app.add_typer(tape.app, name="tape")
app.command("workers")(workers.command)
app.command("data")(data.command)
app.add_typer(env.app, name="env")
app.command("doctor")(doctor.command)
app.command("show")(show.command)
app.command("table")(table.command)
app.command("report")(report.command)
app.command("stone")(stone.command)
app.command("harness")(harness.command)
app.command("compare")(compare.command)
app.command("sweep", context_settings=sweep.SETTINGS)(sweep.command)


def main() -> None:
    """Entry point. A mistake of the user's is one line on standard error and exit code 2."""
    for stream in (sys.stdout, sys.stderr):  # a terminal that knows ASCII only gets "?"
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    logging.basicConfig(level=logging.WARNING, format="rosetta: %(message)s")
    try:
        _refuse_without_a_checkout()
        with closed_pipe.ends_silently():
            sys.exit(app(sys.argv[1:] or ["--help"], prog_name="rosetta", standalone_mode=False))
    except typer.TyperException as error:
        _complain(error.format_message())
        sys.exit(2)
    except UserError as error:
        _complain(str(error))
        sys.exit(2)
    except OSError as error:  # no space, no permission, …: wherever it happens, it's the machine's
        where = f"{error.filename}: " if error.filename else ""
        _complain(f"{where}{error.strerror or error}")
        sys.exit(2)
    except (KeyboardInterrupt, typer.Abort):
        _complain("interrupted")
        sys.exit(130)


def _refuse_without_a_checkout() -> None:
    """Installed from a wheel, Rosetta has neither tasks nor workers. Raises UserError."""
    if not (CHECKOUT / "protocol" / "tasks").is_dir():
        raise UserError(
            f"{PY_FOLDER / 'rosetta'} is a copy outside a checkout, without the tasks and the "
            "workers: clone Rosetta's repository, and there use `make bench` or `make run`"
        )


def _complain(sentence: str) -> None:
    try:
        print("rosetta: " + one_line(sentence), file=sys.stderr)
    except BrokenPipeError:
        closed_pipe.silence()  # the exit code says it still
