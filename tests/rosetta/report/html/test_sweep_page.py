"""The page of a sweep's folder."""

import json
import re

import pytest

from canned_run import row, steps, write
from rosetta.errors import UserError
from rosetta.report.html import html

BAD = "<b>&\u2028</script>"


def data_of(source: str):
    return json.loads(re.search(r'id="data">(.*?)</script>', source)[1])


def charts_of(source: str) -> set[str]:
    return set(re.findall(r'data-kind="(\w+)"', source))


def at(batch_size: int, threads: int, **more):
    more.setdefault("samples_per_s", 100.0 * batch_size)
    return row("numpy", batch_size=batch_size, threads=threads, **more)


def test_points_over_both_sizes(tmp_path):
    for size in (8, 64):
        for threads in (1, 2):
            write(tmp_path / f"batch_{size}-{threads}", [at(size, threads)], [])
    source = html(tmp_path)
    (task,) = data_of(source)["tasks"]
    found = {(p["batch_size"], p["threads"]): p["samples_per_s"] for p in task["points"]}
    assert found == {(8, 1): 800, (8, 2): 800, (64, 1): 6400, (64, 2): 6400}
    assert charts_of(source) == {"batch_size", "threads"}
    assert source.index("batch 8, 1 thread") < source.index("batch 64, 1 thread"), "by number"
    assert 'href="batch_64-2/report.html"' in source


def test_only_what_is_varied_has_a_chart(tmp_path):
    for size in (8, 64):
        write(tmp_path / f"batch_{size}", [at(size, 2)], [])
    assert charts_of(html(tmp_path)) == {"batch_size"}


def test_what_went_wrong_is_in_the_table_and_not_in_the_chart(tmp_path):
    write(tmp_path / "a", [at(8, 1)], [])
    write(tmp_path / "b", [at(16, 1, status="failed", reason="no memory", samples_per_s=None)], [])
    write(tmp_path / "c", [at(32, 1, proof="different", proof_detail="logits")], [])
    (tmp_path / "d").mkdir()
    source = html(tmp_path)
    assert [p["batch_size"] for p in data_of(source)["tasks"][0]["points"]] == [8]
    assert "failed: no memory" in source
    assert "not the same network: logits" in source
    assert "no summary at" in source


def test_hostile_words_stay_words(tmp_path):
    name = "<i>&'\""
    told = row(BAD, BAD, reason=BAD, status="failed", samples_per_s=None)
    write(tmp_path / name, [told], steps({BAD: 1}), run={"command": ["x", BAD]})
    source = html(tmp_path)
    assert BAD not in source
    assert "<i>" not in source
    assert "<b>" not in source.split("plotly.js", 1)[0]
    assert 'href="%3Ci%3E%26%27%22/report.html"' in source
    assert data_of(source)["workers"][0]["name"] == BAD


def test_a_folder_without_a_run_is_refused(tmp_path):
    with pytest.raises(UserError, match="no run at"):
        html(tmp_path)
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "summary.json").write_text("{")
    with pytest.raises(UserError, match="no run can be read"):
        html(tmp_path)


def test_a_baseline_is_a_runs(tmp_path):
    write(tmp_path / "a", [at(8, 1)], [])
    with pytest.raises(UserError, match="chosen in a run's report"):
        html(tmp_path, "numpy")
