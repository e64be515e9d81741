"""What a worker answers when it trains."""

import random

import numpy as np
from base import Backend, Network, on, sending, with_field, wrong


@wrong
def counts_wrongly():
    with_field("READY", parameter_count=lambda count: count + 1)


@wrong
def forgets_a_parameter():
    with_field("READY", parameters=lambda built: built[:-1])


@wrong
def claims_other_threads_when_ready():
    with_field("READY", threads=7)


@wrong
def rounds_its_values():
    Network.parameters = lambda self: {n: np.round(v, 3) for n, v in self.values.items()}


@wrong
def predicts_in_float64():
    def change(send, self, kind, arrays, fields):
        arrays = {n: a.astype("f8") for n, a in arrays.items()} if kind == "PREDICTIONS" else arrays
        send(kind, arrays, **fields)

    sending(change)


@wrong
def predicts_with_dropout():
    Network.predict = lambda self, inputs: np.float32(np.random.rand(len(inputs), self.classes))


@wrong
def predictions_train():
    def predict(self, inputs):
        self.train_step(inputs)
        return np.zeros((len(inputs), self.classes), np.float32)

    Network.predict = predict


@wrong
def loses_the_loss():
    with_field("RESULT", loss=float("nan"))


@wrong
def counts_the_steps_itself():
    counter = iter(range(10**6))
    with_field("RESULT", step=lambda step: next(counter))


@wrong
def ignores_END():  # noqa: N802
    on("END", lambda self, handle, header, arrays: self._answer("ENDED", header["id"]))


@wrong
def never_answers_END():  # noqa: N802
    on("END", lambda *_: None)


@wrong
def goes_on_with_its_steps():
    Network.steps = property(
        lambda self: Network.count,
        lambda self, n: setattr(Network, "count", Network.count + (n > 0)),
    )
    Network.count = 0


@wrong
def remembers_its_values():
    kept = {}

    def build(self, setup, parameters):
        return Network(setup.task["classes"], kept.setdefault(setup.task["name"], parameters))

    Backend.build = build


@wrong
def has_no_seed():
    Backend.tasks = ("mlp", "cnn")
    Network.train_step = lambda self, batch: random.random()


@wrong
def keeps_its_learning_rate():
    Network.set_learning_rate = lambda self, rate: None
