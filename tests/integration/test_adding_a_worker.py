"""`docs/adding-a-worker.md`, command by command, on a worker that is made as it says."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from rosetta import workers

CHECKOUT = Path(__file__).parents[2]
PAGE = (CHECKOUT / "docs" / "adding-a-worker.md").read_text()
CODE = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
COMMANDS = re.findall(r"^    rosetta (.*)$", PAGE, re.MULTILINE)
RUN: set[str] = set()
"""Those that a test has run."""
TAPE = "protocol/golden/1.0/tapes/mlp.tape"


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A folder for environments of its own, so that the checkout's stay as they are."""
    return str(tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where the worker is made: what comes later finds what was done before."""
    return tmp_path_factory.mktemp("workers") / "mine"


@pytest.fixture
def run(rosetta, folder, home):
    """Runs a command of the page, with the worker's path for its name; gives status and output."""

    def typed(command: str, *more: object) -> tuple[int, str]:
        assert command in COMMANDS, "the page doesn't say this"
        RUN.add(command)
        words = command.split()
        if words[0] == "new":
            words += ["--into", str(folder.parent)]
        else:
            words = [re.sub(r"\bmine\b", str(folder), word) for word in words]
        words = [str(CHECKOUT / word) if word == TAPE else word for word in words]
        process = rosetta(*words, *more, ROSETTA_HOME=home)
        output, errors = process.communicate(timeout=280)
        return process.returncode, output + errors

    return typed


def insert(file: Path, code: str, *, before: str) -> None:
    text = file.read_text()
    assert text.count(before) == 1
    file.write_text(text.replace(before, code + before))


def remove_method(file: Path, name: str) -> None:
    text = file.read_text()
    method = rf'    def {name}\(.*\n        """.*\n        raise NotImplementedError.*\n\n'
    changed = re.sub(method, "", text)
    assert changed != text
    file.write_text(changed)


def failed(output: str) -> list[str]:
    """The checks that were not passed."""
    return [line for line in output.splitlines() if line.startswith("NOT")]


def test_1_what_is_made_starts_and_says_what_is_missing(run, folder):
    status, output = run("new mine --language python")
    assert status == 0
    assert f"made {folder}" in output
    assert re.search(rf"^7\. rosetta bench .*{folder}", output, re.MULTILINE)
    status, output = run("conform mine", "--patience", 20)
    assert status == 1
    lines = failed(output)
    assert lines
    for line in lines:  # nothing else is wrong
        assert re.search(r"NotImplementedError: step |ERROR re \d+ where RESULT", line), line
    assert not [line for line in lines if " greeting." in line]


def test_2_the_forward_pass(run, folder):
    remove_method(folder / "backend.py", "predict")
    insert(folder / "backend.py", CODE[0] + "\n", before="    def parameters(self):")
    status, output = run("conform mine --check training.mlp.predictions")
    assert (status, failed(output)) == (0, []), output


def test_3_a_step_of_training(run, folder):
    step, state, loss = CODE[1:]
    remove_method(folder / "backend.py", "train_step")
    insert(folder / "backend.py", step + "\n", before="    def parameters(self):")
    insert(folder / "backend.py", state + "\n", before="    def to_device(self")
    (folder / "backend.py").write_text((folder / "backend.py").read_text() + "\n\n" + loss)
    status, output = run(f"worker mine --tape {TAPE}")
    assert status == 0, output
    assert "recorded" in output


@pytest.mark.alone
def test_4_everything_else(run):
    status, output = run("conform mine")
    assert status == 0, output
    assert not failed(output)
    assert re.search(r"^ok +numbers\.mlp\.proof", output, re.MULTILINE)


@pytest.mark.alone
def test_5_the_proof_and_the_comparison(run, tmp_path):
    status, output = run("prove mine --task mlp --threads 1")
    assert status == 0, output
    assert "on mlp: same network" in output
    command = "bench --quick --task mlp --worker numpy,mine"
    short = ("--steps", 5, "--no-proof", "--data", "synthetic", "--out", tmp_path / "run")
    status, output = run(command, *short)
    assert status == 0, output
    rows = json.loads((tmp_path / "run" / "summary.json").read_text())["rows"]
    assert [(row["worker"], row["status"]) for row in rows] == [("numpy", "ok"), ("mine", "ok")]
    assert len(CODE) == 4, "each was put into the backend"


def test_every_command_of_the_page_was_run():
    """By the tests above, which go through the page together."""
    assert set(COMMANDS) == RUN


@pytest.mark.parametrize("language", ["julia", "other"])
def test_the_other_languages_get_a_folder_too(rosetta, tmp_path, language):
    process = rosetta("new", "mine", "--language", language, "--into", tmp_path)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    (worker,) = workers.read(tmp_path / "mine" / "worker.toml")
    assert (worker.name, worker.title) == ("mine", "Mine")
    assert f"rosetta prove {tmp_path / 'mine'} --task mlp" in output


@pytest.mark.exhaustive
def test_a_julia_folder_starts_and_says_what_is_missing(rosetta, tmp_path, julia):
    """Its runtime lies beside the folder of workers, as in the checkout."""
    (tmp_path / "julia" / "workers").mkdir(parents=True)
    (tmp_path / "julia" / "RosettaWorker").symlink_to(CHECKOUT / "julia" / "RosettaWorker")
    made = rosetta("new", "mine", "--language", "julia", "--into", tmp_path / "julia" / "workers")
    made.communicate(timeout=60)
    folder = tmp_path / "julia" / "workers" / "mine"
    process = rosetta("conform", folder, "--check", "greeting,training.mlp")
    output, errors = process.communicate(timeout=280)
    lines = failed(output)
    assert lines, errors
    assert all("step " in line for line in lines), lines
    assert not [line for line in lines if " greeting." in line]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("Mine",), "no name for a worker"),
        (("9x",), "no name for a worker"),
        (("torch",), "there is a worker called torch"),
        (("mine", "--title", 'a"b'), "without quotes"),
        (("mine", "--language", "cobol"), "cobol"),
    ],
)
def test_a_mistake_is_one_line_and_makes_nothing(rosetta, tmp_path, arguments, words):
    process = rosetta("new", *arguments, "--into", tmp_path / "made")
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 2
    (line,) = errors.splitlines()
    assert words in line
    assert not (tmp_path / "made").exists()


def test_a_folder_that_is_there_is_left_alone(rosetta, tmp_path):
    (tmp_path / "mine").mkdir()
    process = rosetta("new", "mine", "--into", tmp_path)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "exists already" in errors
    assert not list((tmp_path / "mine").iterdir())
