"""The socket of a worker: a DEALER that connects to where the connection file says."""

import json
import os
from typing import Any, Dict, List, Optional

import zmq
from zmq.utils import z85
from zmq.utils.monitor import recv_monitor_message

from rosetta_worker import wire
from rosetta_worker.clock import now_ns

FIRST_CONTACT_NS = 30 * 10**9
"""How long to wait for a coordinator that isn't there yet."""

_TEXTS = ("protocol", "endpoint", "run", "key", "worker")
_CURVE = ("server_key", "public_key", "secret_key")
_GREETED = zmq.EVENT_HANDSHAKE_SUCCEEDED
_TURNED_AWAY = zmq.EVENT_HANDSHAKE_FAILED_AUTH
_READABLE = int(zmq.POLLIN)
_EVENTS = _GREETED | _TURNED_AWAY | zmq.EVENT_DISCONNECTED


class CoordinatorError(Exception):
    """The connection file can't be used, or the coordinator is gone; one sentence."""


def read(path: str) -> Dict[str, Any]:
    """Content of a connection file (SPEC section 2). Raises `CoordinatorError`."""
    try:
        with open(path, encoding="utf-8") as file:
            content: Dict[str, Any] = json.load(file)
    except (OSError, ValueError, RecursionError) as error:
        raise CoordinatorError("connection file %s: %s" % (path, error))
    if not isinstance(content, dict):
        raise CoordinatorError("connection file %s: not a JSON object" % path)
    missing = [k for k in _TEXTS if not isinstance(content.get(k), str)]
    if missing:
        raise CoordinatorError("connection file %s lacks %s" % (path, ", ".join(missing)))
    if content["protocol"].split(".")[0] != "1":
        raise CoordinatorError(
            "connection file %s is for protocol %s; this worker speaks 1.0"
            % (path, content["protocol"])
        )
    curve = content.get("curve")
    if curve is not None and not (isinstance(curve, dict) and all(map(_is_z85, _keys(curve)))):
        raise CoordinatorError(
            "connection file %s: `curve` lacks one of %s, or it is no Z85 text of 40 characters"
            % (path, ", ".join(_CURVE))
        )
    threads, device = content.get("threads"), content.get("device")
    if threads is not None and (type(threads) is not int or not 1 <= threads <= 65536):
        raise CoordinatorError("connection file %s: `threads` is not 1 to 65536" % path)
    if device is not None and not isinstance(device, str):
        raise CoordinatorError("connection file %s: `device` is not a text" % path)
    return content


def _keys(curve: Dict[str, Any]) -> List[Any]:
    return [curve.get(name) for name in _CURVE]


def _is_z85(value: Any) -> bool:
    try:
        return isinstance(value, str) and len(value) == 40 and len(z85.decode(value)) == 32
    except (KeyError, ValueError):
        return False


