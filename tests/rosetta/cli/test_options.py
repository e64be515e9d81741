"""Options that several commands share."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rosetta import tasks
from rosetta.cli import options
from rosetta.datasets import DataUnavailable
from rosetta.errors import UserError

WORD = st.text(st.characters(exclude_characters=",", exclude_categories=["Z", "C"]), min_size=1)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (None, []),
        ([], []),
        (["mlp"], ["mlp"]),
        (["mlp", "cnn"], ["mlp", "cnn"]),
        (["mlp,cnn"], ["mlp", "cnn"]),
        (["mlp, cnn", "gru"], ["mlp", "cnn", "gru"]),
        (["gru,mlp", "gru"], ["gru", "mlp"]),
        (["", ",", " , "], []),
        ([",mlp,"], ["mlp"]),
    ],
)
def test_values_are_repeated_or_separated_with_commas(
    values: list[str] | None, words: list[str]
) -> None:
    assert options.split(values) == words


@given(st.lists(st.lists(WORD, min_size=1, max_size=4), max_size=4))
def test_however_values_are_given_each_is_there_once_in_order(groups: list[list[str]]) -> None:
    together = options.split([", ".join(group) for group in groups])
    apart = options.split([word for group in groups for word in group])
    assert together == apart == list(dict.fromkeys(word for group in groups for word in group))


@pytest.fixture
def folders(tmp_path: Path) -> Callable[..., list[str]]:
    """Makes folders with these names."""

    def make(*names: str) -> list[str]:
        for name in names:
            (tmp_path / name).mkdir()
        return [str(tmp_path / name) for name in names]

    return make


def test_the_option_goes_before_the_variable(
    folders: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, variable = folders("asked", "variable")
    monkeypatch.setenv("ROSETTA_DATA", variable)
    assert options.data_folders([asked]) == [Path(asked)]
    assert options.data_folders(None) == options.data_folders([]) == [Path(variable)]


def test_several_folders_keep_their_order(
    folders: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    names = folders("b", "a", "c")
    assert options.data_folders(names) == [Path(name) for name in names]
    monkeypatch.setenv("ROSETTA_DATA", os.pathsep.join(names))
    assert options.data_folders(None) == [Path(name) for name in names]


def test_without_option_and_variable_there_is_no_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    for value in (None, ""):
        if value is None:
            monkeypatch.delenv("ROSETTA_DATA", raising=False)
        else:
            monkeypatch.setenv("ROSETTA_DATA", value)
        assert options.data_folders(None) == []


def test_a_folder_that_is_not_there_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UserError, match="nowhere"):
        options.data_folders([str(tmp_path / "nowhere")])
    monkeypatch.setenv("ROSETTA_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(UserError, match="nowhere"):
        options.data_folders(None)


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No data set is on this machine, and none may be fetched."""
    monkeypatch.delenv("ROSETTA_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.mark.usefixtures("offline")
def test_auto_falls_back_on_synthetic_data_and_says_so() -> None:
    told: list[str] = []
    source = options.DataOptions("auto", None, download=False, seed=1)
    dataset, notes = source.load(tasks.load("mlp"), told.append)
    assert dataset.name == "synthetic"
    assert len(notes) == 1
    assert notes[0].startswith("mlp runs on synthetic data")
    assert any(line.startswith("mlp runs on synthetic data: ") for line in told)


@pytest.mark.usefixtures("offline")
def test_data_that_are_asked_for_by_name_are_not_replaced() -> None:
    source = options.DataOptions("mnist", None, download=False, seed=1)
    with pytest.raises(DataUnavailable, match="mnist"):
        source.load(tasks.load("mlp"), lambda sentence: None)


@pytest.mark.usefixtures("offline")
def test_synthetic_data_that_are_asked_for_need_no_excuse() -> None:
    source = options.DataOptions("synthetic", None, download=False, seed=1)
    dataset, notes = source.load(tasks.load("mlp"), lambda sentence: None)
    assert (dataset.name, notes) == ("synthetic", [])


def test_output_that_is_piped_is_wide_enough_for_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", io.StringIO())
    assert options.output().width == 100_000


def test_sentences_go_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    options.say("a sentence")
    assert capsys.readouterr() == ("", "a sentence\n")
