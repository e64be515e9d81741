"""Where the coordinator listens: on this machine only, and at nobody else's expense."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from rosetta.coordinator import Router
from rosetta.errors import UserError

BEYOND = [
    "tcp://0.0.0.0:5555",
    "tcp://0.0.0.0:*",
    "tcp://*:5555",
    "tcp://*:*",
    "tcp://[::]:5555",
    "tcp://192.168.1.1:5555",
    "tcp://8.8.8.8:5555",
    "tcp://example.org:5555",
    "tcp://localhost:5555",
    "tcp://localhost.example.org:5555",
    "tcp://127.0.0.1.example.org:5555",
    "tcp://eth0:5555",
    "tcp://lo:5555",
    "tcp://:5555",
    "tcp://127.0.0.1",
    "tcp://127.0.0.1:1:2",
    "tcp://0.0.0.0;127.0.0.1:5555",
    "TCP://127.0.0.1:5555",
    "udp://127.0.0.1:5555",
    "pgm://127.0.0.1:5555",
    "inproc://here",
    "127.0.0.1:5555",
    "carrier-pigeon",
]


@pytest.mark.parametrize("bind", BEYOND)
def test_an_address_beyond_this_machine_is_refused(bind: str) -> None:
    """Host names too: what they mean is decided elsewhere."""
    with pytest.raises(UserError, match="can't listen at ") as caught:
        Router(bind).close()
    assert bind in str(caught.value)
    assert "ipc://PATH or tcp://" in str(caught.value)


def test_any_port_of_the_loopback_is_served() -> None:
    router = Router("tcp://127.0.0.1:*")
    try:
        host, port = router.endpoint.removeprefix("tcp://").split(":")
        assert host == "127.0.0.1"
        with socket.create_connection((host, int(port)), timeout=5):
            pass
    finally:
        router.close()


@pytest.mark.parametrize(
    "bind",
    [*(f"tcp://127.0.0.1:{port}" for port in ("", "http", "-1", "0", "65536", "99999")), "ipc://"],
)
def test_a_nonsensical_address_is_one_sentence(bind: str) -> None:
    with pytest.raises(UserError, match="can't listen at ") as caught:
        Router(bind).close()
    assert "\n" not in str(caught.value)


def test_a_port_in_use_is_said() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        bind = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(UserError, match=f"can't listen at {bind}: .*choose another --bind"):
            Router(bind)


def test_a_path_of_ones_own_is_used_and_goes_with_the_router(tmp_path: Path) -> None:
    path = tmp_path / "here"
    for _ in range(2):
        router = Router(f"ipc://{path}")
        assert router.endpoint == f"ipc://{path}"
        assert path.is_socket()
        router.close()
        assert not path.exists()


def test_a_path_in_use_is_said_and_left_to_whoever_uses_it(tmp_path: Path) -> None:
    bind = f"ipc://{tmp_path / 'here'}"
    first = Router(bind)
    try:
        with pytest.raises(UserError, match="in use; choose another --bind"):
            Router(bind)
        with socket.socket(socket.AF_UNIX) as probe:
            probe.connect(str(tmp_path / "here"))
    finally:
        first.close()


def test_a_file_that_is_no_socket_is_never_removed(tmp_path: Path) -> None:
    """ZeroMQ alone would."""
    thesis = tmp_path / "thesis.tex"
    thesis.write_text("dear")
    with pytest.raises(UserError, match="the file is there"):
        Router(f"ipc://{thesis}")
    assert thesis.read_text() == "dear"
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(UserError, match="the file is there"):
        Router(f"ipc://{folder}")


def test_a_socket_that_a_killed_run_left_behind_is_no_obstacle(tmp_path: Path) -> None:
    path = tmp_path / "here"
    script = (
        "import os, sys; from rosetta.coordinator import Router; "
        "router = Router(sys.argv[1]); os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", script, f"ipc://{path}"], check=False)
    assert path.is_socket()
    Router(f"ipc://{path}").close()


def test_a_folder_that_does_not_exist_is_said(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"can't listen at ipc://.*nowhere"):
        Router(f"ipc://{tmp_path}/nowhere/here")


def test_a_path_too_long_for_a_socket_is_said(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="can't listen at ipc://"):
        Router(f"ipc://{tmp_path}/{'x' * 200}")


def test_a_refused_address_leaves_no_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(UserError):
        Router("tcp://0.0.0.0:5555")
    assert not list(tmp_path.iterdir())


def test_where_temporary_paths_are_too_long_a_port_serves(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    deep = tmp_path / ("x" * 100)
    deep.mkdir()
    monkeypatch.setattr("tempfile.tempdir", os.fspath(deep))
    router = Router()
    try:
        assert router.endpoint.startswith("tcp://127.0.0.1:")
    finally:
        router.close()
