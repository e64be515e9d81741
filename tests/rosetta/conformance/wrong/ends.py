"""Shared memory, times, and how a worker ends."""

import os
import signal
import socket
import subprocess
import time
from pathlib import Path

import numpy as np
from base import Network, on, with_field, wrong

from rosetta_worker import __main__ as program
from rosetta_worker import connection, inbox, shared_memory, wire
from rosetta_worker.outbox import Outbox


@wrong
def takes_small_frames_only():
    wire.MAX_FRAME_BYTES = 2**20


@wrong
def reads_the_next_place():
    array = wire._array

    def changed(description, frame, shared, re):
        if frame is None:
            description = {**description, "offset_bytes": description["offset_bytes"] + 64}
        return array(description, frame, shared, re)

    wire._array = changed


@wrong
def keeps_what_was_shared():
    kept, array = {}, wire._array

    def changed(description, frame, shared, re):
        name, found = array(description, frame, shared, re)
        if frame is None:
            place = description["offset_bytes"], found.dtype.str, found.shape
            found = kept.setdefault(place, found.copy())
        return name, found

    wire._array = changed


@wrong
def keeps_the_parameters_where_they_were():
    decode = inbox.decode

    class Kept(np.ndarray):
        def copy(self):
            return self

    def changed(*arguments):
        header, arrays = decode(*arguments)
        if header["type"] == "SETUP":
            arrays = {name: array.view(Kept) for name, array in arrays.items()}
        return header, arrays

    inbox.decode = changed


@wrong
def takes_any_shared_memory():
    shared_memory.attach = lambda described, re: bytes(100)


@wrong
def times_too_much():
    with_field("RESULT", step_ns=lambda ns: ns + 10**10)


@wrong
def does_not_time_the_wait():
    with_field("RESULT", wait_ns=0)


@wrong
def writes_long_waits_as_floats():
    with_field("RESULT", wait_ns=lambda ns: ns if ns < 2**32 else float(ns))


@wrong
def counts_in_32_bits():
    with_field("RESULT", wait_ns=lambda ns: ns % 2**32)


@wrong
def has_parts_that_are_longer():
    with_field("RESULT", forward_ns=lambda _: 10**9)


@wrong
def does_not_answer_BYE():  # noqa: N802
    on("BYE", lambda self, *_: setattr(self, "_over", True))


@wrong
def stays_after_BYE():  # noqa: N802
    on("BYE", lambda self, handle, header, arrays: self._answer("BYE", header["id"]))


@wrong
def leaves_with_status_5():
    program.main = lambda arguments, main=program.main: main(arguments) or 5


@wrong
def leaves_a_child():
    subprocess.Popen(["sleep", "60"])


@wrong
def leaves_a_daemon():
    subprocess.Popen(["sleep", "60"], start_new_session=True)


@wrong
def leaves_a_file():
    Path("core").touch()


@wrong
def leaves_a_socket():
    with socket.socket(socket.AF_UNIX) as made:
        made.bind("here")


@wrong
def leaves_shared_memory():
    Path("/dev/shm", f"rosetta-test-{os.getppid()}").write_bytes(b"left")


@wrong
def heeds_no_fatal_ERROR():  # noqa: N802
    on("ERROR", lambda *_: None)


@wrong
def heeds_no_SIGTERM():  # noqa: N802
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


@wrong
def leaves_when_its_connection_breaks():
    def welcomed(self, handle, header, arrays):
        handle(header, arrays)
        self._channel.reconnect_ns = 0

    on("WELCOME", welcomed)


@wrong
def greets_anew():
    observe, greeted = connection.Connection._observe, []

    def changed(self):
        observe(self)
        if self._absent_since is None:
            greeted.append(True)
            if len(greeted) > 1:
                self._socket.send_multipart(wire.encode({"type": "HELLO", "id": 99}, {}))

    connection.Connection._observe = changed


@wrong
def outlives_its_coordinator():
    connection.Connection._patience_ms = lambda self: -1


@wrong
def hangs_in_a_step():
    Network.train_step = lambda *_: time.sleep(600)


@wrong
def numbers_nothing():
    Outbox._next_id = property(lambda self: 0, lambda self, value: None)


@wrong
def watches_its_parent_only():  # which isn't wrong
    parent = os.getppid()

    def patience_ms(self):
        if os.getppid() != parent:
            raise connection.CoordinatorError("nobody is there any more")
        return 200

    connection.Connection._patience_ms = patience_ms
