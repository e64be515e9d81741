"""The coordinator's socket, with strangers at the door."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgpack
import pytest
import zmq

from bare_peer import RUN, Peer, pump_until
from rosetta.coordinator import Router, Session, WorkerFailureError


@pytest.fixture(params=["ipc", "tcp"])
def router(request: pytest.FixtureRequest) -> Iterator[Router]:
    made = Router("tcp://127.0.0.1:*" if request.param == "tcp" else None)
    assert made.endpoint.startswith(f"{request.param}://")
    yield made
    made.close()


@pytest.fixture
def session(router: Router) -> Session:
    return Session(router, "bare", RUN)


@pytest.fixture
def peer(router: Router, context: zmq.Context[Any]) -> Callable[[], Peer]:
    return lambda: Peer(context, router.endpoint)


def joins(router: Router, session: Session, peer: Peer, **changes: Any) -> bool:
    """Whether the session's worker is taken."""
    peer.hello(session, **changes)
    return pump_until(router, lambda: session.identity is not None)


def refusal(router: Router, peer: Peer) -> dict[str, Any]:
    """The REFUSE that a peer gets."""
    assert pump_until(router, lambda: bool(peer.socket.poll(0)))
    header, _ = peer.receive()
    assert header["type"] == "REFUSE"
    return header


def nested(levels: int) -> bytes:
    return b"\x91" * levels + b"\x00"


GARBAGE: dict[str, tuple[bytes, ...]] = {
    "nothing": (b"",),
    "no msgpack": (b"\xc1\xff\x00",),
    "half a header": (b"\x85\xa4type",),
    "a list": (msgpack.packb([1, 2]),),
    "no id": (msgpack.packb({"type": "HELLO"}),),
    "no type": (msgpack.packb({"id": 1}),),
    "a HELLO that lacks everything": (msgpack.packb({"type": "HELLO", "id": 1}),),
    "deep nesting": (nested(100_000),),
    "a large header": (b"\xdb\x00\x10\x00\x00" + b"x" * 2**20,),
    "5,000 frames": (b"",) * 5000,
    "a claim of four billion elements": (b"\xdd\xff\xff\xff\xff",),
    "a pickle": (b"cos\nsystem\n(S'true'\ntR.",),
}


@pytest.mark.parametrize("kind", GARBAGE)
def test_garbage_of_a_stranger_is_dropped_and_counted(
    kind: str, router: Router, session: Session, peer: Callable[[], Peer]
) -> None:
    stranger = peer()
    stranger.raw(*GARBAGE[kind])
    assert pump_until(router, lambda: router.strangers == 1)
    stranger.raw(*GARBAGE[kind])
    assert pump_until(router, lambda: router.strangers == 2)
    assert joins(router, session, peer()), "a worker isn't harmed"
    assert not stranger.socket.poll(50), "and not answered"


def test_a_worker_of_an_earlier_run_is_told_to_leave(
    router: Router, peer: Callable[[], Peer]
) -> None:
    """It speaks the protocol, and began without HELLO."""
    late = peer()
    late.send("RESULT", re=0, step=0, loss=1.0, wait_ns=1, copy_ns=1, step_ns=1)
    assert pump_until(router, lambda: router.strangers == 1)
    header, _ = late.receive()
    assert (header["type"], header["code"], header["fatal"]) == ("ERROR", "bad_state", True)


def test_bytes_that_are_no_zeromq_are_no_harm(context: zmq.Context[Any]) -> None:
    router = Router("tcp://127.0.0.1:*")
    try:
        host, port = router.endpoint.removeprefix("tcp://").split(":")
        with socket.create_connection((host, int(port))) as browser:
            browser.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" * 50)
            session = Session(router, "bare", RUN)
            assert joins(router, session, Peer(context, router.endpoint))
    finally:
        router.close()


def test_a_flood_of_a_stranger_does_not_keep_a_worker_out(
    router: Router, session: Session, peer: Callable[[], Peer]
) -> None:
    stranger = peer()
    for _ in range(900):
        stranger.send("BYE")
    assert joins(router, session, peer())
    assert pump_until(router, lambda: router.strangers == 900)
    answers = 0
    while stranger.socket.poll(50):
        stranger.receive()
        answers += 1
    assert answers == 20, "enough to understand, too few to be used against somebody"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"key": "0" * 32}, "the key is not of a worker that is expected"),
        ({"key": ""}, "the key is not"),
        ({"key": "é\ud7ff"}, "the key is not"),
        ({"worker": "somebody"}, "run or worker name differ from the key's"),
        ({"run": "another"}, "run or worker name differ from the key's"),
    ],
    ids=str,
)
def test_whoever_is_not_expected_is_refused(
    changes: dict[str, str],
    reason: str,
    router: Router,
    session: Session,
    peer: Callable[[], Peer],
) -> None:
    impostor = peer()
    number = impostor.hello(session, **changes)
    header = refusal(router, impostor)
    assert (header["code"], header["re"]) == ("bad_key", number)
    assert reason in header["reason"]
    assert joins(router, session, peer()), "the right one may still come"


