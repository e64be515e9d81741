"""The runs that paths mean: run directories, summaries, result files, folders of sweeps."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import msgspec

from rosetta.errors import UserError
from rosetta.report.result_file import ResultFile, RunResult, result_of
from rosetta.results import read_run, read_summary

SUMMARY = "summary.json"


def find(paths: Iterable[Path]) -> list[RunResult]:
    """The runs at `paths`, in order, each once. Raises UserError where there is none."""
    found = [result for path in paths for result in _at(path)]
    once: list[RunResult] = []
    for result in found:
        if not any(result.summary == other.summary for other in once):
            once.append(result)
    return once


def run_folders(folder: Path) -> list[Path]:
    """The run directories in a sweep's folder, in the order of the numbers in their names."""
    return sorted((file.parent for file in folder.glob(f"*/{SUMMARY}")), key=_by_numbers)


def is_sweep(path: Path) -> bool:
    """Whether `path` is a folder of runs, and no run itself."""
    return path.is_dir() and not (path / SUMMARY).exists() and bool(run_folders(path))


def _at(path: Path) -> list[RunResult]:
    if is_sweep(path):
        return [_of_run(folder) for folder in run_folders(path)]
    if path.is_dir():
        return [_of_run(path)]
    return _of_file(path)


def _of_run(folder: Path) -> RunResult:
    has_record = (folder / "run.json").exists()
    name = folder.name or folder.resolve().name  # `.` has none
    return result_of(name, read_summary(folder), read_run(folder) if has_record else None)


def _of_file(path: Path) -> list[RunResult]:
    """Of a result file, or of a summary, beside which its run's record may lie."""
    try:
        content = path.read_bytes()
        is_collection = msgspec.json.decode(content, type=_Kind).kind == "results"
    except OSError as error:
        raise UserError(f"no summary at {path}: {error.strerror}") from error
    except msgspec.DecodeError as error:
        raise UserError(f"{path} is neither a summary nor a result file: {error}") from error
    if is_collection:
        try:
            return msgspec.json.decode(content, type=ResultFile).runs
        except msgspec.DecodeError as error:
            raise UserError(f"{path} is not a result file: {error}") from error
    if path.name == SUMMARY:
        return [_of_run(path.parent)]
    return [result_of(path.stem, read_summary(path), None)]


class _Kind(msgspec.Struct):
    kind: str = ""


def _by_numbers(folder: Path) -> list[tuple[int, str]]:
    """`batch_8` before `batch_64`."""
    parts = re.split(r"(\d+)", folder.name)
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]
