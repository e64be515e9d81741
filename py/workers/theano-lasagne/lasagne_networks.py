"""The networks in Lasagne's layers. Import `theano_settings` first, and call `before_import`."""

from functools import cached_property

import lasagne
import numpy as np
import theano
import theano.tensor as T  # noqa: N812 - what every user of Theano calls it
from lasagne import layers as L  # noqa: N812
from lasagne.nonlinearities import linear, rectify


def mlp(setup, images):
    (inputs,), layers = setup.task["input"]["shape"], by_name(setup.task)
    x = L.InputLayer((None, inputs), images)
    x = L.DenseLayer(x, layers["fc1"]["units"], nonlinearity=rectify, name="fc1")
    return L.DenseLayer(x, layers["fc2"]["units"], nonlinearity=linear, name="fc2")


def cnn(setup, images):
    layers = by_name(setup.task)

    def conv(x, name, nonlinearity=linear):
        filters = layers[name]["filters"]
        return L.Conv2DLayer(x, filters, 3, pad="same", nonlinearity=nonlinearity, name=name)

    def pool_and_drop(x, name):
        x = L.NonlinearityLayer(L.MaxPool2DLayer(x, 2), rectify)
        return L.DropoutLayer(x, drop_rate(setup, name))

    x = L.InputLayer((None, *setup.task["input"]["shape"]), images)
    x = pool_and_drop(conv(conv(x, "conv1", rectify), "conv2"), "dropout1")
    x = pool_and_drop(conv(conv(x, "conv3", rectify), "conv4"), "dropout2")
    x = L.DenseLayer(x, layers["fc1"]["units"], nonlinearity=rectify, name="fc1")  # it flattens
    x = L.DropoutLayer(x, drop_rate(setup, "dropout3"))
    return L.DenseLayer(x, layers["fc2"]["units"], nonlinearity=linear, name="fc2")


def gru(setup, tokens):
    layers = by_name(setup.task)
    described = layers["embedding"]
    x = L.InputLayer((None, *setup.task["input"]["shape"]), tokens)
    x = L.EmbeddingLayer(x, described["vocabulary"], described["dimension"], name="embedding")
    x = GruLayer(x, layers["gru"]["units"], name="gru")
    return L.DenseLayer(x, layers["fc"]["units"], nonlinearity=linear, name="fc")


class GruLayer(L.Layer):
    """cuDNN's GRU, last output: two bias vectors, which Lasagne's own GRULayer hasn't."""

    def __init__(self, incoming, num_units, **kwargs):
        super().__init__(incoming, **kwargs)
        self.num_units, gates = num_units, 3 * num_units  # reset, update, new
        zeros = lasagne.init.Constant(0)  # the coordinator's values replace them
        self.W_in = self.add_param(zeros, (self.input_shape[2], gates), name="W_in")
        self.W_hid = self.add_param(zeros, (num_units, gates), name="W_hid")
        self.b_in = self.add_param(zeros, (gates,), name="b_in")
        self.b_hid = self.add_param(zeros, (gates,), name="b_hid")

    def get_output_shape_for(self, input_shape):
        return input_shape[0], self.num_units

    def get_output_for(self, x, **kwargs):
        units = self.num_units

        def step(from_x, h, W_hid, b_hid):  # noqa: N803
            from_h = T.dot(h, W_hid) + b_hid
            gates = T.nnet.sigmoid(from_x[:, : 2 * units] + from_h[:, : 2 * units])
            reset, update = gates[:, :units], gates[:, units:]
            new = T.tanh(from_x[:, 2 * units :] + reset * from_h[:, 2 * units :])
            return (1 - update) * new + update * h

        outputs, _ = theano.scan(
            step,
            sequences=T.dot(x.dimshuffle(1, 0, 2), self.W_in) + self.b_in,  # time first
            outputs_info=T.zeros((x.shape[0], units)),
            non_sequences=[self.W_hid, self.b_hid],
            strict=True,
        )
        return outputs[-1]


def resnet50(setup, images):
    layers = by_name(setup.task)

    def conv_and_norm(x, conv, norm, filters, kernel, stride):
        x = L.Conv2DLayer(
            x, filters, kernel, stride, kernel // 2, b=None, nonlinearity=linear, name=conv
        )
        return BatchNormLayer(x, name=norm)

    def bottleneck(x, layer):
        name, width, stride = layer["name"], layer["width"], layer["stride"]
        y = conv_and_norm(x, name + ".conv1", name + ".bn1", width, 1, 1)
        y = L.NonlinearityLayer(y, rectify)
        y = conv_and_norm(y, name + ".conv2", name + ".bn2", width, 3, stride)
        y = L.NonlinearityLayer(y, rectify)
        y = conv_and_norm(y, name + ".conv3", name + ".bn3", 4 * width, 1, 1)
        if layer["projection"]:
            names = name + ".downsample.0", name + ".downsample.1"
            x = conv_and_norm(x, *names, 4 * width, 1, stride)
        return L.NonlinearityLayer(L.ElemwiseSumLayer([y, x]), rectify)

    first = layers["conv1"]
    x = L.InputLayer((None, *setup.task["input"]["shape"]), images)
    x = conv_and_norm(x, "conv1", "bn1", first["filters"], first["kernel"], first["stride"])
    x = L.MaxPool2DLayer(L.NonlinearityLayer(x, rectify), 3, stride=2, pad=1)
    for layer in setup.task["layers"]:
        if layer["kind"] == "bottleneck":
            x = bottleneck(x, layer)
    return L.GlobalPoolLayer(x)


