"""PyTorch: `nn.Module`, `F.cross_entropy`, `torch.optim`; eager, compiled, or channels last."""

import os
import platform
import shutil
import warnings

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - what every user of PyTorch calls it
from torch import nn

MODES = {"": "eager", "compile": "torch.compile of the module", "channels_last": "eager"}
# TorchDynamo doesn't trace an nn.GRU: the whole network would run eagerly under another name.
TASKS = {
    "": ["mlp", "cnn", "gru", "resnet50"],
    "compile": ["mlp", "cnn", "resnet50"],
    "channels_last": ["cnn", "resnet50"],
}
chosen = {"variant": ""}


def start(device, threads, variant=""):
    """Set the threads and the precision, and tell what computes."""
    if variant not in MODES:
        raise ValueError("no variant %r; there are: %s" % (variant, ", ".join(filter(None, MODES))))
    _check_device(device)
    if variant == "compile":
        _check_compiler()
        torch._inductor.config.compile_threads = 1  # in this process, not in a pool of helpers
    chosen["variant"] = variant
    torch.set_num_threads(threads)
    torch.set_num_interop_threads(1)
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    # A batch is a read-only view of the message it came in. It is never written to.
    warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
    return {
        "framework": {"name": "PyTorch", "version": torch.__version__},
        "versions": {
            "python": platform.python_version(),
            "numpy": np.__version__,
            "torch": torch.__version__,
            "cuda": str(torch.version.cuda),
        },
        "tasks": TASKS[variant],
        "forms": {"adam": "torch", "gru": "cudnn"},
        "disclosures": {
            "precision": "float32, TF32 off",
            "layout": "NHWC (channels_last)" if variant == "channels_last" else "NCHW",
            "mode": MODES[variant],
            "cpu kernels": torch.backends.cpu.get_cpu_capability(),
            "onednn": str(torch.backends.mkldnn.is_available()),
            "mkl": str(torch.backends.mkl.is_available()),
        },
    }


def build(setup, parameters):
    """The network of `setup.task`, holding `parameters`."""
    torch.manual_seed(setup.seed)
    if chosen["variant"] == "compile":
        torch.compiler.reset()  # forgets the programs compiled for the network before this one
    return Network(setup, parameters)


class Mlp(nn.Module):
    def __init__(self, task):
        super().__init__()
        (inputs,), layers = task["input"]["shape"], by_name(task)
        self.fc1 = nn.Linear(inputs, layers["fc1"]["units"])
        self.fc2 = nn.Linear(layers["fc1"]["units"], layers["fc2"]["units"])

    def forward(self, x):
        return self.fc2(F.relu(self.fc1(x)))


