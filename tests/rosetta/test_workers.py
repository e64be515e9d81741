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

JULIA = """\
name = "{name}"
title = "Knet"
language = "julia"
status = "frozen"
tasks = ["mlp"]
argv = ["{{julia}}", "--project={{folder}}", "-O1", "run.jl", "-v", "{{connection_file}}"]
tape_argv = ["{{julia}}", "run.jl", "{{tape}}"]
[environment]
kind = "julia"
version = "1.5"
project = "Project.toml"
package = "Knet"
"""


def write(
    folder: Path, name: str, change: tuple[str, str] = ("", ""), template: str = GOOD
) -> Path:
    file = folder / name / "worker.toml"
    file.parent.mkdir(parents=True)
    text = template.format(name=name)
    assert change[0] in text
    file.write_text(text.replace(*change) if change[0] else text)
    return file


def own(*lines: str) -> tuple[str, str]:
    """The change that adds `lines` to the ``[environment]`` table."""
    return 'kind = "uv"\n', "\n".join(('kind = "uv"', *lines, ""))


def only(file: Path) -> workers.Worker:
    (worker,) = workers.read(file)
    return worker


def test_a_worker_is_what_its_file_says(tmp_path: Path) -> None:
    worker = only(write(tmp_path, "torch"))
    assert (worker.name, worker.title, worker.tasks) == ("torch", "A framework", ("mlp", "gru"))
    assert worker.folder == tmp_path / "torch"
    assert worker.uv.lock == "requirements.lock"


def test_what_may_be_left_out_has_a_default(tmp_path: Path) -> None:
    worker = only(write(tmp_path, "torch"))
    assert worker.harness is False
    assert worker.uv.framework is None
    assert worker.uv.torch_backend is None
    assert worker.uv.download is None
    assert worker.uv.optional is False


def test_what_an_old_framework_needs_is_declared(tmp_path: Path) -> None:
    lines = (
        'build_requirements = "build.in"',
        'build_lock = "build.lock"',
        'no_build_isolation = ["theano"]',
        'compile = ["{python}", "{folder}/compile_step.py"]',
        'needs = ["g++"]',
        'install = "apt-get install g++"',
        'variables = { THEANO_FLAGS = "base_compiledir={environment}/c", BRACES = "{{}}" }',
    )
    worker = only(write(tmp_path, "old", own(*lines)))
    declared = worker.uv
    assert (declared.build_requirements, declared.build_lock) == ("build.in", "build.lock")
    assert (declared.no_build_isolation, declared.needs) == (("theano",), ("g++",))
    place = Path("/e")
    filled = [declared.filled(word, worker.folder, place) for word in declared.compile]
    assert filled == ["/e/bin/python", f"{tmp_path}/old/compile_step.py"]
    values = [declared.filled(v, worker.folder, place) for v in declared.variables.values()]
    assert values == ["base_compiledir=/e/c", "{}"]


def test_the_commands_are_filled_in(tmp_path: Path) -> None:
    worker = only(write(tmp_path, "torch"))
    start = ["/e/bin/python", "-m", "rosetta_worker", str(tmp_path / "torch")]
    assert worker.command("/e/bin/python", Path("/c.json")) == [*start, "--connect", "/c.json"]
    assert worker.tape_command(Path("/e/bin/python"), "/t", device="cpu", threads=2) == [
        *start,
        "--tape",
        "/t",
    ]


def test_a_worker_in_julia(tmp_path: Path) -> None:
    worker = only(write(tmp_path, "knet", template=JULIA))
    julia = worker.julia
    assert (julia.version, julia.project, julia.package) == ("1.5", "Project.toml", "Knet")
    folder = tmp_path / "knet"
    options = [f"--project={folder}", "-O1"]
    assert worker.command("/j", "/c") == ["/j", *options, "run.jl", "-v", "/c"]
    assert worker.tape_command("/j", "/t", device="cpu", threads=1) == ["/j", "run.jl", "/t"]
    assert worker.interpreter_options() == options


def test_a_julia_without_packages(tmp_path: Path) -> None:
    file = write(
        tmp_path, "plain", ('project = "Project.toml"\npackage = "Knet"\n', ""), template=JULIA
    )
    julia = only(file).julia
    assert (julia.project, julia.package, julia.download) == (None, None, None)


def test_any_language_can_be_named(tmp_path: Path) -> None:
    file = write(tmp_path, "torch", ('language = "python"', 'language = "r"'))
    assert only(file).language == "r"


