"""How many floating-point operations a step needs, in its matrix products.

Only those are counted, a multiplication and an addition as two: they are nearly all of them, and
what the machine's peak is measured with. What a framework does beyond them (im2col, a gradient that
nobody asked for) is its own affair: the count is the task's, equal for all.
"""

from __future__ import annotations

import math

from rosetta.tasks.definition import Bottleneck, Conv, Dense, Gru, MaxPool, Task


def step_operations(task: Task) -> int:
    """Floating-point operations of one step, per sample.

    Of a layer with forward operations f, the gradient by the weights needs f again, and so does the
    gradient by its input, which the first layer that has weights is spared. A forward-only task has
    no gradients.
    """
    forward = _forward(task)
    if not task.trains:
        return sum(forward)
    return sum(forward) * 3 - (forward[0] if not _has_embedding(task) else 0)


def _has_embedding(task: Task) -> bool:
    """Then what comes first multiplies nothing, and all the others need their input's gradient."""
    return any(parameter.name.startswith("embedding.") for parameter in task.parameters)


def _forward(task: Task) -> list[int]:
    """Operations of each layer that multiplies matrices, per sample, in order."""
    shape = list(task.input.shape)
    weights = {parameter.name: parameter.shape for parameter in task.parameters}
    counts = []
    for layer in task.layers:
        match layer:
            case Conv():
                shape = [layer.filters, *(math.ceil(side / layer.stride) for side in shape[1:])]
                counts.append(2 * math.prod(weights[f"{layer.name}.weight"]) * math.prod(shape[1:]))
            case Bottleneck():
                inner = math.prod(shape[1:])
                shape = [
                    4 * layer.width,
                    *(math.ceil(side / layer.stride) for side in shape[1:]),
                ]
                outer = math.prod(shape[1:])
                places = {"conv1": inner, "conv2": outer, "conv3": outer, "downsample.0": outer}
                counts += [
                    2 * math.prod(weights[f"{layer.name}.{conv}.weight"]) * count
                    for conv, count in places.items()
                    if f"{layer.name}.{conv}.weight" in weights
                ]
            case MaxPool():
                shape = [
                    shape[0],
                    *(
                        (side + 2 * layer.padding - layer.size) // layer.stride + 1
                        for side in shape[1:]
                    ),
                ]
            case Dense():
                counts.append(2 * math.prod(weights[f"{layer.name}.weight"]))
            case Gru():
                steps = task.input.shape[0]
                gates = ("weight_ih", "weight_hh")
                counts += [2 * steps * math.prod(weights[f"{layer.name}.{w}"]) for w in gates]
    return counts
