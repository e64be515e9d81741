"""ResNet-50 up to the global average pool, in Keras's functional API: images NHWC, forward only.

`tf.keras.applications.ResNet50` is another: the stride is in the first 1×1, convolutions have
biases, and batch norm's epsilon is 1.001e-5. The layers are called as the canonical parameters.
"""

import tensorflow as tf
from tensorflow.keras import layers


def make_resnet50(setup):
    channels, rows, columns = setup.task["input"]["shape"]
    layer = {layer["name"]: layer for layer in setup.task["layers"]}
    inputs = layers.Input((rows, columns, channels))
    x = conv(inputs, layer["conv1"]["filters"], 7, 2, "conv1")
    x = layers.ReLU()(norm(x, "bn1"))
    # Padded with zeros, not with -inf: that is the same after a ReLU.
    x = layers.MaxPooling2D(3, strides=2)(layers.ZeroPadding2D(1)(x))
    for stage, blocks in (("layer1", 3), ("layer2", 4), ("layer3", 6), ("layer4", 3)):
        for block in range(blocks):
            x = bottleneck(x, layer["%s.%d" % (stage, block)])
    return tf.keras.Model(inputs, layers.GlobalAveragePooling2D()(x))


def bottleneck(x, layer):
    name, width, stride = layer["name"], layer["width"], layer["stride"]
    y = conv(x, width, 1, 1, name + ".conv1")
    y = layers.ReLU()(norm(y, name + ".bn1"))
    y = conv(y, width, 3, stride, name + ".conv2")
    y = layers.ReLU()(norm(y, name + ".bn2"))
    y = conv(y, 4 * width, 1, 1, name + ".conv3")
    y = norm(y, name + ".bn3")
    if layer["projection"]:
        x = conv(x, 4 * width, 1, stride, name + ".downsample.0")
        x = norm(x, name + ".downsample.1")
    return layers.ReLU()(layers.Add()([y, x]))


def conv(x, filters, kernel, stride, name):
    """With a stride of 2, "same" would pad even sizes by one less at the beginning."""
    padding = "same"
    if kernel > 1 and stride > 1:
        x = layers.ZeroPadding2D(kernel // 2)(x)
        padding = "valid"
    return layers.Conv2D(filters, kernel, stride, padding, use_bias=False, name=name)(x)


def norm(x, name):
    return layers.BatchNormalization(epsilon=1e-5, name=name)(x)  # not Keras's 1e-3
