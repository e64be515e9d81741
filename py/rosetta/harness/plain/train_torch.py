"""Trains a network in plain PyTorch on batches from a file, and times the training loop.

    python train_torch.py TRAINING.npz NETWORK THREADS SEED

TRAINING.npz holds `inputs` and `labels`, one batch a row, and the initial weights under the names
`weights.NAME`. For each line "START STOP" on standard input the steps START to STOP - 1 are done,
and a line says how many nanoseconds they took, all together, and what the losses were.
"""

import json
import sys
import time

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(784, 128)
        self.fc2 = nn.Linear(128, 10)

    def forward(self, x):
        return self.fc2(F.relu(self.fc1(x)))


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 50, 3, padding="same")
        self.conv2 = nn.Conv2d(50, 50, 3, padding="same")
        self.conv3 = nn.Conv2d(50, 100, 3, padding="same")
        self.conv4 = nn.Conv2d(100, 100, 3, padding="same")
        self.fc1 = nn.Linear(6400, 512)
        self.fc2 = nn.Linear(512, 10)
        self.dropout1 = nn.Dropout(0.25)
        self.dropout2 = nn.Dropout(0.25)
        self.dropout3 = nn.Dropout(0.5)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = self.dropout1(F.relu(F.max_pool2d(self.conv2(x), 2)))
        x = F.relu(self.conv3(x))
        x = self.dropout2(F.relu(F.max_pool2d(self.conv4(x), 2)))
        x = self.dropout3(F.relu(self.fc1(x.flatten(1))))
        return self.fc2(x)


class Gru(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(30000, 125)
        self.gru = nn.GRU(125, 100, batch_first=True)
        self.fc = nn.Linear(100, 2)

    def forward(self, tokens):
        outputs, _ = self.gru(self.embedding(tokens))
        return self.fc(outputs[:, -1])


def make(name, training):
    """The network and its optimiser."""
    network = {"mlp": Mlp, "cnn": Cnn, "gru": Gru}[name]()
    with torch.no_grad():
        for parameter_name, parameter in network.named_parameters():
            weights = training["weights." + parameter_name.replace("_l0", "")]
            parameter.copy_(torch.from_numpy(weights))
    if name == "cnn":
        return network, torch.optim.SGD(network.parameters(), lr=0.01, momentum=0.9)
    return network, torch.optim.Adam(network.parameters(), lr=1e-3)


def tensors(inputs, labels):
    """A batch as the network takes it; bytes are pixels."""
    x = torch.from_numpy(inputs)
    if x.dtype == torch.uint8:
        x = x.float() / 255
    return x, torch.from_numpy(labels).long()


def main():
    file, name, threads, seed = sys.argv[1:]
    torch.set_num_threads(int(threads))
    torch.manual_seed(int(seed))
    training = np.load(file)
    inputs, labels = training["inputs"], training["labels"]
    network, optimiser = make(name, training)
    network.train()
    print(json.dumps({"torch": torch.__version__}), flush=True)
    for line in sys.stdin:
        first, last = map(int, line.split())
        losses = []
        started = time.perf_counter_ns()
        for step in range(first, last):
            x, y = tensors(inputs[step], labels[step])
            optimiser.zero_grad()
            loss = F.cross_entropy(network(x), y)
            loss.backward()
            optimiser.step()
            losses.append(loss.item())
        took_ns = time.perf_counter_ns() - started
        print(json.dumps({"ns": took_ns, "losses": losses}), flush=True)


main()
