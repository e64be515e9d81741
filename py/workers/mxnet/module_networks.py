"""MXNet Module: symbols, bound to executors by `mx.mod.Module`."""

import warnings

import mxnet as mx
import numpy as np
from mxnet.io import DataBatch, DataDesc
from mxnet_common import by_name, drop_rate, find_device, inputs_to_device, make_optimiser


def relu(x):
    return mx.sym.Activation(x, act_type="relu")


def mlp(setup, x):
    layers = by_name(setup.task)
    x = relu(mx.sym.FullyConnected(x, num_hidden=layers["fc1"]["units"], name="fc1"))
    return mx.sym.FullyConnected(x, num_hidden=layers["fc2"]["units"], name="fc2")


def cnn(setup, x):
    layers = by_name(setup.task)

    def conv(x, name):
        filters = layers[name]["filters"]
        return mx.sym.Convolution(x, num_filter=filters, kernel=(3, 3), pad=(1, 1), name=name)

    def pool(x):
        return mx.sym.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="max")

    x = relu(conv(x, "conv1"))
    x = mx.sym.Dropout(relu(pool(conv(x, "conv2"))), p=drop_rate(setup, "dropout1"))
    x = relu(conv(x, "conv3"))
    x = mx.sym.Dropout(relu(pool(conv(x, "conv4"))), p=drop_rate(setup, "dropout2"))
    x = mx.sym.flatten(x)
    x = relu(mx.sym.FullyConnected(x, num_hidden=layers["fc1"]["units"], name="fc1"))
    x = mx.sym.Dropout(x, p=drop_rate(setup, "dropout3"))
    return mx.sym.FullyConnected(x, num_hidden=layers["fc2"]["units"], name="fc2")


def gru(setup, tokens):
    layers, (steps,) = by_name(setup.task), setup.task["input"]["shape"]
    vocabulary, dimension = layers["embedding"]["vocabulary"], layers["embedding"]["dimension"]
    x = mx.sym.Embedding(
        mx.sym.transpose(tokens),  # recurrent layers are time first
        input_dim=vocabulary,
        output_dim=dimension,
        sparse_grad=False,
        name="embedding",
    )
    cell = mx.rnn.FusedRNNCell(layers["gru"]["units"], mode="gru", prefix="gru_")
    outputs, _ = cell.unroll(steps, x, layout="TNC", merge_outputs=True)
    # SequenceLast would be shorter; its gradient overwrites memory in 1.9.1.
    x = mx.sym.slice_axis(outputs, axis=0, begin=-1, end=None).squeeze(axis=0)
    return mx.sym.FullyConnected(x, num_hidden=layers["fc"]["units"], name="fc")


# Batch norm's variables under the canonical names; its own would be `bn1_gamma`, `bn1_moving_mean`.
NORM_SUFFIXES = {
    "gamma": "_weight",
    "beta": "_bias",
    "moving_mean": "_running_mean",
    "moving_var": "_running_var",
}


