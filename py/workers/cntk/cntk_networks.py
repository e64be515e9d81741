"""The networks: CNTK's layers, with the names of the task's."""

import cntk as C  # noqa: N812 - what every user of CNTK calls it


def mlp(task, dropout):
    layers = by_name(task)
    return C.layers.Sequential(
        [
            C.layers.Dense(layers["fc1"]["units"], activation=C.relu, name="fc1"),
            C.layers.Dense(layers["fc2"]["units"], name="fc2"),
        ]
    )


def cnn(task, dropout):
    layers = by_name(task)

    def conv(name, activation=None):
        filters = layers[name]["filters"]
        return C.layers.Convolution2D((3, 3), filters, activation, pad=True, name=name)

    return C.layers.Sequential(
        [
            conv("conv1", C.relu),
            conv("conv2"),
            C.layers.MaxPooling((2, 2), strides=2),
            C.relu,
            dropout("dropout1"),
            conv("conv3", C.relu),
            conv("conv4"),
            C.layers.MaxPooling((2, 2), strides=2),
            C.relu,
            dropout("dropout2"),
            C.layers.Dense(layers["fc1"]["units"], activation=C.relu, name="fc1"),
            dropout("dropout3"),
            C.layers.Dense(layers["fc2"]["units"], name="fc2"),
        ]
    )


def gru(task, dropout):
    layers = by_name(task)
    vocabulary, dimension = layers["embedding"]["vocabulary"], layers["embedding"]["dimension"]
    # `C.layers.Embedding` multiplies with one-hot vectors: its gradient is sparse, and Adam isn't
    # implemented for those on a CPU ("AdamUpdate -> Feature Not Implemented").
    table = C.parameter((vocabulary, dimension), name="embedding")
    return C.layers.Sequential(
        [
            lambda tokens: C.reshape(C.gather(table, tokens), (dimension,)),
            C.layers.Recurrence(C.layers.GRU(layers["gru"]["units"], name="gru")),
            C.sequence.last,
            C.layers.Dense(layers["fc"]["units"], name="fc"),
        ]
    )


def resnet50(task, dropout):
    layers = by_name(task)
    first = layers["conv1"]

    def network(x):
        x = conv_and_norm(x, "conv1", "bn1", first["filters"], first["kernel"], first["stride"])
        x = C.layers.MaxPooling((3, 3), strides=2, pad=True)(C.relu(x))
        for layer in task["layers"]:
            if layer["kind"] == "bottleneck":
                x = bottleneck(x, layer)
        return C.layers.GlobalAveragePooling()(x)

    return network


def bottleneck(x, layer):
    name, width, stride = layer["name"] + ".", layer["width"], layer["stride"]
    y = C.relu(conv_and_norm(x, name + "conv1", name + "bn1", width, 1, 1))
    y = C.relu(conv_and_norm(y, name + "conv2", name + "bn2", width, 3, stride))
    y = conv_and_norm(y, name + "conv3", name + "bn3", 4 * width, 1, 1)
    if layer["projection"]:
        x = conv_and_norm(x, name + "downsample.0", name + "downsample.1", 4 * width, 1, stride)
    return C.relu(y + x)


def conv_and_norm(x, conv, norm, filters, kernel, stride):
    shape = (kernel, kernel)
    x = C.layers.Convolution2D(shape, filters, strides=stride, pad=True, bias=False, name=conv)(x)
    # Each channel is normalised; cuDNN, the default, is for GPUs.
    norm = C.layers.BatchNormalization(map_rank=1, epsilon=1e-5, use_cntk_engine=True, name=norm)
    return norm(x)


NETWORKS = {"mlp": mlp, "cnn": cnn, "gru": gru, "resnet50": resnet50}


def by_name(task):
    """The task's layers by their names."""
    return {layer["name"]: layer for layer in task["layers"]}
