"""A right worker, and what makes one wrong."""

import os

import numpy as np

from rosetta_worker import inbox, wire
from rosetta_worker.outbox import Outbox
from rosetta_worker.session import Session

WRONG = {}
"""Behaviours by name: each a function that changes the runtime or the backend."""


def wrong(change):
    """Keeps a behaviour under the function's name with blanks."""
    WRONG[change.__name__.replace("_", " ")] = change
    return change


class Backend:
    """Loss and values after n steps follow from n alone."""

    tasks = ("mlp", "gru")

    def start(self, device, threads):
        if device != "cpu":
            raise ValueError(f"no device {device}")
        return {"framework": {"name": "wrong", "version": "1"}, "tasks": list(self.tasks)}

    def build(self, setup, parameters):
        return Network(setup.task["classes"], parameters)


class Network:
    def __init__(self, classes, parameters):
        self.classes, self.values, self.steps, self.rate = classes, parameters, 0, 1

    def to_device(self, inputs, labels):
        return inputs

    def train_step(self, batch):
        if self.rate:
            self.steps += 1
            for values in self.values.values():
                values += 1
        return float(self.steps)

    def set_learning_rate(self, rate):
        self.rate = rate

    def predict(self, inputs):
        return inputs.reshape(len(inputs), -1)[:, : self.classes].astype(np.float32)

    def parameters(self):
        return self.values


def sending(change):
    """What `change(send, self, kind, arrays, fields)` does, whenever something is sent."""
    send = Outbox._send

    def changed(self, kind, arrays, **fields):
        change(lambda *a, **f: send(self, *a, **f), self, kind, arrays, fields)

    Outbox._send = changed


def with_field(kind, **changes):
    """Messages of that kind have other fields; a function gets the right value."""

    def change(send, self, said, arrays, fields):
        if said == kind:
            for name, value in changes.items():
                fields[name] = value(fields.get(name)) if callable(value) else value
        send(said, arrays, **fields)

    sending(change)


def on(kind, act):
    """What `act(session, handler, header, arrays)` does with a message of that kind."""
    take = Session._take

    def changed(self, message):
        handler = self._handlers[kind]
        self._handlers[kind] = lambda header, arrays: act(self, handler, header, arrays)
        try:
            take(self, message)
        finally:
            self._handlers[kind] = handler

    Session._take = changed


def dies_of(condition):
    """Exits when a message comes of which `condition(header)` holds."""
    decode = wire.decode

    def changed(frames, *more):
        header, arrays = decode(frames, *more)
        if condition(header):
            os._exit(7)
        return header, arrays

    inbox.decode = changed