def conv_and_norm(x, conv, norm, filters, kernel, stride=1):
    """A convolution without bias, padded on both sides alike, and its batch norm."""
    x = mx.sym.Convolution(
        x,
        num_filter=filters,
        kernel=(kernel, kernel),
        stride=(stride, stride),
        pad=(kernel // 2, kernel // 2),
        no_bias=True,
        name=conv,
    )
    held = {key: mx.sym.Variable(norm + suffix) for key, suffix in NORM_SUFFIXES.items()}
    # The defaults are another epsilon, 1e-3, and a weight of 1 whatever it is set to.
    return mx.sym.BatchNorm(x, **held, eps=1e-5, fix_gamma=False, use_global_stats=True, name=norm)


def bottleneck(x, name, layer):
    width, stride = layer["width"], layer["stride"]
    y = relu(conv_and_norm(x, name + "_conv1", name + "_bn1", width, 1))
    y = relu(conv_and_norm(y, name + "_conv2", name + "_bn2", width, 3, stride))
    y = conv_and_norm(y, name + "_conv3", name + "_bn3", 4 * width, 1)
    if layer["projection"]:
        down = name + "_downsample_"
        x = conv_and_norm(x, down + "0", down + "1", 4 * width, 1, stride)
    return relu(y + x)


def resnet50(setup, x):
    layers = by_name(setup.task)
    first = layers["conv1"]
    x = conv_and_norm(x, "conv1", "bn1", first["filters"], first["kernel"], first["stride"])
    x = mx.sym.Pooling(relu(x), kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type="max")
    for layer in setup.task["layers"]:
        if layer["kind"] == "bottleneck":
            x = bottleneck(x, layer["name"].replace(".", "_"), layer)
    return mx.sym.mean(x, axis=(2, 3))


SYMBOLS = {"mlp": mlp, "cnn": cnn, "gru": gru, "resnet50": resnet50}

# A fused cell has one vector, `gru_parameters`: these in a row, with gates reset, update, new.
PACKED = ["gru.weight_ih", "gru.weight_hh", "gru.bias_ih", "gru.bias_hh"]


class Network:
    def __init__(self, setup, parameters):
        self.task = setup.task
        self.ctx = find_device(setup.device)
        self.shapes = {entry["name"]: entry["shape"] for entry in self.task["parameters"]}
        output = SYMBOLS[self.task["name"]](setup, mx.sym.Variable("data"))
        dtype = "int32" if self.task["input"]["kind"] == "tokens" else "float32"
        self.data = [DataDesc("data", (setup.batch_size, *self.task["input"]["shape"]), dtype)]
        self.predictor = mx.mod.Module(output, label_names=None, context=self.ctx)
        if "optimiser" in self.task:
            self.bind_trainer(output, setup.batch_size, parameters)
            # The same network up to the logits, with the same parameters in memory.
            self.predictor.bind(self.data, for_training=False, shared_module=self.module)
        else:
            self.module = self.predictor
            self.module.bind(self.data, for_training=False)
            self.fill(parameters)

    def bind_trainer(self, logits, batch_size, parameters):
        # Its output is the probabilities, its gradient the cross-entropy's: that of the sum, unless
        # it is told to divide by the size of the batch.
        output = mx.sym.SoftmaxOutput(logits, normalization="batch", name="softmax")
        labels = [DataDesc("softmax_label", (batch_size,))]
        self.module = mx.mod.Module(output, context=self.ctx)
        self.module.bind(self.data, labels, for_training=True)
        self.fill(parameters)
        self.optimiser = make_optimiser(self.task["optimiser"])
        with warnings.catch_warnings():
            # Module would divide gradients by the size that it was bound with, which a smaller last
            # batch doesn't have, and warns when it isn't let.
            warnings.filterwarnings("ignore", message="Optimizer created manually")
            self.module.init_optimizer(optimizer=self.optimiser)
        self.metric = mx.metric.CrossEntropy()

    def fill(self, parameters):
        arguments = from_canonical(parameters)
        states = self.module.symbol.list_auxiliary_states()  # batch norm's running statistics
        auxiliary = {name: arguments.pop(name) for name in states}
        self.module.init_params(initializer=None, arg_params=arguments, aux_params=auxiliary)

    def to_device(self, inputs, labels):
        labels = mx.nd.array(labels, ctx=self.ctx)  # SoftmaxOutput wants them as it has its logits
        return DataBatch([inputs_to_device(inputs, self.task, self.ctx)], [labels])

    def train_step(self, batch):
        self.module.forward_backward(batch)  # reshapes the executor for a batch of another size
        self.module.update()
        self.metric.reset()
        self.module.update_metric(self.metric, batch.label)
        mx.nd.waitall()  # the engine is asynchronous: the metric doesn't wait for the update
        return float(self.metric.get()[1])

    def set_learning_rate(self, rate):
        self.optimiser.set_learning_rate(rate)

    def predict(self, inputs):
        batch = DataBatch([inputs_to_device(inputs, self.task, self.ctx)])
        self.predictor.forward(batch, is_train=False)
        return self.predictor.get_outputs()[0].asnumpy()

    def parameters(self):
        arguments, auxiliary = self.module.get_params()
        arrays = {name: a.asnumpy() for name, a in {**arguments, **auxiliary}.items()}
        return to_canonical(arrays, self.shapes)


def from_canonical(parameters):
    """Canonical arrays under Module's names: `fc1.weight` is `fc1_weight`."""
    arguments = {n.replace(".", "_"): v for n, v in parameters.items() if n not in PACKED}
    if PACKED[0] in parameters:
        arguments["gru_parameters"] = np.concatenate([parameters[n].ravel() for n in PACKED])
    return {name: mx.nd.array(values) for name, values in arguments.items()}


def to_canonical(arguments, shapes):
    """The reverse of `from_canonical`: arrays of these canonical names and `shapes`."""
    parts = dict(arguments)
    if "gru_parameters" in parts:
        ends = np.cumsum([np.prod(shapes[n]) for n in PACKED])[:-1]
        parts.update(zip(PACKED, np.split(parts["gru_parameters"], ends)))
    return {n: parts.get(n, parts.get(n.replace(".", "_"))).reshape(s) for n, s in shapes.items()}
