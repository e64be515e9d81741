"""ResNet-50 up to the global average pool, in Keras's functional API: images NHWC, forward only.

`keras.applications.ResNet50` is another: the stride is in the first 1×1, convolutions have biases,
and batch norm's epsilon is 1.001e-5. The layers are called as the canonical parameters, with "_"
for the dots: on PyTorch a layer's name can't have one.
"""

import keras
from keras import layers


def make_resnet50(layer, shape):
    channels, rows, columns = shape
    inputs = layers.Input((rows, columns, channels))
    x = conv(inputs, layer["conv1"]["filters"], 7, 2, "conv1")
    x = layers.ReLU()(norm(x, "bn1"))
    # Padded with zeros, not with -inf: that is the same after a ReLU.
    x = layers.MaxPooling2D(3, strides=2)(layers.ZeroPadding2D(1)(x))
    for stage, blocks in (("layer1", 3), ("layer2", 4), ("layer3", 6), ("layer4", 3)):
        for block in range(blocks):
            x = bottleneck(x, layer["%s.%d" % (stage, block)])
    return keras.Model(inputs, layers.GlobalAveragePooling2D()(x))


def bottleneck(x, layer):
    name, width, stride = layer["name"].replace(".", "_"), layer["width"], layer["stride"]
    y = conv(x, width, 1, 1, name + "_conv1")
    y = layers.ReLU()(norm(y, name + "_bn1"))
    y = conv(y, width, 3, stride, name + "_conv2")
    y = layers.ReLU()(norm(y, name + "_bn2"))
    y = conv(y, 4 * width, 1, 1, name + "_conv3")
    y = norm(y, name + "_bn3")
    if layer["projection"]:
        x = conv(x, 4 * width, 1, stride, name + "_downsample_0")
        x = norm(x, name + "_downsample_1")
    return layers.ReLU()(layers.Add()([y, x]))


def conv(x, filters, kernel, stride, name):
    """With a stride of 2, "same" would pad even sizes by one less at the beginning."""
    padding = "same"
    if kernel > 1 and stride > 1:
        x = layers.ZeroPadding2D(kernel // 2)(x)
        padding = "valid"
    # Random values would be overwritten, and on JAX a program is compiled for those of each shape.
    options = {"use_bias": False, "kernel_initializer": "zeros", "name": name}
    return layers.Conv2D(filters, kernel, stride, padding, **options)(x)


def norm(x, name):
    return layers.BatchNormalization(epsilon=1e-5, name=name)(x)  # not Keras's 1e-3
