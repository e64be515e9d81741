"""What a worker makes of messages that are unknown, wrong, or several."""

import os

from base import dies_of, on, sending, with_field, wrong

from rosetta_worker import backends, inbox, wire
from rosetta_worker.inbox import Inbox
from rosetta_worker.session import Session
from rosetta_worker.wire import WireError


@wrong
def dies_of_unknown_keys():
    dies_of(lambda header: "x_binary" in header and header["type"] != "WELCOME")


@wrong
def dies_of_a_strange_WELCOME():  # noqa: N802
    dies_of(lambda header: "x_binary" in header and header["type"] == "WELCOME")


@wrong
def answers_unknown_types():
    decode = wire.decode

    def changed(frames, known, shared):
        header, arrays = decode(frames, known, shared)
        if header["type"] not in known:
            raise WireError("unknown_type", "what?", header["id"])
        return header, arrays

    inbox.decode = changed


@wrong
def dies_of_unknown_types():
    dies_of(lambda header: header["type"] == "PAUSE")


@wrong
def knows_short_forms_only():
    decode = wire.decode

    def changed(frames, *more):
        if bytes(frames[0][:1]) == b"\xdf":
            raise WireError("bad_header", "too wide")
        return decode(frames, *more)

    inbox.decode = changed


@wrong
def has_lower_bounds():
    wire.MAX_HEADER_BYTES, wire.MAX_FRAMES = 2**17, 100


@wrong
def has_higher_bounds():
    wire.MAX_HEADER_BYTES, wire.MAX_FRAMES, wire.MAX_HEADER_DEPTH = 2**30, 10**6, 10**6


@wrong
def dies_of_what_is_wrong():
    Session._refuse = lambda *_: os._exit(7)


@wrong
def has_other_codes():
    with_field("ERROR", code="oops")


@wrong
def has_fatal_errors():
    with_field("ERROR", fatal=True)


@wrong
def does_not_say_what_was_wrong():
    with_field("ERROR", re=None)


@wrong
def trains_on_what_it_refuses():
    refuse = Session._refuse

    def changed(self, code, sentence, re):
        self._network.train_step(None)
        refuse(self, code, sentence, re)

    Session._refuse = changed


@wrong
def checks_nothing():
    backends.check_labels = lambda task, arrays, re: arrays.get("labels")
    backends.check_inputs = lambda task, arrays, re: arrays["inputs"]


@wrong
def loses_its_network_when_something_is_wrong():
    refuse = Session._refuse

    def changed(self, *what):
        self._forget()
        refuse(self, *what)

    Session._refuse = changed


@wrong
def answers_ERROR():  # noqa: N802
    on("ERROR", lambda self, handle, header, arrays: self._answer("ENDED", header["id"]))


@wrong
def answers_twice():
    def change(send, self, kind, arrays, fields):
        send(kind, arrays, **fields)
        if kind == "RESULT":
            send(kind, arrays, **fields)

    sending(change)


@wrong
def sends_values_of_later():
    """As who sends without a copy what the next step changes."""

    def change(send, self, kind, arrays, fields):
        if kind == "VALUES" and self._channel._socket.poll(300):
            arrays = {name: values + 1 for name, values in arrays.items()}
        send(kind, arrays, **fields)

    sending(change)


@wrong
def keeps_the_last_answers_back():
    take = Inbox.next
    Inbox.next = lambda self, before_waiting: take(self, lambda: None)


@wrong
def answers_out_of_order():
    inbox._AT_ONCE = 1  # so that the next one can be seen on the socket
    held = []

    def change(send, self, kind, arrays, fields):
        if kind == "RESULT" and not held and self._channel._socket.poll(300):
            held.append((kind, arrays, fields))
            return
        send(kind, arrays, **fields)
        while held:
            kind, arrays, fields = held.pop()
            send(kind, arrays, **fields)

    sending(change)
