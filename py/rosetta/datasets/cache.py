"""The parsed arrays of a data set, kept as .npy files so that they load in a moment next time.

An entry is a folder `parsed/<name>-<key>` with four arrays and `meta.json`. It is written aside and
renamed, so it is there completely or not at all; and on loading every array is compared with the
digest in `meta.json`, so a damaged entry is thrown away and made again. A cache that can't be
written costs time only.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import platformdirs

from rosetta.datasets.archives import DAMAGE
from rosetta.datasets.model import Array, DamagedError, Report, Split

CACHE_VARIABLE = "ROSETTA_CACHE"
FORMAT = 1  # raise it when a reader's result changes, so that older entries aren't used
_PARTS = ("train_inputs", "train_labels", "test_inputs", "test_labels")


def default_cache(environment: Mapping[str, str] = os.environ) -> Path:
    """The folder of downloads and parsed arrays: ROSETTA_CACHE/data, or the user's cache's."""
    chosen = environment.get(CACHE_VARIABLE)
    root = Path(chosen).expanduser() if chosen else platformdirs.user_cache_path("rosetta")
    return root / "data"


def key(sha256: Mapping[str, str], parameters: Mapping[str, Any]) -> str:
    """16 hex digits that stand for the content of the source and how it is read."""
    text = json.dumps([FORMAT, dict(sha256), dict(parameters)], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def entry(cache: Path, name: str, entry_key: str) -> Path:
    """The folder of an entry."""
    return cache / "parsed" / f"{name}-{entry_key}"


def load(folder: Path, report: Report) -> tuple[Split, Split] | None:
    """Training and test part from an entry; None if it isn't there or isn't what was written."""
    if not folder.is_dir():
        return None
    try:
        meta = json.loads((folder / "meta.json").read_text())
        arrays = [_load_array(folder / f"{part}.npy", meta["arrays"][part]) for part in _PARTS]
    except DAMAGE as error:
        report(f"the cached data in {folder} are damaged ({error}): reading the source again")
        shutil.rmtree(folder, ignore_errors=True)
        return None
    return Split(arrays[0], arrays[1]), Split(arrays[2], arrays[3])  # type: ignore[arg-type]


def _load_array(path: Path, expected: Mapping[str, Any]) -> Array:
    """One array, wholly in memory.

    Not memory-mapped: the first epoch's page faults would be measured as time spent waiting for
    data, and differ from worker to worker; and the digest reads every page anyway.
    """
    if path.stat().st_size != expected["size_bytes"]:
        raise DamagedError(f"{path.name} has another size")
    array: Array = np.load(path, allow_pickle=False)
    if digest(array) != expected["sha256"]:
        raise DamagedError(f"{path.name} has another digest")
    return array


def store(
    folder: Path, splits: tuple[Split, Split], sha256: Mapping[str, str], report: Report
) -> None:
    """Writes an entry; `sha256` are the digests of the source, for those who look into it."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=".partial-", dir=folder.parent))
        try:
            _write(partial, splits, sha256)
            partial.rename(folder)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    except OSError as error:
        if folder.is_dir():
            return  # another process was faster
        reason = error.strerror or error
        report(f"the cache {folder.parent} can't be written ({reason}): going on without it")


def _write(folder: Path, splits: tuple[Split, Split], sha256: Mapping[str, str]) -> None:
    train, test = splits
    arrays = (train.inputs, train.labels, test.inputs, test.labels)
    table = {}
    for part, array in zip(_PARTS, arrays, strict=True):
        path = folder / f"{part}.npy"
        np.save(path, array, allow_pickle=False)
        table[part] = {"size_bytes": path.stat().st_size, "sha256": digest(array)}
    meta = {"format": FORMAT, "source": dict(sha256), "arrays": table}
    (folder / "meta.json").write_text(json.dumps(meta, indent=1))


def digest(array: Array) -> str:
    """SHA-256 over dtype, shape and the bytes in C order."""
    content = hashlib.sha256(f"{array.dtype.str} {array.shape}".encode())
    content.update(np.ascontiguousarray(array).data.cast("B"))
    return content.hexdigest()


def is_cached(cache: Path, name: str, sha256: Mapping[str, str]) -> bool:
    """Whether some entry was made from a source with these digests."""
    for meta in (cache / "parsed").glob(f"{name}-*/meta.json"):
        try:
            if json.loads(meta.read_text())["source"] == dict(sha256):
                return True
        except (OSError, ValueError, LookupError, TypeError):
            continue
    return False
