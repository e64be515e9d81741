"""A backend that is wrong in the one way that the variable ROSETTA_WRONG names; `none`: right.

It is the reference in float32 with one thing changed, as an implementer might have got it.
"""

import os
import threading
import time
from copy import deepcopy

import numpy as np

import rosetta_reference
from rosetta_reference import optimisers

WRONG = os.environ.get("ROSETTA_WRONG", "none")
SAMPLE_S = 0.0004
"""What a sample's work takes in the variants about clocks: sleeping, which nothing disturbs."""

FORMS = {
    "another Adam, declared": {"adam": "hat"},
    "another GRU, declared": {"gru": "classic"},
    "another momentum, declared": {"momentum": "inside"},
    "a form that nobody knows": {"gru": "minimal"},
}


def start(device, threads):
    return {
        "framework": {"name": "wrong", "version": WRONG},
        "tasks": ["mlp", "cnn", "gru"],
        "forms": FORMS.get(WRONG, {}),
    }


def build(setup, parameters):
    return Network(setup, parameters)


class Network:
    def __init__(self, setup, parameters):
        self.initial = {name: values.copy() for name, values in parameters.items()}
        self.classes = setup.task["classes"]
        self.rate = setup.task["optimiser"]["learning_rate"]
        self.losses = {}
        self.background = None
        task, more = deepcopy(setup.task), {}
        if WRONG in ("learning rate folded in", "another momentum, declared"):
            more["momentum_form"] = "inside"
        if WRONG == "another Adam, declared":
            more["adam_form"] = "hat"
        for layer in task["layers"]:
            if layer["kind"] == "dropout" and WRONG == "keep rate as drop rate":
                layer["rate"] = 1 - layer["rate"]
        if WRONG == "pixels not scaled":
            task["input"]["scale"] = 1.0
        if WRONG == "Adam's epsilon 1e-7":
            task["optimiser"]["epsilon"] = 1e-7
        if WRONG == "classic GRU as cudnn":
            gru = next(layer for layer in task["layers"] if layer["kind"] == "gru")
            gru["form"] = "classic"
            names = [p["name"] for p in task["parameters"]]
            task["parameters"][names.index("gru.bias_ih")]["name"] = "gru.bias"
            del task["parameters"][names.index("gru.bias_hh")]
        self.network = rosetta_reference.Network(
            task,
            self.loaded(parameters),
            dtype=np.float32,
            dropout=setup.dropout and WRONG != "no dropout",
            seed=setup.seed,
            trusting=True,
            **more,
        )
        self.change(self.network)

    # --- weights, in and out ----------------------------------------------------------------------

    def loaded(self, parameters):
        values = {name: v.copy() for name, v in parameters.items()}
        if WRONG == "own initialisation":
            rng = np.random.default_rng(0)
            values = {n: (v + rng.normal(0, 0.01, v.shape)).astype("f4") for n, v in values.items()}
        if WRONG == "kernels flipped":
            for name in ("conv1.weight", "conv2.weight", "conv3.weight", "conv4.weight"):
                values[name] = values[name][:, :, ::-1, ::-1].copy()
        if WRONG == "update gate swapped":
            self.negate_update_gate(values)
        if WRONG == "a bias missing":
            values[self.missing()] = np.zeros_like(values[self.missing()])
        if WRONG == "classic GRU as cudnn":
            values["gru.bias"] = values["gru.bias_ih"] + values.pop("gru.bias_hh")
            del values["gru.bias_ih"]
        return values

    def parameters(self):
        self.join()
        values = self.network.parameters()
        if WRONG == "kernels flipped":
            for name in ("conv1.weight", "conv2.weight", "conv3.weight", "conv4.weight"):
                values[name] = values[name][:, :, ::-1, ::-1].copy()
        if WRONG == "update gate swapped":
            self.negate_update_gate(values)
        if WRONG == "a bias missing":
            values[self.missing()] = self.initial[self.missing()]
        if WRONG == "classic GRU as cudnn":
            start = self.initial["gru.bias_ih"] + self.initial["gru.bias_hh"]
            change = values.pop("gru.bias") - start
            values["gru.bias_ih"] = self.initial["gru.bias_ih"] + change
            values["gru.bias_hh"] = self.initial["gru.bias_hh"]
        return {name: values[name] for name in self.initial}

    def missing(self):
        return next(name for name in self.initial if name.endswith(("1.bias", "fc.bias")))

    @staticmethod
    def negate_update_gate(values):
        for name in ("gru.weight_ih", "gru.weight_hh", "gru.bias_ih", "gru.bias_hh"):
            third = len(values[name]) // 3
            values[name] = values[name].copy()
            values[name][third : 2 * third] *= -1

    # --- what it computes -------------------------------------------------------------------------

    def change(self, network):
        """Changes of the optimiser and the layers, in place."""
        if WRONG in UPDATES:
            network._optimiser.__class__ = UPDATES[WRONG]
        if WRONG == "max-pool padded":
            for layer in network._layers:
                if type(layer).__name__ == "MaxPool":
                    forward, backward = layer.forward, layer.backward
                    layer.forward = lambda x, t, f=forward: f(np.roll(x, (1, 1), (2, 3)), t)
                    layer.backward = lambda g, b=backward: np.roll(b(g), (-1, -1), (2, 3))

    def seen(self, inputs):
        if WRONG == "rows and columns swapped":
            return np.ascontiguousarray(inputs.swapaxes(2, 3))
        if WRONG == "padding behind":
            return np.stack([np.roll(row, -int((row == 0).sum())) for row in inputs])
        return inputs

    def set_learning_rate(self, rate):
        self.rate = rate
        self.network.set_learning_rate(rate)

    def to_device(self, inputs, labels):
        self.join()
        if WRONG == "labels off by one":
            labels = (labels + 1) % self.classes
        return self.seen(inputs), labels

    def train_step(self, batch):
        inputs, labels = batch
        if WRONG == "losses from memory":
            key = inputs.tobytes()
            if key in self.losses:
                return self.losses[key]
        if WRONG == "loss summed":
            network = self.network
            loss = network._differentiate(inputs, labels)
            scaled = {name: g * len(labels) for name, g in network._gradients().items()}
            network._optimiser.update(scaled)
            return loss * len(labels)
        loss = self.network.train_step(inputs, labels)
        if WRONG == "losses from memory":
            self.losses[key] = loss
        if WRONG == "a bias missing":
            self.network._parameters[self.missing()][...] = 0
        self.take_time(len(inputs))
        return loss

    def predict(self, inputs):
        self.join()
        inputs = self.seen(inputs)
        if WRONG == "dropout at prediction":
            return self.network._forward(inputs, training=True)
        return self.network.predict(inputs)

    # --- clocks -----------------------------------------------------------------------------------

    def take_time(self, samples):
        if WRONG == "right, with some work":
            time.sleep(samples * SAMPLE_S)
        if WRONG == "clock stopped early":
            time.sleep(samples * SAMPLE_S * 0.2)
            self.background = threading.Thread(target=time.sleep, args=(samples * SAMPLE_S * 0.8,))
            self.background.start()
        if WRONG == "time without work":
            time.sleep(0.15)

    def join(self):
        """Wait for the work that was left: where the next step begins, as a device's queue does."""
        if self.background:
            self.background.join()
            self.background = None


