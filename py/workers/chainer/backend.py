"""Chainer 7.8: `Chain`, `chainer.links`, `chainer.functions`, `chainer.optimizers`."""

import os
import platform

import chainer
import chainer.functions as F  # noqa: N812 - what every user of Chainer calls it
import chainer.links as L  # noqa: N812
import numpy as np
from chainer import optimizers
from chainer.backends import cuda


def start(device, threads):
    """Tell what computes; the BLAS library has read its number of threads when it was loaded."""
    _check_device(device)
    chainer.get_device(_own_name(device)).use()
    return {
        "framework": {"name": "Chainer", "version": chainer.__version__},
        "versions": {
            "python": platform.python_version(),
            "numpy": np.__version__,
            "chainer": chainer.__version__,
        },
        "tasks": ["mlp", "cnn", "gru", "resnet50"],
        "forms": {"adam": "hat", "momentum": "inside", "gru": "cudnn"},
        "disclosures": {
            "precision": "float32",
            "layout": "NCHW",
            "mode": "define-by-run",
            "cpu kernels": "NumPy's: im2col and BLAS; no iDeep",
            "OPENBLAS_NUM_THREADS": os.environ.get("OPENBLAS_NUM_THREADS", "not set"),
        },
    }


def build(setup, parameters):
    """The network of `setup.task`, holding `parameters`."""
    np.random.seed(setup.seed)
    if cuda.available:
        cuda.cupy.random.seed(setup.seed)
    return Network(setup, parameters)


class Mlp(chainer.Chain):
    def __init__(self, task, dropout):
        super().__init__()
        (inputs,), layers = task["input"]["shape"], by_name(task)
        with self.init_scope():
            self.fc1 = L.Linear(inputs, layers["fc1"]["units"])
            self.fc2 = L.Linear(layers["fc1"]["units"], layers["fc2"]["units"])

    def forward(self, x):
        return self.fc2(F.relu(self.fc1(x)))