class Cnn(nn.Module):
    def __init__(self, task):
        super().__init__()
        (channels, rows, columns), layers = task["input"]["shape"], by_name(task)
        c1, c2, c3, c4 = (layers["conv%d" % i]["filters"] for i in (1, 2, 3, 4))
        hidden, classes = layers["fc1"]["units"], layers["fc2"]["units"]
        self.conv1 = nn.Conv2d(channels, c1, 3, padding="same")
        self.conv2 = nn.Conv2d(c1, c2, 3, padding="same")
        self.conv3 = nn.Conv2d(c2, c3, 3, padding="same")
        self.conv4 = nn.Conv2d(c3, c4, 3, padding="same")
        self.fc1 = nn.Linear(c4 * (rows // 4) * (columns // 4), hidden)
        self.fc2 = nn.Linear(hidden, classes)
        self.dropout1 = nn.Dropout(layers["dropout1"]["rate"])
        self.dropout2 = nn.Dropout(layers["dropout2"]["rate"])
        self.dropout3 = nn.Dropout(layers["dropout3"]["rate"])

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = self.dropout1(F.relu(F.max_pool2d(self.conv2(x), 2)))
        x = F.relu(self.conv3(x))
        x = self.dropout2(F.relu(F.max_pool2d(self.conv4(x), 2)))
        x = self.dropout3(F.relu(self.fc1(x.flatten(1))))
        return self.fc2(x)


class Gru(nn.Module):
    def __init__(self, task):
        super().__init__()
        layers = by_name(task)
        vocabulary, dimension = layers["embedding"]["vocabulary"], layers["embedding"]["dimension"]
        self.embedding = nn.Embedding(vocabulary, dimension)
        self.gru = nn.GRU(dimension, layers["gru"]["units"], batch_first=True)
        self.fc = nn.Linear(layers["gru"]["units"], layers["fc"]["units"])

    def forward(self, tokens):
        outputs, _ = self.gru(self.embedding(tokens))
        return self.fc(outputs[:, -1])


class Bottleneck(nn.Module):
    def __init__(self, inputs, layer):
        super().__init__()
        width, stride, outputs = layer["width"], layer["stride"], 4 * layer["width"]
        self.conv1 = nn.Conv2d(inputs, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)  # eps is 1e-5
        self.conv2 = nn.Conv2d(width, width, 3, stride, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, outputs, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(outputs)
        self.downsample = nn.Identity()
        if layer["projection"]:
            shortcut = nn.Conv2d(inputs, outputs, 1, stride, bias=False)
            self.downsample = nn.Sequential(shortcut, nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        y = F.relu(self.bn2(self.conv2(y)))
        return F.relu(self.bn3(self.conv3(y)) + self.downsample(x))


class ResNet50(nn.Module):
    """As in torchvision, under whose names the parameters travel."""

    def __init__(self, task):
        super().__init__()
        layers = by_name(task)
        channels = layers["conv1"]["filters"]
        kernel, stride = layers["conv1"]["kernel"], layers["conv1"]["stride"]
        self.conv1 = nn.Conv2d(
            task["input"]["shape"][0], channels, kernel, stride, kernel // 2, bias=False
        )
        self.bn1 = nn.BatchNorm2d(channels)
        for stage, blocks in (("layer1", 3), ("layer2", 4), ("layer3", 6), ("layer4", 3)):
            made = []
            for block in range(blocks):
                layer = layers["%s.%d" % (stage, block)]
                made.append(Bottleneck(channels, layer))
                channels = 4 * layer["width"]
            self.add_module(stage, nn.Sequential(*made))

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 3, stride=2, padding=1)
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return x.mean((2, 3))


MODULES = {"mlp": Mlp, "cnn": Cnn, "gru": Gru, "resnet50": ResNet50}

# Canonical name -> PyTorch's, where they differ. PyTorch numbers the layers of an nn.GRU.
NAMES = {
    "gru.weight_ih": "gru.weight_ih_l0",
    "gru.weight_hh": "gru.weight_hh_l0",
    "gru.bias_ih": "gru.bias_ih_l0",
    "gru.bias_hh": "gru.bias_hh_l0",
}


class Network:
    def __init__(self, setup, parameters):
        self.device = torch.device(setup.device)
        self.tells_parts = self.device.type == "cpu"  # a GPU has only been given them to do
        self.pixels = setup.task["input"]["kind"] == "pixels"
        self.scale = setup.task["input"].get("scale", 1.0)
        self.names = [parameter["name"] for parameter in setup.task["parameters"]]
        self.module = MODULES[setup.task["name"]](setup.task)
        given = {NAMES.get(name, name): torch.from_numpy(p) for name, p in parameters.items()}
        # Batch norm also counts its batches, which only training needs.
        self.module.load_state_dict({**self.module.state_dict(), **given})
        self.images = torch.contiguous_format
        if chosen["variant"] == "channels_last":
            self.images = torch.channels_last
        self.module.to(self.device, memory_format=self.images)
        if not setup.dropout:
            for layer in self.module.modules():
                if isinstance(layer, nn.Dropout):
                    layer.p = 0.0
        self.trains = "optimiser" in setup.task
        self.module.train(self.trains)
        self.forward = self.module
        if chosen["variant"] == "compile":
            self.forward = torch.compile(self.module)
        if self.trains:
            self.optimiser = make_optimiser(setup.task["optimiser"], self.module)

    def to_device(self, inputs, labels):
        return self.inputs_to_device(inputs), torch.from_numpy(labels).to(self.device, torch.int64)

    def train_step(self, batch):
        inputs, labels = batch
        self.optimiser.zero_grad(set_to_none=True)
        loss = F.cross_entropy(self.forward(inputs), labels)
        self.done("forward")
        loss.backward()
        self.done("backward")
        self.optimiser.step()
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        return loss.item()

    def done(self, part):
        """The runtime puts its clock here."""

    def set_learning_rate(self, rate):
        for group in self.optimiser.param_groups:
            group["lr"] = rate

    def predict(self, inputs):
        self.module.eval()
        with torch.inference_mode():
            logits = self.forward(self.inputs_to_device(inputs))
        self.module.train(self.trains)
        return logits.cpu().numpy()

    def parameters(self):
        state = self.module.state_dict()
        return {n: state[NAMES.get(n, n)].contiguous().cpu().numpy() for n in self.names}

    def inputs_to_device(self, inputs):
        tensor = torch.from_numpy(inputs).to(self.device)
        if not self.pixels:
            return tensor
        floats = tensor
        if tensor.dtype == torch.uint8:  # floats are normalised already, and the message's own
            floats = tensor.to(torch.float32).mul_(self.scale)
        return floats.contiguous(memory_format=self.images) if floats.ndim == 4 else floats


def make_optimiser(described, module):
    """`torch.optim` as the task describes it; its defaults are spelt out where they matter."""
    rate = described["learning_rate"]
    if described["kind"] == "sgd":
        return torch.optim.SGD(
            module.parameters(), rate, momentum=described["momentum"], dampening=0, nesterov=False
        )
    betas = described["beta1"], described["beta2"]
    return torch.optim.Adam(module.parameters(), rate, betas, described["epsilon"])


def by_name(task):
    """The task's layers by their names."""
    return {layer["name"]: layer for layer in task["layers"]}


def _check_device(device):
    """ValueError unless it is "cpu", or a GPU that PyTorch sees: "cuda" (the first), "cuda:1"."""
    if device == "cpu":
        return
    names = ["cuda:%d" % number for number in range(torch.cuda.device_count())]
    name = "cuda:0" if device == "cuda" else device
    if name not in names:
        seen = ", ".join(names) or "no CUDA device"
        reason = "this PyTorch (%s) sees %s" % (torch.__version__, seen)
        raise ValueError("device %r is not available: %s" % (device, reason))


def _check_compiler():
    """TorchInductor writes C++ and has it compiled."""
    compiler = os.environ.get("CXX", "g++")
    if shutil.which(compiler) is None:
        reason = "torch.compile needs a C++ compiler and there is no %r on the PATH" % compiler
        raise ValueError(reason)
