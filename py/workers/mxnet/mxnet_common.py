"""What the two ways of writing networks in MXNet share: input, optimiser, device."""

import mxnet as mx
import numpy as np


def inputs_to_device(inputs, task, ctx):
    """Pixels that travel as bytes are scaled where the network computes; all else stays."""
    array = mx.nd.array(inputs, ctx=ctx, dtype=inputs.dtype)
    if task["input"]["dtype"] != "uint8":
        return array
    return array.astype("float32") * task["input"].get("scale", 1.0)


def make_optimiser(described):
    """`mx.optimizer` as the task describes it, without weight decay.

    MXNet's Adam adds epsilon to the uncorrected root (form `hat`), and its momentum has the
    learning rate inside (form `inside`). Lazy updates would leave out the rows that a batch doesn't
    touch; they need sparse gradients, which nothing here has.

    Adam's kernel has the betas, and 1 - beta, in float32, where 1 - 0.999 is off by 1.3e-5; the
    bias corrections are Python's, in float64. With betas that float32 can hold, both compute with
    the same numbers.
    """
    settings = {"learning_rate": described["learning_rate"], "wd": 0.0, "lazy_update": False}
    if described["kind"] == "sgd":
        return mx.optimizer.SGD(momentum=described["momentum"], **settings)
    return mx.optimizer.Adam(
        beta1=float(np.float32(described["beta1"])),
        beta2=float(np.float32(described["beta2"])),
        epsilon=described["epsilon"],
        **settings,
    )


def by_name(task):
    """The task's layers by their names."""
    return {layer["name"]: layer for layer in task["layers"]}


def drop_rate(setup, name):
    """The rate of a dropout layer: 0 makes it the identity, in training too."""
    return by_name(setup.task)[name]["rate"] if setup.dropout else 0.0


def find_device(device):
    """MXNet's own of "cpu", "cuda" (the first GPU) or "cuda:1". ValueError if it isn't there."""
    if device == "cpu":
        return mx.cpu()
    names = ["cuda:%d" % number for number in range(mx.context.num_gpus())]
    name = "cuda:0" if device == "cuda" else device
    if name not in names:
        reason = "this MXNet (%s) sees %s" % (mx.__version__, ", ".join(names) or "no CUDA device")
        raise ValueError("device %r is not available: %s" % (device, reason))
    return mx.gpu(names.index(name))
