"""CURVE: who may talk to the coordinator beyond this machine, and a tunnel for what is said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import zmq
import zmq.auth
from zmq.auth.thread import ThreadAuthenticator


@dataclass(frozen=True)
class CurveKeys:
    """What one worker needs to connect: Z85 texts of 40 characters (SPEC section 12)."""

    server_key: str
    public_key: str
    secret_key: str


class Encryption:
    """A key pair of the coordinator's own, and one for every worker that it expects.

    libzmq asks before it lets a peer in (ZAP); a key that wasn't handed out opens nothing. Made
    before the socket is bound, and closed before its context is.
    """

    def __init__(self, context: zmq.Context[Any]) -> None:
        self._public, self._secret = zmq.curve_keypair()
        self._admitted: set[bytes] = set()
        self._authenticator = ThreadAuthenticator(context)
        self._authenticator.start()
        self._authenticator.configure_curve_callback("*", credentials_provider=self)

    def protect(self, server: zmq.Socket[Any]) -> None:
        """Have a socket that isn't bound yet speak with admitted peers only."""
        server.curve_server = 1
        server.curve_secretkey = self._secret
        server.curve_publickey = self._public

    def admit(self) -> CurveKeys:
        """Fresh keys for one worker."""
        public, secret = zmq.curve_keypair()
        self._admitted.add(public)
        return CurveKeys(self._public.decode(), public.decode(), secret.decode())

    def callback(self, domain: str, key: bytes) -> bool:
        """Whether the peer with this public key (Z85) may connect: pyzmq's authenticator asks."""
        return key in self._admitted

    def close(self) -> None:
        """Stop answering."""
        self._authenticator.stop()
