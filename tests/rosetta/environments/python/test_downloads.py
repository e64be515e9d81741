"""What was downloaded for an attempt that failed isn't downloaded for the next one."""

from __future__ import annotations

import http.server
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rosetta import environments
from rosetta.environments import EnvironmentUnavailable
from rosetta.workers import Worker


@pytest.fixture
def fetched(wheels: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    """Serves the folder of wheels as an index; how often each file was fetched."""
    counts: Counter[str] = Counter()

    class Index(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            name = self.path.rstrip("/").rpartition("/")[2]
            if (wheels / name).is_file():
                counts[name] += self.command == "GET"
                self._answer((wheels / name).read_bytes(), "application/octet-stream")
                return
            files = [file.name for file in wheels.iterdir() if file.name.startswith(f"{name}-")]
            links = "".join(f'<a href="/files/{file}">{file}</a>' for file in files)
            self._answer(f"<html><body>{links}</body></html>".encode(), "text/html")

        do_HEAD = do_GET  # noqa: N815 - the standard library's name

        def _answer(self, content: bytes, kind: str) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            # Indexes say that a file never changes; what says nothing may not be kept.
            self.send_header("Cache-Control", "max-age=31536000, immutable")
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(content)

        def log_message(self, *_: Any) -> None: ...

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Index)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.delenv("PIP_FIND_LINKS")
    monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{server.server_port}/simple")
    yield counts
    server.shutdown()
    server.server_close()


def test_a_second_failure_downloads_nothing(
    make: Callable[..., Worker],
    put_wheel: Callable[..., None],
    put_slow: Callable[..., None],
    tmp_path: Path,
    fetched: Counter[str],
) -> None:
    large = "large-1.0-py3-none-any.whl"
    put_wheel("large", "1.0")
    put_slow("broken", then="time.sleep(2); raise OSError")  # once the other is there
    worker = make("large==1.0\nbroken==1.0\n")

    (tmp_path / "gate").touch()
    with pytest.raises(EnvironmentUnavailable, match="broken"):
        environments.ensure(worker)
    before = fetched[large]
    assert before
    with pytest.raises(EnvironmentUnavailable, match="broken"):
        environments.ensure(worker)
    assert fetched[large] == before