def test_a_key_opens_the_door_once(
    router: Router, session: Session, peer: Callable[[], Peer]
) -> None:
    assert joins(router, session, peer())
    identity, second = session.identity, peer()
    second.hello(session)
    header = refusal(router, second)
    assert (header["code"], header["reason"]) == ("bad_state", "worker bare has joined already")
    assert session.identity == identity


def test_the_key_of_a_session_that_is_over_opens_nothing(
    router: Router, session: Session, peer: Callable[[], Peer]
) -> None:
    session.close()
    late = peer()
    late.hello(session)
    assert refusal(router, late)["code"] == "bad_key"


def test_another_major_version_is_refused_with_a_reason(
    router: Router, session: Session, peer: Callable[[], Peer]
) -> None:
    modern = peer()
    modern.hello(session, protocol="2.0")
    header = refusal(router, modern)
    assert header["code"] == "bad_version"
    assert "protocol 2.0 is not spoken here: this is 1." in header["reason"]
    with pytest.raises(WorkerFailureError, match=r"protocol 2\.0") as caught:
        session.await_hello(time.monotonic())
    assert caught.value.status == "failed"


def test_another_minor_version_and_unknown_keys_are_welcome(
    router: Router, session: Session, peer: Callable[[], Peer]
) -> None:
    worker = peer()
    number = worker.hello(session, protocol="1.77", colour="red", future={"deep": [1, None]})
    hello = session.await_hello(time.monotonic())
    assert (hello.protocol, hello.framework) == ("1.77", "bare")
    header, _ = worker.receive()
    assert (header["type"], header["re"], header["credit"]) == ("WELCOME", number, 2)


def test_a_message_of_an_unknown_type_is_ignored(
    router: Router, session: Session, peer: Callable[[], Peer]
) -> None:
    """It is no answer, and no mistake either: the answer after it is what counts."""
    worker = peer()
    assert joins(router, session, worker)
    worker.send("TELEMETRY", b"frame", heat=40)
    worker.send("TELEMETRY", heat=41)
    pump_until(router, lambda: False, 0.1)
    ending = threading.Thread(target=lambda: worker.send("ENDED", re=worker.receive()[0]["id"]))
    ending.start()
    session.end()
    ending.join()
    assert router.strangers == 0


@pytest.mark.parametrize("frames", [(b"\xc1",), GARBAGE["no id"], (b"",) * 5000], ids=len)
def test_a_worker_that_breaks_the_protocol_is_told_and_fails(
    frames: tuple[bytes, ...], router: Router, session: Session, peer: Callable[[], Peer]
) -> None:
    worker = peer()
    assert joins(router, session, worker)
    worker.raw(*frames)
    assert pump_until(router, lambda: bool(worker.socket.poll(0)))
    header, _ = worker.receive()
    assert (header["type"], header["fatal"]) == ("ERROR", True)
    assert header["code"] in ("bad_header", "bad_frames")
    with pytest.raises(WorkerFailureError, match="broke the protocol: ") as caught:
        session.end()
    assert caught.value.status == "failed"
    assert router.strangers == 0


def test_a_peer_that_vanishes_has_crashed(
    router: Router, session: Session, peer: Callable[[], Peer]
) -> None:
    worker = peer()
    assert joins(router, session, worker)
    worker.close()
    pump_until(router, lambda: False, 0.3)
    with pytest.raises(WorkerFailureError, match="closed its connection") as caught:
        session.end()
    assert caught.value.status == "crashed"


def test_a_signal_interrupts_the_next_pump_exactly_once(router: Router) -> None:
    router.pump(0)
    router.interrupt()
    with pytest.raises(KeyboardInterrupt):
        router.pump(0)
    router.pump(0)
    router.interrupt()
    router.pump(0)


def test_two_signals_before_the_next_pump_are_not_lost(router: Router) -> None:
    """Ctrl-C pressed twice must not be taken for never."""
    router.interrupt()
    router.interrupt()
    with pytest.raises(KeyboardInterrupt):
        router.pump(0)
    router.pump(0)


def test_a_signal_reaches_a_router_that_waits(router: Router, session: Session) -> None:
    threading.Timer(0.1, router.interrupt).start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        session.await_hello(began)
    assert time.monotonic() - began < 2


def test_ids_are_unique_over_all_sessions(router: Router) -> None:
    assert len({router.next_id() for _ in range(100)}) == 100
    keys = {Session(router, str(n), RUN).key for n in range(20)}
    assert len(keys) == 20
    assert {len(key) for key in keys} == {32}


def test_its_files_go_when_it_is_closed() -> None:
    router = Router()
    path = Path(router.endpoint.removeprefix("ipc://"))
    assert path.is_socket()
    assert path.parent.stat().st_mode & 0o077 == 0, "nobody else may even look"
    router.close()
    assert not path.parent.exists()
