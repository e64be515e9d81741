"""The golden messages are what the command makes, and a codec that is wrong is found with them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from protocol import golden_files
from protocol.golden_files import same, same_arrays

SCRIPT = Path(__file__).parents[2] / "scripts" / "make-golden"


def make_golden(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


# --- the command ----------------------------------------------------------------------------------


def test_the_frames_are_what_the_command_makes(tmp_path: Path) -> None:
    check = make_golden("--check", "--frames-only")
    assert (check.returncode, check.stderr) == (0, "")


def test_a_frame_that_differs_is_named_and_made_anew(tmp_path: Path) -> None:
    shutil.copytree(golden_files.FOLDER, tmp_path / "frames")
    (tmp_path / "frames" / "batch.bin").write_bytes(b"")
    (tmp_path / "frames" / "end.json").unlink()
    (tmp_path / "frames" / "old.bin").write_bytes(b"x")
    check = make_golden("--check", "--frames-only", "--folder", tmp_path)
    assert check.returncode == 1
    named = [Path(line.split(" differs")[0]).name for line in check.stderr.splitlines()]
    assert named == ["batch.bin", "end.json", "old.bin"]
    assert make_golden("--frames-only", "--folder", tmp_path).returncode == 0
    assert make_golden("--check", "--frames-only", "--folder", tmp_path).returncode == 0


# --- tests that can fail --------------------------------------------------------------------------


def test_a_wrong_decoder_would_be_found() -> None:
    """Axes swapped, integers cut, floats rounded, keys sorted: each shows in some file."""
    taken = [m for m in golden_files.messages() if m.said["outcome"] == "taken"]
    found = {golden.name: (golden.header, golden.arrays) for golden in taken}
    flat = found["trap-images"][1]["inputs"].reshape(-1)
    assert not any_probe_fails("trap-images", flat)
    for wrong in (
        flat.reshape(2, 4, 5, 3).transpose(0, 3, 1, 2),  # channels taken to be last
        flat.reshape(5, 4, 3, 2).transpose(),  # the first axis taken to be the fastest
        flat.reshape(2, 3, 5, 4).transpose(0, 1, 3, 2),  # rows and columns swapped
    ):
        assert any_probe_fails("trap-images", wrong)
    tokens = found["trap-tokens"][1]["inputs"]
    assert any_probe_fails("trap-tokens", tokens.reshape(5, 3).transpose())
    assert same_arrays({"x": tokens}, {"x": tokens})
    assert not same_arrays({"x": tokens.reshape(5, 3)}, {"x": tokens})
    assert not same(found["integers-uint64"][0], float_integers(found["integers-uint64"][0]))
    header = found["map-in-another-order"][0]
    ordered = {**header, "task": {**header["task"], "value": sorted_map(header["task"]["value"])}}
    assert not same(ordered, header)


def any_probe_fails(name: str, inputs: Any) -> bool:
    """Whether inputs that were read in some way aren't what the probes say."""
    said = golden_files.read(name).said
    read = inputs.reshape(said["arrays"][0]["shape"])
    return any(read[tuple(probe["index"])] != probe["value"] for probe in said["probes"])


def float_integers(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: float_integers(element) for key, element in value.items()}
    if isinstance(value, list):
        return [int(float(each)) if isinstance(each, int) else each for each in value]
    return value


def sorted_map(value: dict[str, Any]) -> dict[str, Any]:
    return dict(sorted(value.items()))
