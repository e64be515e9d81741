"""The catalogue of workers: what a worker.toml says, and what is said of a wrong one."""

from pathlib import Path

import pytest

from rosetta import workers
from rosetta.errors import UserError

GOOD = """\
name = "{name}"
title = "A framework"
language = "python"
status = "living"
tasks = ["mlp", "gru"]
argv = ["{{python}}", "-m", "rosetta_worker", "{{folder}}", "--connect", "{{connection_file}}"]
tape_argv = ["{{python}}", "-m", "rosetta_worker", "{{folder}}", "--tape", "{{tape}}"]
[environment]
kind = "uv"
python = "3.11"
requirements = "requirements.in"
lock = "requirements.lock"
"""


def write(folder: Path, name: str, change: tuple[str, str] = ("", "")) -> Path:
    file = folder / name / "worker.toml"
    file.parent.mkdir(parents=True)
    text = GOOD.format(name=name)
    assert change[0] in text
    file.write_text(text.replace(*change) if change[0] else text)
    return file


def test_a_worker_is_what_its_file_says(tmp_path: Path) -> None:
    worker = workers.read(write(tmp_path, "torch"))
    assert (worker.name, worker.title, worker.tasks) == ("torch", "A framework", ("mlp", "gru"))
    assert worker.folder == tmp_path / "torch"
    assert worker.environment.lock == "requirements.lock"


def test_what_may_be_left_out_has_a_default(tmp_path: Path) -> None:
    worker = workers.read(write(tmp_path, "torch"))
    assert worker.harness is False
    assert worker.environment.framework is None
    assert worker.environment.torch_backend is None
    assert worker.environment.download is None


def test_the_commands_are_filled_in(tmp_path: Path) -> None:
    worker = workers.read(write(tmp_path, "torch"))
    start = ["/e/bin/python", "-m", "rosetta_worker", str(tmp_path / "torch")]
    assert worker.command("/e/bin/python", Path("/c.json")) == [*start, "--connect", "/c.json"]
    assert worker.tape_command(Path("/e/bin/python"), "/t", device="cpu", threads=2) == [
        *start,
        "--tape",
        "/t",
    ]


@pytest.mark.parametrize(
    ("change", "key", "words"),
    [
        (('kind = "uv"', 'kind = "uv"\ncolour = "red"'), "environment", "`colour`"),
        (('title = "A framework"\n', ""), "", "`title`"),
        (('python = "3.11"', "python = 3.11"), "environment.python", "Expected `str`"),
        (('python = "3.11"', 'python = "3.11.7"'), "environment.python", "regex"),
        (('"living"', '"dead"'), "status", "'dead'"),
        (('"uv"', '"conda"'), "environment.kind", "'conda'"),
        (('"gru"', '"grue"'), "tasks", "unknown task 'grue': did you mean gru?"),
        (('"gru"', '"mlp"'), "tasks", "twice"),
        (('["mlp", "gru"]', "[]"), "tasks", "length"),
        (('"torch"', '"tensorflow"'), "name", "the folder is 'torch'"),
        (("{connection_file}", "{connection}"), "argv", "unknown placeholder"),
        (("{connection_file}", "x"), "argv", "{connection_file} is missing"),
        (("{connection_file}", "{"), "argv", "'{'"),
        (("{connection_file}", "{}"), "argv", "unknown placeholder"),
        (("{tape}", "{tape!r}"), "tape_argv", "unknown placeholder"),
        (("{tape}", "{connection_file}"), "tape_argv", "unknown placeholder"),
        (('"requirements.lock"', '"../lock"'), "environment.lock", "outside"),
        (("[environment]", "[environment"), "", "line 8"),
    ],
)
def test_a_mistake_is_named_with_file_and_key(
    tmp_path: Path, change: tuple[str, str], key: str, words: str
) -> None:
    file = write(tmp_path, "torch", change)
    with pytest.raises(UserError) as caught:
        workers.read(file)
    message = str(caught.value)
    assert message.startswith(f"{file}: {key}")
    assert words in message
    assert "\n" not in message


def test_a_broken_file_does_not_hide_the_others(tmp_path: Path) -> None:
    write(tmp_path, "good")
    write(tmp_path, "bad", ('"living"', '"dead"'))
    (tmp_path / "no_worker").mkdir()
    found = workers.catalogue(tmp_path)
    assert list(found) == ["good"]
    assert list(found.errors) == ["bad"]


def test_a_broken_worker_that_is_asked_for_says_why(tmp_path: Path) -> None:
    write(tmp_path, "bad", ('"living"', '"dead"'))
    with pytest.raises(UserError, match="status: "):
        workers.get("bad", tmp_path)


def test_an_unknown_worker_is_answered_with_the_nearest(tmp_path: Path) -> None:
    for name in ("torch", "jax"):
        write(tmp_path, name)
    assert workers.get("torch", tmp_path).name == "torch"
    with pytest.raises(UserError, match=r"^unknown worker 'pytorch': did you mean torch\?$"):
        workers.get("pytorch", tmp_path)
    with pytest.raises(UserError, match=r"^unknown worker 'zzz': there are jax, torch$"):
        workers.get("zzz", tmp_path)


def test_a_missing_folder_of_workers_is_said(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="does not exist"):
        workers.catalogue(tmp_path / "nowhere")


def test_the_workers_of_the_checkout_are_described_well() -> None:
    if not workers.WORKERS_FOLDER.is_dir():
        pytest.skip("there is no worker yet")
    assert workers.catalogue().errors == {}
