"""How a worker begins and is turned away."""

import os
import sys

import zmq
from base import Backend, on, sending, with_field, wrong

from rosetta_worker import connection
from rosetta_worker.session import Session


@wrong
def has_another_key():
    with_field("HELLO", key="0" * 32)


@wrong
def speaks_protocol_2():
    with_field("HELLO", protocol="2.0")


@wrong
def says_something_before_HELLO():  # noqa: N802
    def change(send, self, kind, arrays, fields):
        if kind == "HELLO":
            send("ENDED", {}, re=0)
        send(kind, arrays, **fields)

    sending(change)


@wrong
def computes_with_other_threads():
    with_field("HELLO", threads=7)


@wrong
def has_one_thread_only():  # which isn't wrong
    start = Backend.start

    def changed(self, device, threads):
        if threads > 1:
            raise ValueError(f"this worker computes with one thread, not with {threads}")
        return start(self, device, threads)

    Backend.start = changed


@wrong
def leaves_with_status_3_without_a_word():
    Backend.start = lambda *_: os._exit(3)


@wrong
def has_not_inline():
    with_field("HELLO", planes=["shm"])


@wrong
def has_float16():
    with_field("HELLO", dtypes=["float16", "float32", "int32", "uint8"])


@wrong
def has_a_short_routing_id():
    connection.os = type("OS", (), {"urandom": lambda count: b"1"})


@wrong
def has_no_routing_id():
    right = zmq.Socket.setsockopt

    def changed(self, option, value):
        if option != zmq.IDENTITY:
            right(self, option, value)

    zmq.Socket.setsockopt = changed


@wrong
def has_only_inline():
    with_field("HELLO", planes=["inline"])


@wrong
def has_another_task_only():
    Backend.tasks = ("words",)


@wrong
def needs_no_WELCOME():  # noqa: N802
    run = Session.run

    def changed(self, hello):
        self._welcomed = True
        return run(self, hello)

    Session.run = changed


@wrong
def answers_WELCOME():  # noqa: N802
    on("WELCOME", lambda self, handle, header, arrays: self._answer("ENDED", header["id"]))


@wrong
def stays_after_REFUSE():  # noqa: N802
    on("REFUSE", lambda *_: None)


@wrong
def leaves_with_status_0():
    Session.status = property(lambda self: 0, lambda self, value: None)


@wrong
def leaves_without_a_word():
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


@wrong
def takes_any_connection_file():
    read = connection.json.load
    connection._TEXTS = ()

    def load(file):
        return {"key": "", **read(file), "protocol": "1.0"}

    connection.json = type("JSON", (), {"load": load})


@wrong
def has_every_device():
    Backend.start = lambda *_: {"framework": {"name": "w", "version": "1"}, "tasks": ["mlp"]}


@wrong
def leaves_for_keys():
    def init(self, endpoint, curve=None):
        if curve:
            sys.exit(0)
        right(self, endpoint, curve)

    right, connection.Connection.__init__ = connection.Connection.__init__, init
