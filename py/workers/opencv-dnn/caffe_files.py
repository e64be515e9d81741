"""A network as the two files that Caffe keeps it in, without Caffe: prototxt and caffemodel.

The prototxt is text. The caffemodel is a message of Caffe's `caffe.proto`, of which this has the
few fields that hold parameters.
"""

import numpy as np
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory


def resnet50(task):
    """The prototxt: its layers are called what they are called in the task."""
    layers = {layer["name"]: layer for layer in task["layers"]}
    shape = " ".join("dim: %d" % size for size in (1, *task["input"]["shape"]))
    net = [text("Input", "data", [], "input_param { shape { %s } }" % shape)]
    first = layers["conv1"]
    x = conv_and_norm(net, "data", "conv1", "bn1", first["filters"], 7, first["stride"])
    x = add(net, "ReLU", "relu1", [x])
    # Caffe rounds the number of windows up. OpenCV wants that forbidden with a word of its own.
    pooling = "pool: MAX kernel_size: 3 stride: 2 pad: 1 ceil_mode: false"
    x = add(net, "Pooling", "pool1", [x], "pooling_param { %s }" % pooling)
    for layer in task["layers"]:
        if layer["kind"] == "bottleneck":
            x = bottleneck(net, x, layer)
    add(net, "Pooling", "pool", [x], "pooling_param { pool: AVE global_pooling: true }")
    return "".join(net)


def bottleneck(net, x, layer):
    name, width, stride = layer["name"] + ".", layer["width"], layer["stride"]
    y = conv_and_norm(net, x, name + "conv1", name + "bn1", width, 1, 1)
    y = add(net, "ReLU", name + "relu1", [y])
    y = conv_and_norm(net, y, name + "conv2", name + "bn2", width, 3, stride)
    y = add(net, "ReLU", name + "relu2", [y])
    y = conv_and_norm(net, y, name + "conv3", name + "bn3", 4 * width, 1, 1)
    if layer["projection"]:
        names = name + "downsample.0", name + "downsample.1"
        x = conv_and_norm(net, x, *names, 4 * width, 1, stride)
    y = add(net, "Eltwise", name + "sum", [y, x], "eltwise_param { operation: SUM }")
    return add(net, "ReLU", name + "relu3", [y])


def conv_and_norm(net, x, conv, norm, filters, kernel, stride):
    """Two layers make a batch norm in Caffe: one normalises, one scales and shifts."""
    sizes = filters, kernel, stride, kernel // 2
    settings = "num_output: %d kernel_size: %d stride: %d pad: %d bias_term: false" % sizes
    x = add(net, "Convolution", conv, [x], "convolution_param { %s }" % settings)
    settings = "use_global_stats: true eps: 1e-5"
    x = add(net, "BatchNorm", norm, [x], "batch_norm_param { %s }" % settings)
    return add(net, "Scale", norm + "/scale", [x], "scale_param { bias_term: true }")


def add(net, kind, name, inputs, settings=""):
    """Adds a layer to the texts in `net`; returns its name, which is its output's too."""
    net.append(text(kind, name, inputs, settings))
    return name


def text(kind, name, inputs, settings):
    bottoms = " ".join('bottom: "%s"' % bottom for bottom in inputs)
    values = name, kind, bottoms, name, settings
    return 'layer { name: "%s" type: "%s" %s top: "%s" %s }\n' % values


def caffemodel(blobs):
    """The message, in bytes, with each layer's arrays: layer -> [float32 array]."""
    net = _net_class()()
    for name, arrays in blobs.items():
        layer = net.layer.add(name=name)
        for array in arrays:
            blob = layer.blobs.add(data=np.ascontiguousarray(array, "<f4").tobytes())
            blob.shape.dim.extend(array.shape)
    return net.SerializeToString()


def _net_class():
    """The class of Caffe's `NetParameter`, with its numbers of the fields that are needed here."""
    field = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="parameters.proto", package="caffe")
    file.syntax = "proto2"

    def message(name, *fields):
        described = file.message_type.add(name=name)
        for key, number, kind, repeated in fields:
            one = described.field.add(name=key, number=number)
            one.label = field.LABEL_REPEATED if repeated else field.LABEL_OPTIONAL
            if isinstance(kind, str):
                one.type, one.type_name = field.TYPE_MESSAGE, ".caffe." + kind
            else:
                one.type = kind
                one.options.packed = repeated

    message("BlobShape", ("dim", 1, field.TYPE_INT64, True))
    # In Caffe `data` is a packed array of floats, which is encoded as its bytes are.
    data, shape = ("data", 5, field.TYPE_BYTES, False), ("shape", 7, "BlobShape", False)
    message("BlobProto", data, shape)
    name, blobs = ("name", 1, field.TYPE_STRING, False), ("blobs", 7, "BlobProto", True)
    message("LayerParameter", name, blobs)
    message("NetParameter", name, ("layer", 100, "LayerParameter", True))
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("caffe.NetParameter"))