class BatchNormLayer(L.Layer):
    """Batch normalisation with the statistics of the training, which Lasagne 0.1 hasn't."""

    def __init__(self, incoming, **kwargs):
        super().__init__(incoming, **kwargs)
        zeros, channels = lasagne.init.Constant(0), self.input_shape[1:2]
        self.gamma = self.add_param(zeros, channels, name="gamma")
        self.beta = self.add_param(zeros, channels, name="beta")
        self.mean = self.add_param(zeros, channels, name="mean", trainable=False)
        self.var = self.add_param(zeros, channels, name="var", trainable=False)

    def get_output_for(self, x, **kwargs):
        scale = self.gamma / T.sqrt(self.var + np.float32(1e-5))
        shift = self.beta - self.mean * scale
        return x * scale.dimshuffle("x", 0, "x", "x") + shift.dimshuffle("x", 0, "x", "x")


NETWORKS = {"mlp": mlp, "cnn": cnn, "gru": gru, "resnet50": resnet50}

# Last word of a canonical name -> Lasagne's.
NAMES = {
    "weight": "W",
    "bias": "b",
    "weight_ih": "W_in",
    "weight_hh": "W_hid",
    "bias_ih": "b_in",
    "bias_hh": "b_hid",
}
BATCH_NORM_NAMES = {
    "weight": "gamma",
    "bias": "beta",
    "running_mean": "mean",
    "running_var": "var",
}


class Network:
    def __init__(self, setup, parameters):
        self.pixels = setup.task["input"]["kind"] == "pixels"
        self.scale = np.float32(setup.task["input"].get("scale", 1.0))
        axes = 1 + len(setup.task["input"]["shape"])
        dtype = "float32" if self.pixels else "int32"
        self.inputs = T.TensorType(dtype, (False,) * axes)("inputs")
        self.output = NETWORKS[setup.task["name"]](setup, self.inputs)
        own = {p.name: p for p in L.get_all_params(self.output)}
        self.shared = {name: own[own_name(name)] for name in parameters}
        for name, values in parameters.items():
            self.shared[name].set_value(from_canonical(name, values))
        if "optimiser" in setup.task:
            self.optimiser = setup.task["optimiser"]
            self.rate = theano.shared(np.float32(self.optimiser["learning_rate"]))

    @cached_property
    def step(self):
        """The training step; compiled when the first batch has come."""
        labels = T.ivector("labels")
        probabilities = T.nnet.softmax(L.get_output(self.output))
        loss = lasagne.objectives.categorical_crossentropy(probabilities, labels).mean()
        trained = L.get_all_params(self.output, trainable=True)
        updates = make_optimiser(self.optimiser, loss, trained, self.rate)
        return theano.function([self.inputs, labels], loss, updates=updates)

    @cached_property
    def forward(self):
        """The network without dropout; compiled when it is first asked."""
        return theano.function([self.inputs], L.get_output(self.output, deterministic=True))

    def to_device(self, inputs, labels):
        return self.inputs_to_device(inputs), labels.copy()

    def train_step(self, batch):
        return float(self.step(*batch))

    def set_learning_rate(self, rate):
        self.rate.set_value(np.float32(rate))

    def predict(self, inputs):
        return self.forward(self.inputs_to_device(inputs))

    def parameters(self):
        return {name: to_canonical(name, own.get_value()) for name, own in self.shared.items()}

    def inputs_to_device(self, inputs):
        # A batch is a view of the message it came in, at any address; Theano wants aligned arrays.
        return inputs.astype(np.float32) * self.scale if self.pixels else inputs.copy()


def make_optimiser(described, loss, parameters, rate):
    """`lasagne.updates` as the task describes it, in its own forms.

    Momentum has the learning rate inside (`inside`), Adam adds epsilon to the uncorrected root
    (`hat`). Its bias corrections are in float32, where 1 - 0.999 is off by 1.3e-5, and 1 - beta
    elsewhere isn't. With betas that float32 can hold, both compute with the same numbers.
    """
    if described["kind"] == "sgd":
        return lasagne.updates.momentum(loss, parameters, rate, described["momentum"])
    beta1, beta2 = (float(np.float32(described[key])) for key in ("beta1", "beta2"))
    return lasagne.updates.adam(loss, parameters, rate, beta1, beta2, described["epsilon"])


def own_name(name):
    """Lasagne's name of the parameter with this canonical one: `fc1.weight` is `fc1.W`."""
    layer, _, last = name.rpartition(".")
    is_norm = layer.rpartition(".")[2].startswith("bn") or layer.endswith("downsample.1")
    names = BATCH_NORM_NAMES if is_norm else NAMES
    return "%s.%s" % (layer, names[last])


def from_canonical(name, values):
    """Canonical values in Lasagne's layout: matrices are (in, out), and the kernels of a true
    convolution lie the other way round."""
    if values.ndim == 4:
        values = values[:, :, ::-1, ::-1]
    elif values.ndim == 2 and name != "embedding.weight":
        values = values.T
    return np.ascontiguousarray(values)


to_canonical = from_canonical  # the same turn once more


def by_name(task):
    """The task's layers by their names."""
    return {layer["name"]: layer for layer in task["layers"]}


def drop_rate(setup, name):
    """The rate of a dropout layer: 0 makes it the identity, in training too."""
    return by_name(setup.task)[name]["rate"] if setup.dropout else 0.0
