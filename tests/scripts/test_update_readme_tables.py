"""README.md holds the tables that `rosetta table` makes of the committed results."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]
README = CHECKOUT / "README.md"
SCRIPT = CHECKOUT / "scripts" / "update-readme-tables"
MARKER = re.compile(r"<!-- rosetta table .*?(docs/results/\S+\.json) -->")


def update(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def test_the_readme_holds_what_the_script_makes() -> None:
    check = update("--check")
    assert (check.returncode, check.stderr) == (0, "")


def test_its_tables_are_of_committed_results() -> None:
    files = MARKER.findall(README.read_text(encoding="utf-8"))
    assert files
    for file in files:
        content = (CHECKOUT / file).read_text(encoding="utf-8")
        assert not re.search(r"/(?:home|root|tmp|work|Users)/", content), "a folder of somebody's"


def test_a_number_that_was_changed_by_hand_is_found_and_mended(tmp_path: Path) -> None:
    page = tmp_path / "README.md"
    text = README.read_text(encoding="utf-8")
    table = text.index("<!-- rosetta table")
    place = text.index("| torch |", table)
    page.write_text(text[:place] + "| torch |9" + text[place + 9 :], encoding="utf-8")
    check = update("--check", "--page", page)
    assert check.returncode == 1
    assert "differs: run scripts/update-readme-tables" in check.stderr
    assert update("--page", page).returncode == 0
    assert page.read_text(encoding="utf-8") == text


def test_a_page_without_a_marker_is_no_page_that_is_right(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("| worker | samples/s |\n", encoding="utf-8")
    for arguments in (("--check",), ()):
        refused = update(*arguments, "--page", page)
        assert (refused.returncode, refused.stdout) == (1, "")
        assert "has no table" in refused.stderr


def test_another_result_gives_another_table(tmp_path: Path) -> None:
    """The script runs the command of the marker, and copies nothing from the page."""
    file = MARKER.findall(README.read_text(encoding="utf-8"))[0]
    other = tmp_path / "other.json"
    shutil.copy(CHECKOUT / file, other)
    other.write_text(other.read_text(encoding="utf-8").replace('"torch"', '"torch2"'))
    page = tmp_path / "page.md"
    page.write_text(f"<!-- rosetta table {other} -->\na stale line\n<!-- end of the table -->\n")
    assert update("--page", page).returncode == 0
    text = page.read_text(encoding="utf-8")
    assert "torch2" in text
    assert "a stale line" not in text
