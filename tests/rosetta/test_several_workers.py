"""Variants of a worker, and several workers from one folder."""

from pathlib import Path

import pytest

from rosetta import workers
from rosetta.environments import state
from rosetta.errors import UserError

COMMON = """\
name = "keras"
title = "Keras"
language = "python"
status = "living"
tasks = ["mlp", "cnn"]
argv = ["{python}", "{folder}", "--variant", "{variant}", "{connection_file}"]
tape_argv = ["{python}", "{folder}", "--variant", "{variant}", "{tape}"]
[environment]
kind = "uv"
python = "3.11"
requirements = "requirements.in"
lock = "requirements.lock"
"""

VARIANTS = """
[variants.compile]
title = "Keras, compiled"
kind = "idiomatic"
about = "The step is compiled."
[variants.fast]
title = "Keras, fast"
kind = "tuned"
about = "The layout is another one."
tasks = ["cnn"]
"""

SEVERAL = """
[workers.keras-jax]
title = "Keras on JAX"
variant = "jax"
[workers.keras-torch]
title = "Keras on PyTorch"
variant = "torch"
[workers.keras-torch.environment]
lock = "torch.lock"
torch_backend = "cpu"
"""


def write(folder: Path, text: str, name: str = "keras") -> Path:
    file = folder / name / "worker.toml"
    file.parent.mkdir(parents=True)
    file.write_text(text)
    return file


def test_a_worker_is_started_as_it_is_unless_a_variant_is_chosen(tmp_path: Path) -> None:
    write(tmp_path, COMMON + VARIANTS)
    plain = workers.get("keras", tmp_path)
    assert plain.command("python", "file")[2:] == ["--variant", "", "file"]
    assert (plain.name, plain.tuned, list(plain.variants)) == ("keras", False, ["compile", "fast"])


def test_a_variant_is_the_same_worker_under_a_name_of_its_own(tmp_path: Path) -> None:
    write(tmp_path, COMMON + VARIANTS)
    plain, compiled = (workers.get(name, tmp_path) for name in ("keras", "keras:compile"))
    assert compiled.command("python", "file")[2:] == ["--variant", "compile", "file"]
    assert compiled.tape_command("python", "t", device="cpu", threads=1)[3] == "compile"
    assert (compiled.name, compiled.title) == ("keras:compile", "Keras, compiled")
    assert compiled.tasks == plain.tasks
    assert compiled.folder == plain.folder
    assert state.place(compiled) == state.place(plain)


def test_a_tuned_variant_is_marked_and_may_have_fewer_tasks(tmp_path: Path) -> None:
    write(tmp_path, COMMON + VARIANTS)
    fast = workers.get("keras:fast", tmp_path)
    assert fast.tuned
    assert fast.tasks == ("cnn",)


def test_variants_are_not_among_all_workers(tmp_path: Path) -> None:
    write(tmp_path, COMMON + VARIANTS)
    assert list(workers.catalogue(tmp_path)) == ["keras"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("keras:compil", "unknown variant of keras 'compil': did you mean compile?"),
        ("keras:", "unknown variant of keras '': there are compile, fast"),
        ("keras:compile:fast", "unknown variant of keras 'compile:fast': did you mean compile"),
        ("kera:compile", "unknown worker 'kera': did you mean keras?"),
    ],
)
def test_an_unknown_variant_is_named(tmp_path: Path, name: str, words: str) -> None:
    write(tmp_path, COMMON + VARIANTS)
    with pytest.raises(UserError) as caught:
        workers.get(name, tmp_path)
    assert words in str(caught.value)


def test_a_worker_without_variants_says_so(tmp_path: Path) -> None:
    write(tmp_path, COMMON)
    with pytest.raises(UserError, match="worker keras has no variants"):
        workers.get("keras:compile", tmp_path)


def test_one_folder_can_be_several_workers(tmp_path: Path) -> None:
    write(tmp_path, COMMON + SEVERAL)
    found = workers.catalogue(tmp_path)
    assert not found.errors
    assert list(found) == ["keras-jax", "keras-torch"]
    assert [worker.title for worker in found.values()] == ["Keras on JAX", "Keras on PyTorch"]
    assert [worker.command("python", "file")[3] for worker in found.values()] == ["jax", "torch"]


def test_they_share_an_environment_unless_one_has_its_own(tmp_path: Path) -> None:
    own = '[workers.keras-two]\nvariant = "two"\n'
    write(tmp_path, COMMON + SEVERAL + own)
    jax, torch, two = workers.catalogue(tmp_path).values()
    assert state.place(jax) == state.place(two)
    assert state.place(torch).path.name != state.place(jax).path.name
    assert (torch.uv.lock, torch.uv.python, torch.uv.torch_backend) == ("torch.lock", "3.11", "cpu")
    assert jax.uv.torch_backend is None


def test_the_folders_name_is_no_worker_then(tmp_path: Path) -> None:
    write(tmp_path, COMMON + SEVERAL)
    with pytest.raises(UserError) as caught:
        workers.get("keras", tmp_path)
    assert str(caught.value) == "keras is the folder of several workers: keras-jax, keras-torch"


@pytest.mark.parametrize(
    ("before", "after", "where"),
    [
        ('variant = "jax"', "variant = 3", "workers.keras-jax: variant: Expected `str`"),
        ('variant = "jax"', 'colour = "red"', "workers.keras-jax: Object contains unknown field"),
        ("keras-jax", "jax", "workers.jax: its name must begin with keras-"),
        ("keras-jax", "keras-Jax", "workers.keras-Jax: name: "),
        ('name = "keras"', 'name = "kera"', "name: 'kera', but the folder is 'keras'"),
        ('"{variant}", "{tape}"', '"{tape}"', "workers.keras-jax: tape_argv: {variant} is missing"),
        ('"torch.lock"', '"../lock"', "workers.keras-torch: environment.lock: '../lock' is out"),
        ("[workers.keras-jax]", "[[workers]]", ""),
    ],
)
def test_a_mistake_among_several_is_named(
    tmp_path: Path, before: str, after: str, where: str
) -> None:
    text = COMMON + SEVERAL
    assert before in text
    file = write(tmp_path, text.replace(before, after))
    with pytest.raises(UserError) as caught:
        workers.read(file)
    assert str(caught.value).startswith(f"{file}: {where}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("before", "after", "where"),
    [
        ('"tuned"', '"best"', "variants.fast.kind: Invalid enum value 'best'"),
        ('about = "The step is compiled."\n', "", "variants.compile: Object missing"),
        ('["cnn"]', '["gru"]', "variants.fast.tasks: unknown task 'gru'"),
        ('"--variant", "{variant}", "{connection_file}"', '"{connection_file}"', "argv: {variant}"),
    ],
)
def test_a_mistake_in_a_variant_is_named(
    tmp_path: Path, before: str, after: str, where: str
) -> None:
    text = COMMON + VARIANTS
    assert before in text
    file = write(tmp_path, text.replace(before, after, 1))
    with pytest.raises(UserError) as caught:
        workers.read(file)
    assert where in str(caught.value)


def test_two_folders_cannot_have_a_worker_of_the_same_name(tmp_path: Path) -> None:
    write(tmp_path / "a", COMMON + SEVERAL)
    write(tmp_path / "b", COMMON.replace('"keras"', '"keras-jax"'), "keras-jax")
    found = workers.catalogue(tmp_path / "a", tmp_path / "b")
    assert "two workers are called keras-jax" in str(found.errors["keras-jax"])
    assert "keras-torch" in found
