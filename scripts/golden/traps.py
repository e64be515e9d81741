"""Arrays whose axes can't be swapped without notice: every element says where it stands."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from golden.frame import Golden
from golden.messages import BATCH


def goldens() -> Iterator[Golden]:
    """Images, tokens, and the weights of convolutions and dense layers."""
    images = np.arange(2 * 3 * 4 * 5, dtype=np.uint8).reshape(2, 3, 4, 5)
    labels = np.array([7, 1], np.int32)
    yield Golden(
        "trap-images",
        "BATCH of 2 images of 3 channels, 4 rows, 5 columns: the element at sample n, channel c, "
        "row h, column w is 60 n + 20 c + 5 h + w",
        "coordinator",
        BATCH,
        {"inputs": images, "labels": labels},
        probes=[
            ("inputs", index)
            for index in (
                [0, 0, 0, 1],
                [0, 0, 1, 0],
                [0, 1, 0, 0],
                [1, 0, 0, 0],
                [0, 1, 2, 3],
                [1, 2, 3, 4],
            )
        ],
    )
    tokens = np.array([[0, 0, 11, 12, 13], [21, 22, 23, 24, 25], [0, 31, 32, 33, 34]], np.int32)
    yield Golden(
        "trap-tokens",
        "BATCH of 3 texts of 5 tokens, shorter ones with zeros in front: the last token of text n "
        "is the one that the network sees last",
        "coordinator",
        BATCH,
        {"inputs": tokens, "labels": np.array([1, 0, 1], np.int32)},
        probes=[("inputs", index) for index in ([0, 4], [1, 0], [2, 1], [2, 4], [0, 2])],
    )
    convolution = np.arange(2 * 3 * 2 * 3, dtype=np.float32).reshape(2, 3, 2, 3)
    dense = np.array([[11, 12, 13], [21, 22, 23]], np.float32)
    yield Golden(
        "trap-weights",
        "VALUES of a convolution (2 out, 3 in, 2 rows, 3 columns), whose element is 18 o + 6 i + "
        "3 h + w, and of a dense layer (2 out, 3 in)",
        "worker",
        {"type": "VALUES", "id": 4, "re": 4},
        {"conv1.weight": convolution, "fc1.weight": dense},
        probes=[
            ("conv1.weight", [1, 2, 1, 2]),
            ("conv1.weight", [0, 1, 0, 2]),
            ("conv1.weight", [1, 0, 1, 0]),
            ("fc1.weight", [0, 2]),
            ("fc1.weight", [1, 0]),
        ],
    )
    logits = np.array([[1, 2], [3, 4], [5, 6]], np.float32)
    described = [{"name": "logits", "dtype": "float32", "shape": [3, 2]}]
    head = {"type": "PREDICTIONS", "id": 3, "re": 3, "arrays": described}
    yield Golden(
        "trap-logits",
        "PREDICTIONS of 3 samples and 2 classes: row i is sample i",
        "worker",
        {**head, "wait_ns": 1, "copy_ns": 0, "predict_ns": 1},
        {"logits": logits},
        probes=[("logits", [0, 1]), ("logits", [1, 0]), ("logits", [2, 1])],
    )
