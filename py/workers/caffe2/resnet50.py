"""ResNet-50 (v1.5) up to the global average pool, for a net that predicts."""

import re

from caffe2.python import brew

# Caffe2 calls the last one an inverse variance; what a net that predicts reads is the variance.
NORM_SUFFIXES = {"weight": "_s", "bias": "_b", "running_mean": "_rm", "running_var": "_riv"}


def resnet50(model, task, x):
    """Adds the network to `model`, from the blob `x`; gives the blob of the features."""
    layers = {layer["name"]: layer for layer in task["layers"]}
    first, channels = layers["conv1"], layers["conv1"]["filters"]
    x = conv_and_norm(
        model, x, "conv1", task["input"]["shape"][0], channels, first["kernel"], first["stride"]
    )
    x = brew.relu(model, x, x)
    x = brew.max_pool(model, x, "pool1", kernel=3, stride=2, pad=1)
    for layer in task["layers"]:
        if layer["kind"] == "bottleneck":
            x = bottleneck(model, x, channels, layer)
            channels = 4 * layer["width"]
    x = brew.average_pool(model, x, "pool", global_pooling=True)
    return model.net.Squeeze(x, "features", dims=[2, 3])


def bottleneck(model, x, channels, layer):
    name, width, stride = layer["name"], layer["width"], layer["stride"]
    y = conv_and_norm(model, x, name + ".conv1", channels, width, 1)
    y = brew.relu(model, y, y)
    y = conv_and_norm(model, y, name + ".conv2", width, width, 3, stride)
    y = brew.relu(model, y, y)
    y = conv_and_norm(model, y, name + ".conv3", width, 4 * width, 1)
    if layer["projection"]:
        x = conv_and_norm(model, x, name + ".downsample.0", channels, 4 * width, 1, stride)
    y = brew.sum(model, [y, x], y)
    return brew.relu(model, y, y)


def conv_and_norm(model, x, name, channels, filters, kernel, stride=1):
    """A convolution without bias, padded on both sides alike, and its batch norm.

    The norm works in place, as all that can does: 32 images have 1.4 GB of blobs, or twice that.
    Its blobs are then named by the convolution.
    """
    pad = kernel // 2
    x = brew.conv(
        model, x, name, channels, filters, kernel=kernel, stride=stride, pad=pad, no_bias=True
    )
    return brew.spatial_bn(model, x, x, filters, epsilon=1e-5, is_test=True)


def norm_blob(layer, kind):
    """Caffe2's blob of a batch norm's parameter; None if `layer` is no batch norm.

    It is named by the convolution before: `layer1.0.bn2.weight` is `layer1.0.conv2_s`.
    """
    if layer.endswith("downsample.1"):
        return layer[:-1] + "0" + NORM_SUFFIXES[kind]
    conv, found = re.subn(r"\bbn(\d)$", r"conv\1", layer)
    return conv + NORM_SUFFIXES[kind] if found else None