class Connection:
    """Sends and receives messages; notices a coordinator that went away."""

    live = True

    def __init__(self, endpoint: str, curve: Optional[Dict[str, str]] = None) -> None:
        """Connect; `curve` holds the keys of a connection file that asks for encryption."""
        self.endpoint = endpoint
        self.reconnect_ns = FIRST_CONTACT_NS
        self._context = zmq.Context()
        self._socket = self._context.socket(zmq.DEALER)
        self._socket.linger = 2000
        # Kept over a reconnection, so that the coordinator knows us again.
        self._socket.setsockopt(zmq.IDENTITY, b"W" + os.urandom(16))
        self._socket.setsockopt(zmq.MAXMSGSIZE, wire.MAX_FRAME_BYTES)
        if endpoint.startswith("tcp:"):
            # ZMTP's own heartbeat, answered by libzmq's thread even while a step computes: finds a
            # peer whose machine vanished without closing the connection.
            self._socket.setsockopt(zmq.HEARTBEAT_IVL, 5000)
            self._socket.setsockopt(zmq.HEARTBEAT_TIMEOUT, 20000)
        if curve and not zmq.has("curve"):
            self._socket.close()
            raise CoordinatorError(
                "this pyzmq was built without CURVE, which the coordinator asks for"
            )
        if curve:
            self._socket.curve_serverkey = curve["server_key"].encode()
            self._socket.curve_publickey = curve["public_key"].encode()
            self._socket.curve_secretkey = curve["secret_key"].encode()
        self._monitor = self._socket.get_monitor_socket(_EVENTS)
        self._pollers: Dict[int, Any] = {}
        for readiness in (zmq.POLLIN, zmq.POLLOUT):
            poller = self._pollers[readiness] = zmq.Poller()
            poller.register(self._socket, readiness)
            poller.register(self._monitor, zmq.POLLIN)
        self._absent_since: Optional[int] = now_ns()
        try:
            self._socket.connect(endpoint)
        except zmq.ZMQError as error:
            self.close()
            raise CoordinatorError("endpoint %r: %s" % (endpoint, error))

    def send(self, header: wire.Header, arrays: wire.Arrays) -> None:
        """Send one message. Large arrays aren't copied; they must not be changed afterwards.

        Raises `CoordinatorError` when the coordinator is gone.
        """
        self._notice_absence()
        frames = wire.encode(header, arrays)
        try:
            if len(frames) == 1:
                self._socket.send(frames[0], zmq.NOBLOCK)
            else:
                self._socket.send_multipart(frames, zmq.NOBLOCK, copy=False)
        except zmq.Again:  # without a connection libzmq would wait for one, for ever
            self._await(zmq.POLLOUT)
            self._socket.send_multipart(frames, copy=False)

    def receive(self) -> List[Any]:
        """Frames of the next message. Raises `CoordinatorError` when the coordinator is gone."""
        frames = self.receive_at_once()
        while frames is None:
            self._await(zmq.POLLIN)
            frames = self.receive_at_once()
        return frames

    def receive_at_once(self) -> Optional[List[Any]]:
        """Frames of the next message if it is there, else None."""
        try:  # polling is dearer, and the next batch is there when a step ends
            frame = self._socket.recv(zmq.NOBLOCK, copy=False)
        except zmq.Again:
            return None
        frames = [frame.buffer]
        while frame.more:
            frame = self._socket.recv(copy=False)
            frames.append(frame.buffer)
        return frames

    def close(self) -> None:
        """Send what is still queued (for at most two seconds) and close."""
        self._socket.disable_monitor()
        self._monitor.close()  # the context waits for every socket, this one too
        self._socket.close()
        self._context.term()

    def _await(self, readiness: int) -> None:
        """Wait until the socket is ready, and for as long as there is hope that it will be."""
        poller = self._pollers[readiness]
        while True:
            ready = dict(poller.poll(self._patience_ms()))
            if self._monitor in ready:
                self._observe()
            if self._socket in ready:
                return
            if self._absent_since is not None and self._patience_ms() == 0:
                raise CoordinatorError("no coordinator at %s" % self.endpoint)

    def _notice_absence(self) -> None:
        """Of a coordinator that left while we computed what it had sent: libzmq would keep for its
        return whatever is sent."""
        while int(self._monitor.getsockopt(zmq.EVENTS)) & _READABLE:
            self._observe()
        if self._absent_since is not None and self._patience_ms() == 0:
            raise CoordinatorError("no coordinator at %s" % self.endpoint)

    def _patience_ms(self) -> int:
        """Milliseconds until the coordinator counts as gone; -1 (no limit) while it is there."""
        if self._absent_since is None:
            return -1
        left_ns = self._absent_since + self.reconnect_ns - now_ns()
        return min(max(0, -(-left_ns // 10**6)), 2**31 - 1)

    def _observe(self) -> None:
        event = recv_monitor_message(self._monitor)["event"]
        if event == _TURNED_AWAY:
            sentence = "the coordinator at %s doesn't know this connection file's keys"
            raise CoordinatorError(sentence % self.endpoint)
        if event == _GREETED:
            self._absent_since = None
        elif self._absent_since is None:
            self._absent_since = now_ns()
