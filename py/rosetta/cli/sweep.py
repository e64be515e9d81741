"""`rosetta sweep`: the same bench at several batch sizes and numbers of threads."""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from rosetta.cli import as_json, options
from rosetta.cli.show import show_sweep
from rosetta.errors import UserError
from rosetta.report.html import write_or_say
from rosetta.results.directory import new_run_id

SETTINGS = {"allow_extra_args": True, "ignore_unknown_options": True}
Point = tuple[int | None, int | None]
"""(batch size, threads); None: what the task or the machine has."""


def command(
    context: typer.Context,
    batch_size: Annotated[str | None, typer.Option(help="Batch sizes: 1,8,64,256")] = None,
    threads: Annotated[str | None, typer.Option(help="Numbers of threads: 1,2")] = None,
    out: Annotated[Path | None, typer.Option(help="Directory for the runs [runs/<time>]")] = None,
    json: as_json.Option = False,
) -> int:
    """Run `rosetta bench` at every combination, and print the samples/s of each beside each other.

    Every other option is passed on to `rosetta bench`. Each combination is a run of its own, in a
    folder of the sweep's; one that ends badly is said, and the others go on.

    --json prints a result file with all the runs (protocol/schema/results/results.json).
    """
    if batch_size is None and threads is None:
        raise UserError("a sweep needs --batch-size or --threads, with several numbers")
    points = list(
        itertools.product(_numbers("--batch-size", batch_size), _numbers("--threads", threads))
    )
    if any(word.split("=")[0] == "--features" for word in context.args):
        raise UserError("a sweep's runs would write over each other's --features: leave it out")
    folder = out or Path("runs") / new_run_id()
    if folder.exists() and any(folder.iterdir()):
        raise UserError(f"{folder} is not empty: choose another --out")
    worst = 0
    for number, point in enumerate(points, 1):
        options.say(f"sweep: {_words(point)} ({number} of {len(points)})")
        status = _bench(point, folder / _name(point), context.args)
        worst = max(worst, status)
        if status == 130:
            break
        if status == 2 and number == 1:  # the options are wrong for all of them
            return worst
    if not any(folder.glob("*/summary.json")):
        return worst
    write_or_say(folder, options.say)
    show_sweep(folder, json=json)
    return worst


def _bench(point: Point, folder: Path, more: list[str]) -> int:
    batch_size, threads = point
    chosen = ["--batch-size", str(batch_size)] if batch_size else []
    chosen += ["--threads", str(threads)] if threads else []
    command_line = [sys.executable, "-m", "rosetta", "bench", *more, *chosen, "--out", str(folder)]
    with subprocess.Popen(command_line, stdout=subprocess.DEVNULL) as child:
        try:
            status = child.wait()
        except KeyboardInterrupt:  # the bench has heard it too, and writes what it has
            child.wait()
            return 130
    return status if status >= 0 else 1


def _numbers(option: str, text: str | None) -> list[int | None]:
    if text is None:
        return [None]
    words = options.split([text])
    if not words or not all(word.isascii() and word.isdecimal() and int(word) for word in words):
        raise UserError(f"{option} {text!r}: positive numbers, separated with commas")
    return [int(word) for word in words]


def _words(point: Point) -> str:
    batch_size, threads = point
    parts = [f"batch {batch_size}"] if batch_size else []
    parts += [f"{threads} thread{'s' * (threads > 1)}"] if threads else []
    return ", ".join(parts)


def _name(point: Point) -> str:
    return _words(point).replace(", ", "-").replace(" ", "_")