class Cnn(chainer.Chain):
    def __init__(self, task, dropout):
        super().__init__()
        (channels, rows, columns), layers = task["input"]["shape"], by_name(task)
        c1, c2, c3, c4 = (layers["conv%d" % i]["filters"] for i in (1, 2, 3, 4))
        hidden, classes = layers["fc1"]["units"], layers["fc2"]["units"]
        with self.init_scope():
            self.conv1 = L.Convolution2D(channels, c1, 3, pad=1)
            self.conv2 = L.Convolution2D(c1, c2, 3, pad=1)
            self.conv3 = L.Convolution2D(c2, c3, 3, pad=1)
            self.conv4 = L.Convolution2D(c3, c4, 3, pad=1)
            self.fc1 = L.Linear(c4 * (rows // 4) * (columns // 4), hidden)
            self.fc2 = L.Linear(hidden, classes)
        names = ("dropout1", "dropout2", "dropout3")
        self.rates = [layers[name]["rate"] if dropout else 0.0 for name in names]

    def forward(self, x):
        rate1, rate2, rate3 = self.rates
        x = F.relu(self.conv1(x))
        x = F.dropout(F.relu(max_pool(self.conv2(x), 2)), rate1)
        x = F.relu(self.conv3(x))
        x = F.dropout(F.relu(max_pool(self.conv4(x), 2)), rate2)
        x = F.dropout(F.relu(self.fc1(x)), rate3)  # a Linear link flattens its input
        return self.fc2(x)


class Gru(chainer.Chain):
    def __init__(self, task, dropout):
        super().__init__()
        layers = by_name(task)
        vocabulary, dimension = layers["embedding"]["vocabulary"], layers["embedding"]["dimension"]
        with self.init_scope():
            self.embedding = L.EmbedID(vocabulary, dimension)
            self.gru = L.NStepGRU(1, dimension, layers["gru"]["units"], dropout=0.0)
            self.fc = L.Linear(layers["gru"]["units"], layers["fc"]["units"])

    def forward(self, tokens):
        sequences = F.separate(self.embedding(tokens), axis=0)  # one array a sample, of any length
        last, _ = self.gru(None, list(sequences))
        return self.fc(last[0])  # of the only layer


class Bottleneck(chainer.Chain):
    def __init__(self, inputs, layer):
        super().__init__()
        self.projection = layer["projection"]
        width, stride, outputs = layer["width"], layer["stride"], 4 * layer["width"]
        with self.init_scope():
            self.conv1 = L.Convolution2D(inputs, width, 1, nobias=True)
            self.bn1 = batch_norm(width)
            self.conv2 = L.Convolution2D(width, width, 3, stride, pad=1, nobias=True)
            self.bn2 = batch_norm(width)
            self.conv3 = L.Convolution2D(width, outputs, 1, nobias=True)
            self.bn3 = batch_norm(outputs)
            if layer["projection"]:
                shortcut = L.Convolution2D(inputs, outputs, 1, stride, nobias=True)
                self.downsample = chainer.Sequential(shortcut, batch_norm(outputs))

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        y = F.relu(self.bn2(self.conv2(y)))
        shortcut = self.downsample(x) if self.projection else x
        return F.relu(self.bn3(self.conv3(y)) + shortcut)


class ResNet50(chainer.Chain):
    def __init__(self, task, dropout):
        super().__init__()
        layers = by_name(task)
        channels = layers["conv1"]["filters"]
        kernel, stride = layers["conv1"]["kernel"], layers["conv1"]["stride"]
        with self.init_scope():
            self.conv1 = L.Convolution2D(
                task["input"]["shape"][0], channels, kernel, stride, pad=kernel // 2, nobias=True
            )
            self.bn1 = batch_norm(channels)
            for stage, blocks in (("layer1", 3), ("layer2", 4), ("layer3", 6), ("layer4", 3)):
                made = []
                for block in range(blocks):
                    layer = layers["%s.%d" % (stage, block)]
                    made.append(Bottleneck(channels, layer))
                    channels = 4 * layer["width"]
                # A Sequential of more than two numbers its links in the wrong order.
                setattr(self, stage, chainer.ChainList(*made))

    def forward(self, x):
        x = max_pool(F.relu(self.bn1(self.conv1(x))), 3, stride=2, pad=1)
        for stage in (self.layer1, self.layer2, self.layer3, self.layer4):
            for block in stage:
                x = block(x)
        return F.average(x, axis=(2, 3))


def max_pool(x, size, stride=None, pad=0):
    """Of whole windows; Chainer would also take those that stick out."""
    return F.max_pooling_2d(x, size, stride, pad, cover_all=False)


def batch_norm(channels):
    return L.BatchNormalization(channels, eps=1e-5)  # not Chainer's 2e-5


CHAINS = {"mlp": Mlp, "cnn": Cnn, "gru": Gru, "resnet50": ResNet50}

# Last word of a canonical name -> attributes of the link. An NStepGRU's layer has an array for each
# gate: reset, update, new.
NAMES = {
    "weight": ["W"],
    "bias": ["b"],
    "weight_ih": ["w0", "w1", "w2"],
    "weight_hh": ["w3", "w4", "w5"],
    "bias_ih": ["b0", "b1", "b2"],
    "bias_hh": ["b3", "b4", "b5"],
}
BATCH_NORM_NAMES = {
    "weight": ["gamma"],
    "bias": ["beta"],
    "running_mean": ["avg_mean"],
    "running_var": ["avg_var"],
}


class Network:
    def __init__(self, setup, parameters):
        self.device = chainer.get_device(_own_name(setup.device))
        self.tells_parts = self.device.xp is np  # a GPU has only been given them to do
        self.pixels = setup.task["input"]["kind"] == "pixels"
        self.scale = np.float32(setup.task["input"].get("scale", 1.0))
        self.names = [parameter["name"] for parameter in setup.task["parameters"]]
        self.chain = CHAINS[setup.task["name"]](setup.task, setup.dropout)
        for name, values in parameters.items():
            own = own_arrays(self.chain, name)
            for array, part in zip(own, np.split(values, len(own))):
                array[...] = part
        self.chain.to_device(self.device)
        if "optimiser" in setup.task:
            self.optimiser = make_optimiser(setup.task["optimiser"])
            self.optimiser.setup(self.chain)

    def to_device(self, inputs, labels):
        return self.inputs_to_device(inputs), self.device.send(labels)

    def train_step(self, batch):
        inputs, labels = batch
        loss = F.softmax_cross_entropy(self.chain(inputs), labels)
        self.done("forward")
        self.chain.cleargrads()
        loss.backward()
        self.done("backward")
        self.optimiser.update()
        if self.device.xp is not np:
            cuda.Stream.null.synchronize()
        return float(loss.array)

    def done(self, part):
        """The runtime puts its clock here."""

    def set_learning_rate(self, rate):
        if isinstance(self.optimiser, optimizers.Adam):
            self.optimiser.alpha = rate
        else:
            self.optimiser.lr = rate

    def predict(self, inputs):
        with chainer.using_config("train", False), chainer.no_backprop_mode():
            logits = self.chain(self.inputs_to_device(inputs))
        return chainer.get_device("@numpy").send(logits.array)

    def parameters(self):
        to_host = chainer.get_device("@numpy").send
        return {
            name: np.concatenate([to_host(array) for array in own_arrays(self.chain, name)])
            for name in self.names
        }

    def inputs_to_device(self, inputs):
        array = self.device.send(inputs)
        if not self.pixels:
            return array
        return array.astype(np.float32) * self.scale


def own_arrays(chain, name):
    """The arrays in which `chain` has the parameter with this canonical name."""
    layer, _, last = name.rpartition(".")
    link = dict(chain.namedlinks())["/" + layer.replace(".", "/")]
    if isinstance(link, L.NStepGRU):
        link = link[0]  # its only layer
    names = BATCH_NORM_NAMES if isinstance(link, L.BatchNormalization) else NAMES
    values = [getattr(link, one) for one in names[last]]
    return [v.array if isinstance(v, chainer.Parameter) else v for v in values]


def make_optimiser(described):
    """`chainer.optimizers` as the task describes it, in its own forms.

    Adam adds epsilon to the uncorrected root (`hat`); momentum has the learning rate inside.
    """
    rate = described["learning_rate"]
    if described["kind"] == "sgd":
        return optimizers.MomentumSGD(rate, described["momentum"])
    return optimizers.Adam(rate, described["beta1"], described["beta2"], described["epsilon"])


def by_name(task):
    """The task's layers by their names."""
    return {layer["name"]: layer for layer in task["layers"]}


def _own_name(device):
    """Chainer's name for "cpu", "cuda" (the first GPU) or "cuda:1"."""
    if device == "cpu":
        return "@numpy"
    return "@cupy:%s" % (device.partition(":")[2] or "0")


def _check_device(device):
    """ValueError unless it is "cpu", or a GPU that CuPy sees: "cuda" (the first), "cuda:1"."""
    if device == "cpu":
        return
    count = cuda.cupy.cuda.runtime.getDeviceCount() if cuda.available else 0
    names = ["cuda:%d" % number for number in range(count)]
    name = "cuda:0" if device == "cuda" else device
    if name not in names:
        seen = ", ".join(names) or "no CUDA device (CuPy makes them visible)"
        reason = "this Chainer (%s) sees %s" % (chainer.__version__, seen)
        raise ValueError("device %r is not available: %s" % (device, reason))
