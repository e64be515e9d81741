"""Where the coordinator listens."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from rosetta.errors import UserError

_LONGEST_SOCKET_PATH = 100  # sun_path holds 108 bytes on Linux, 104 on macOS
_ANY_ADDRESS = ("0.0.0.0", "*")


def chosen(bind: str | None, folder: Path, *, encrypted: bool) -> str:
    """The address to bind to: `bind`, checked, or one of our own, in `folder` where that works.

    Raises `UserError` for an address that is in use, or that others can reach while nothing is
    `encrypted`.
    """
    if bind is None:
        return _fresh(folder)
    _require_tcp_or_ipc(bind)
    if not encrypted:
        _require_local(bind)
    _require_free(bind)
    return _absolute(bind)


def from_here(endpoint: str) -> str:
    """What a worker on this machine connects to."""
    return _with_host(endpoint, "127.0.0.1")


def from_elsewhere(endpoint: str) -> str:
    """What a worker on another machine connects to: a name instead of `any address`."""
    return _with_host(endpoint, socket.gethostname())


def _with_host(endpoint: str, host: str) -> str:
    """`endpoint` with `host` where it is bound to all addresses."""
    bound, _, port = endpoint.removeprefix("tcp://").rpartition(":")
    open_to_all = endpoint.startswith("tcp://") and bound in _ANY_ADDRESS
    return f"tcp://{host}:{port}" if open_to_all else endpoint


def _fresh(folder: Path) -> str:
    """An ipc path in `folder`, or a loopback port where the path can't be a socket's."""
    path = folder / "coordinator"
    fits = len(bytes(path)) < _LONGEST_SOCKET_PATH and str(path).isprintable()
    return f"ipc://{path}" if fits else "tcp://127.0.0.1:*"


def _absolute(bind: str) -> str:
    """An ipc path as the workers see it, who run in folders of their own."""
    path = bind.removeprefix("ipc://")
    return f"ipc://{Path(path).absolute()}" if bind.startswith("ipc://") and path else bind


def _require_tcp_or_ipc(bind: str) -> None:
    if bind.startswith("ipc://"):
        return
    host, _, port = bind.removeprefix("tcp://").rpartition(":")
    if not bind.startswith("tcp://") or not host:
        raise UserError(f"can't listen at {bind}: an address is ipc://PATH or tcp://ADDRESS:PORT")
    if port != "*" and not (port.isdecimal() and 0 < int(port) < 2**16):  # ZeroMQ would wrap it
        raise UserError(f"can't listen at {bind}: a port is a number from 1 to 65535, or *")


def _require_local(bind: str) -> None:
    """Only this machine as long as frames travel in the clear."""
    host = bind.removeprefix("tcp://").rpartition(":")[0]
    if bind.startswith("ipc://") or host == "127.0.0.1":
        return
    raise UserError(
        f"can't listen at {bind} in the clear: other machines can reach it; add --encrypt, or "
        "use ipc://PATH or tcp://127.0.0.1:PORT"
    )


def _require_free(bind: str) -> None:
    """ZeroMQ itself would remove whatever stands at an ipc path: a thesis, a running socket."""
    path = Path(bind.removeprefix("ipc://"))
    if not bind.startswith("ipc://") or not os.path.lexists(path) or _is_abandoned(path):
        return
    raise UserError(f"can't listen at {bind}: the file is there and in use; choose another --bind")


def _is_abandoned(path: Path) -> bool:
    """Whether it is a socket that nobody listens at: left behind by a run that was killed."""
    if not path.is_socket():
        return False
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            return True
        except OSError:
            return False
    return False
