"""MXNet Gluon: hybridized blocks, `autograd`, `gluon.Trainer`."""

import mxnet as mx
from mxnet import autograd, gluon
from mxnet.gluon import nn, rnn
from mxnet_common import by_name, drop_rate, find_device, inputs_to_device, make_optimiser


class Mlp(gluon.HybridBlock):
    def __init__(self, setup):
        super().__init__()
        (inputs,), layers = setup.task["input"]["shape"], by_name(setup.task)
        hidden, classes = layers["fc1"]["units"], layers["fc2"]["units"]
        self.fc1 = nn.Dense(hidden, activation="relu", in_units=inputs)
        self.fc2 = nn.Dense(classes, in_units=hidden)

    def hybrid_forward(self, F, x):  # noqa: N803 - F is mx.nd, or mx.sym once hybridized
        return self.fc2(self.fc1(x))


class Cnn(gluon.HybridBlock):
    def __init__(self, setup):
        super().__init__()
        (channels, rows, columns), layers = setup.task["input"]["shape"], by_name(setup.task)
        c1, c2, c3, c4 = (layers["conv%d" % i]["filters"] for i in (1, 2, 3, 4))
        hidden, classes = layers["fc1"]["units"], layers["fc2"]["units"]
        self.conv1 = nn.Conv2D(c1, 3, padding=1, activation="relu", in_channels=channels)
        self.conv2 = nn.Conv2D(c2, 3, padding=1, in_channels=c1)
        self.conv3 = nn.Conv2D(c3, 3, padding=1, activation="relu", in_channels=c2)
        self.conv4 = nn.Conv2D(c4, 3, padding=1, in_channels=c3)
        self.fc1 = nn.Dense(hidden, activation="relu", in_units=c4 * (rows // 4) * (columns // 4))
        self.fc2 = nn.Dense(classes, in_units=hidden)
        self.pool = nn.MaxPool2D(2)
        self.relu = nn.Activation("relu")
        self.dropout1 = nn.Dropout(drop_rate(setup, "dropout1"))
        self.dropout2 = nn.Dropout(drop_rate(setup, "dropout2"))
        self.dropout3 = nn.Dropout(drop_rate(setup, "dropout3"))

    def hybrid_forward(self, F, x):  # noqa: N803
        x = self.dropout1(self.relu(self.pool(self.conv2(self.conv1(x)))))
        x = self.dropout2(self.relu(self.pool(self.conv4(self.conv3(x)))))
        return self.fc2(self.dropout3(self.fc1(x)))  # a Dense layer flattens its input


class Gru(gluon.HybridBlock):
    def __init__(self, setup):
        super().__init__()
        layers = by_name(setup.task)
        vocabulary, dimension = layers["embedding"]["vocabulary"], layers["embedding"]["dimension"]
        units = layers["gru"]["units"]
        self.embedding = nn.Embedding(vocabulary, dimension, sparse_grad=False)
        self.gru = rnn.GRU(units, input_size=dimension)
        self.fc = nn.Dense(layers["fc"]["units"], in_units=units)

    def hybrid_forward(self, F, tokens):  # noqa: N803
        outputs = self.gru(self.embedding(F.transpose(tokens)))  # recurrent layers are time first
        # SequenceLast would be shorter; its gradient overwrites memory in 1.9.1.
        return self.fc(F.slice_axis(outputs, axis=0, begin=-1, end=None).squeeze(axis=0))


def conv_and_norm(channels, filters, kernel, stride=1):
    """A convolution without bias, padded on both sides alike, and its batch norm."""
    conv = nn.Conv2D(filters, kernel, stride, kernel // 2, use_bias=False, in_channels=channels)
    return conv, nn.BatchNorm(epsilon=1e-5, in_channels=filters)


class Bottleneck(gluon.HybridBlock):
    def __init__(self, channels, layer):
        super().__init__()
        width, stride, filters = layer["width"], layer["stride"], 4 * layer["width"]
        self.conv1, self.bn1 = conv_and_norm(channels, width, 1)
        self.conv2, self.bn2 = conv_and_norm(width, width, 3, stride)
        self.conv3, self.bn3 = conv_and_norm(width, filters, 1)
        self.relu = nn.Activation("relu")
        self.downsample = nn.HybridSequential()  # of nothing: the identity
        if layer["projection"]:
            self.downsample.add(*conv_and_norm(channels, filters, 1, stride))

    def hybrid_forward(self, F, x):  # noqa: N803
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.relu(self.bn2(self.conv2(y)))
        return self.relu(self.bn3(self.conv3(y)) + self.downsample(x))


class ResNet50(gluon.HybridBlock):
    """The zoo's `resnet50_v1` has the strides in the first 1×1, and biases in some convolutions."""

    def __init__(self, setup):
        super().__init__()
        layers = by_name(setup.task)
        first, channels = layers["conv1"], layers["conv1"]["filters"]
        self.conv1, self.bn1 = conv_and_norm(
            setup.task["input"]["shape"][0], channels, first["kernel"], first["stride"]
        )
        self.relu = nn.Activation("relu")
        self.pool = nn.MaxPool2D(3, strides=2, padding=1)
        for stage, blocks in (("layer1", 3), ("layer2", 4), ("layer3", 6), ("layer4", 3)):
            made = nn.HybridSequential()
            for block in range(blocks):
                layer = layers["%s.%d" % (stage, block)]
                made.add(Bottleneck(channels, layer))
                channels = 4 * layer["width"]
            setattr(self, stage, made)

    def hybrid_forward(self, F, x):  # noqa: N803
        x = self.pool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return F.mean(x, axis=(2, 3))


BLOCKS = {"mlp": Mlp, "cnn": Cnn, "gru": Gru, "resnet50": ResNet50}

# Canonical name -> Gluon's, where they differ: the layers of an rnn.GRU are numbered.
NAMES = {
    "gru.weight_ih": "gru.l0_i2h_weight",
    "gru.weight_hh": "gru.l0_h2h_weight",
    "gru.bias_ih": "gru.l0_i2h_bias",
    "gru.bias_hh": "gru.l0_h2h_bias",
}
NORM_NAMES = {"weight": "gamma", "bias": "beta"}


class Network:
    def __init__(self, setup, parameters):
        self.task = setup.task
        self.ctx = find_device(setup.device)
        self.net = BLOCKS[self.task["name"]](setup)
        self.net.initialize(mx.init.Zero(), ctx=self.ctx)
        for name, values in parameters.items():
            self.parameter(name).set_data(mx.nd.array(values))
        # Other shapes are still allowed, and then set up anew. Without static_shape the GRU's
        # workspace is allocated in every step.
        self.net.hybridize(static_alloc=True, static_shape=True)
        if "optimiser" not in self.task:
            return  # it goes forward only
        self.loss = gluon.loss.SoftmaxCrossEntropyLoss()
        self.loss.hybridize(static_alloc=True, static_shape=True)
        self.trainer = gluon.Trainer(
            self.net.collect_params(), make_optimiser(self.task["optimiser"])
        )

    def parameter(self, name):
        *path, attribute = NAMES.get(name, name).split(".")
        block = self.net
        for part in path:  # the blocks of a sequence have numbers
            block = block[int(part)] if part.isdigit() else getattr(block, part)
        if isinstance(block, nn.BatchNorm):
            attribute = NORM_NAMES.get(attribute, attribute)
        return getattr(block, attribute)

    def to_device(self, inputs, labels):
        labels = mx.nd.array(labels, ctx=self.ctx, dtype="int32")
        return inputs_to_device(inputs, self.task, self.ctx), labels

    def train_step(self, batch):
        inputs, labels = batch
        with autograd.record():
            # In float64: the log-softmax for float32 is oneDNN's, and off by 6e-7 on average. What
            # oneDNN doesn't have, MXNet computes itself.
            losses = self.loss(self.net(inputs).astype("float64"), labels)  # one a sample
        losses.backward()  # gradients of their sum, which step() divides by the batch's size
        self.trainer.step(len(labels))
        loss = losses.mean().asscalar()
        mx.nd.waitall()  # the engine is asynchronous: the loss doesn't wait for the update
        return float(loss)

    def set_learning_rate(self, rate):
        self.trainer.set_learning_rate(rate)

    def predict(self, inputs):
        return self.net(inputs_to_device(inputs, self.task, self.ctx)).asnumpy()

    def parameters(self):
        names = [parameter["name"] for parameter in self.task["parameters"]]
        return {name: self.parameter(name).data().asnumpy() for name in names}