@pytest.mark.parametrize(
    ("change", "key", "words"),
    [
        (('"1.5"', '"1.5.3"'), "environment.version", "regex"),
        (('"1.5"', "1.5"), "environment.version", "Expected `str`"),
        (('version = "1.5"\n', ""), "environment", "`version`"),
        (('"Knet"\n', '"Knet.jl"\n'), "environment.package", "regex"),
        (('version = "1.5"', 'version = "1.5"\nlock = "x"'), "environment", "`lock`"),
        (('"Project.toml"', '"../Project.toml"'), "environment.project", "outside"),
        (("{julia}", "{python}"), "argv", "{python} is not what this kind of environment has"),
        (
            ('"{julia}", "run.jl"', '"{python}", "run.jl"'),
            "tape_argv",
            "its interpreter is {julia}",
        ),
        (("{connection_file}", "{file}"), "argv", "known: {connection_file}, {folder}, {julia}"),
    ],
)
def test_a_mistake_in_a_julia_worker(
    tmp_path: Path, change: tuple[str, str], key: str, words: str
) -> None:
    file = write(tmp_path, "knet", change, JULIA)
    with pytest.raises(UserError) as caught:
        workers.read(file)
    message = str(caught.value)
    assert message.startswith(f"{file}: {key}")
    assert words in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("change", "key", "words"),
    [
        (('kind = "uv"', 'kind = "uv"\ncolour = "red"'), "environment", "`colour`"),
        (('title = "A framework"\n', ""), "", "`title`"),
        (('python = "3.11"', "python = 3.11"), "environment.python", "Expected `str`"),
        (('python = "3.11"', 'python = "3.11.7"'), "environment.python", "regex"),
        (('"living"', '"dead"'), "status", "'dead'"),
        (('"uv"', '"conda"'), "environment.kind", "'conda'"),
        (('kind = "uv"\n', ""), "environment", "`kind`"),
        (("{python}", "{julia}"), "argv", "its interpreter is {python}"),
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
        (own('build_requirements = "b.in"'), "environment.build_requirements", "both or neither"),
        (own('build_lock = "b.lock"'), "environment.build_requirements", "both or neither"),
        (
            own('build_requirements = "b.in"', 'build_lock = "/b.lock"'),
            "environment.build_lock",
            "outside",
        ),
        (own('no_build_isolation = ["old"]'), "environment.no_build_isolation", "build_lock"),
        (own('no_build_isolation = ["-r x"]'), "environment.no_build_isolation", "regex"),
        (own('needs = ["g++"]'), "environment.install", "missing"),
        (own('needs = ["g++"]', 'install = ""'), "environment.install", "length"),
        (own('install = "apt-get install g++"'), "environment.install", "no needs"),
        (own('needs = ["/usr/bin/g++"]', 'install = "x"'), "environment.needs", "regex"),
        (own('compile = ["{connection_file}"]'), "environment.compile", "known: {python}"),
        (own('compile = ["{"]'), "environment.compile", "'{'"),
        (own('variables = { A = "{python}" }'), "environment.variables.A", "known: {folder}"),
        (own('variables = { "A-B" = "1" }'), "environment.variables", "regex"),
        (own('variables = { OMP_NUM_THREADS = "1" }'), "environment.variables.OMP_", "alike"),
        (own('variables = { PYTHONPATH = "x" }'), "environment.variables.PYTHONPATH", "alike"),
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


def test_the_workers_of_all_folders_are_one_catalogue(tmp_path: Path) -> None:
    write(tmp_path / "py", "torch")
    write(tmp_path / "py", "numpy")
    write(tmp_path / "julia", "knet", template=JULIA)
    folders = (tmp_path / "py", tmp_path / "julia", tmp_path / "not there yet")
    assert list(workers.catalogue(*folders)) == ["numpy", "torch", "knet"]
    assert workers.get("knet", *folders).language == "julia"


def test_two_workers_of_one_name_are_none(tmp_path: Path) -> None:
    first, second = write(tmp_path / "py", "knet"), write(tmp_path / "julia", "knet")
    folders = (tmp_path / "py", tmp_path / "julia")
    found = workers.catalogue(*folders)
    assert list(found) == []
    message = str(found.errors["knet"])
    assert message == f"{first} and {second}: two workers are called knet: rename one of them"
    with pytest.raises(UserError, match="two workers are called knet"):
        workers.get("knet", *folders)


def test_a_missing_folder_of_workers_is_said(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="does not exist"):
        workers.catalogue(tmp_path / "nowhere")


def test_the_environments_of_the_checkout_have_plain_names() -> None:
    """The names of its workers, and of what `rosetta harness` compares with, are unique."""
    peers = workers.read(workers.PY_FOLDER / "rosetta" / "harness" / "ray" / "worker.toml")
    for worker in [*workers.catalogue().values(), *peers]:
        assert worker.environment_name in (worker.name, worker.folder.name)


def test_the_workers_of_the_checkout_are_described_well() -> None:
    assert workers.catalogue().errors == {}