class Nesterov(optimisers.Sgd):
    def update(self, gradients):
        for name, w in self._parameters.items():
            v = self._velocity[name]
            v *= self._momentum
            v += gradients[name]
            w -= self.learning_rate * (gradients[name] + self._momentum * v)


class Dampened(optimisers.Sgd):
    def update(self, gradients):
        first = not hasattr(self, "begun")
        self.begun = True
        super().update({n: g if first else 0.9 * g for n, g in gradients.items()})


class WeightDecay(optimisers.Sgd):
    def update(self, gradients):
        super().update({n: g + 1e-4 * self._parameters[n] for n, g in gradients.items()})


class EpsilonInside(optimisers.Adam):
    def _update_piece(self, w, g, m, v, rate, divisor, scratch):
        m *= self._beta1
        m += (1 - self._beta1) * g
        v *= self._beta2
        v += (1 - self._beta2) * g * g
        w -= rate * m / np.sqrt(v / divisor**2 + self._epsilon)


class Uncorrected(optimisers.Adam):
    def _update_piece(self, w, g, m, v, rate, divisor, scratch):
        m *= self._beta1
        m += (1 - self._beta1) * g
        v *= self._beta2
        v += (1 - self._beta2) * g * g
        w -= self.learning_rate * m / (np.sqrt(v) + self._epsilon)


class Lazy(optimisers.Adam):
    """Rows that the batch doesn't touch keep their values, as sparse optimisers do."""

    def _update_piece(self, w, g, m, v, rate, divisor, scratch):
        touched = g != 0
        before = w.copy()
        super()._update_piece(w, g, m, v, rate, divisor, scratch)
        w[~touched] = before[~touched]


UPDATES = {
    "Nesterov momentum": Nesterov,
    "dampening": Dampened,
    "weight decay": WeightDecay,
    "Adam's epsilon inside the root": EpsilonInside,
    "Adam without bias correction": Uncorrected,
    "lazy Adam": Lazy,
}
