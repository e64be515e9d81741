"""A task as a worker can compute it: the forms that frameworks truly differ in (SPEC section 9)."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from rosetta.tasks.definition import Gru, Parameter, Task

DEFAULTS = {"adam": "torch", "momentum": "outside", "gru": "cudnn"}
KNOWN = {"adam": ("torch", "hat"), "momentum": ("outside", "inside"), "gru": ("cudnn", "classic")}


def complete(declared: Mapping[str, str]) -> dict[str, str]:
    """The forms that a worker declared, with the usual ones for what it left out."""
    return {**DEFAULTS, **declared}


def in_form(task: Task, forms: Mapping[str, str]) -> Task:
    """`task` with its GRU in the form of `forms`, and the parameters of that form.

    The classic form has one bias vector, which stands where the first of the two stood.
    """
    wanted = complete(forms)["gru"]
    gru = next((layer for layer in task.layers if isinstance(layer, Gru)), None)
    if gru is None or gru.form == wanted or wanted != "classic":
        return task
    replaced = msgspec.structs.replace(gru, form=wanted)
    layers = [replaced if layer is gru else layer for layer in task.layers]
    parameters: list[Parameter] = []
    for parameter in task.parameters:
        if parameter.name == f"{gru.name}.bias_ih":
            parameters.append(msgspec.structs.replace(parameter, name=f"{gru.name}.bias"))
        elif parameter.name != f"{gru.name}.bias_hh":
            parameters.append(parameter)
    return msgspec.structs.replace(task, layers=layers, parameters=parameters)


def unusual(task: Task, declared: Mapping[str, str]) -> list[str]:
    """What a table must say of a worker's forms on `task`, such as `gru: classic`."""
    concerned = {
        "adam": task.optimiser is not None and type(task.optimiser).__name__ == "Adam",
        "momentum": task.optimiser is not None and type(task.optimiser).__name__ == "Sgd",
        "gru": any(isinstance(layer, Gru) for layer in task.layers),
    }
    return [
        f"{name}: {form}"
        for name, form in sorted(declared.items())
        if concerned.get(name, True) and form != DEFAULTS.get(name)
    ]
