"""The words of errors: foreign text on one line, and names that are nearly right."""

import pytest

from rosetta.errors import one_line, unknown, without_escapes

TASKS = ["mlp", "cnn", "gru", "resnet50"]


@pytest.mark.parametrize(
    ("name", "known", "hint"),
    [
        ("cmn", TASKS, "did you mean cnn?"),
        ("CNN", TASKS, "did you mean cnn?"),
        ("nlp", TASKS, "did you mean mlp?"),
        ("resnet", TASKS, "did you mean resnet50?"),
        ("lstm", TASKS, "there are mlp, cnn, gru, resnet50"),
        ("transformer", TASKS, "there are mlp, cnn, gru, resnet50"),
        ("", TASKS, "there are mlp, cnn, gru, resnet50"),
        ("pytorch", ["torch", "jax"], "did you mean torch?"),
        ("torhc", ["numpy", "torch"], "did you mean torch?"),
        ("mnits", ["imdb", "MNIST"], "did you mean MNIST?"),
        ("torch3", ["torch1", "jax", "torch2"], "did you mean torch2 or torch1?"),
        ("x", iter(["torch"]), "there are torch"),
        ("x", [], "there are none"),
    ],
)
def test_an_unknown_name_gets_the_nearest_known_ones_or_all(name, known, hint):
    assert unknown("thing", name, known) == f"unknown thing {name!r}: {hint}"


def test_an_unknown_name_stays_on_one_line():
    assert "\n" not in unknown("task", "c\nn\x1b[31m", TASKS)
    assert "\x1b" not in unknown("task", "c\nn\x1b[31m", TASKS)


def test_foreign_text_becomes_one_printable_line():
    assert one_line("\x1b[31mred\x1b[0m\n\tand\x00 more ") == "red and more"
    assert without_escapes("\x1b]0;title\x07text") == "text"
