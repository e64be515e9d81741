"""Downloads: digest, resumption, mirror, and every way in which a server can fail."""

import gzip
import hashlib
import http.server
import re
import shutil
import threading
from collections import namedtuple
from dataclasses import replace

import pytest

from rosetta.datasets import DataError, DataUnavailable, download, load, status
from rosetta.datasets.published import FILES

TARBALL = "cifar-10-python.tar.gz"


class Server(http.server.ThreadingHTTPServer):
    """Serves `files`; how it misbehaves is set by the test."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files = {}
        self.requests = []
        self.break_after = None
        self.ranges = True
        self.status = 200

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/mirror"


class Handler(http.server.BaseHTTPRequestHandler):
    server: Server

    def do_GET(self):
        asked = self.headers.get("Range")
        self.server.requests.append((self.path, asked))
        content = self.server.files.get(self.path.removeprefix("/mirror/"))
        if content is None or self.server.status != 200:
            self.send_error(404 if content is None else self.server.status)
            return
        start = int(re.fullmatch(r"bytes=(\d+)-", asked)[1]) if asked and self.server.ranges else 0
        if start >= len(content):
            self.send_error(416)
            return
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        self.wfile.write(content[start : self.server.break_after])

    def log_message(self, *_):
        pass


@pytest.fixture
def server(monkeypatch):
    with Server() as server:
        threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
        monkeypatch.setenv("ROSETTA_DATA_MIRROR", server.url)
        yield server
        server.shutdown()


def publish(monkeypatch, name, content, **changes):
    """Makes `content` the published file of that name."""
    digest = hashlib.sha256(content).hexdigest()
    known = replace(FILES[name], digest=digest, size_bytes=len(content), **changes)
    monkeypatch.setitem(FILES, name, known)


@pytest.fixture
def tar(server, monkeypatch, make_cifar):
    content = make_cifar(images=40)
    publish(monkeypatch, TARBALL, content)
    server.files[TARBALL] = content
    return content


@pytest.fixture
def fetch(tasks, cache, said):
    return lambda: load("cifar10", task=tasks["cnn"], cache=cache, report=said.append)


def test_a_file_is_downloaded_once(tar, fetch, server, cache, said, capfd):
    dataset = fetch()
    assert capfd.readouterr() == ("", "")  # what there is to say is reported
    assert (dataset.source.kind, dataset.source.warnings) == ("download", ())
    assert dataset.source.path == str(cache / "downloads" / TARBALL)
    assert dataset.source.sha256 == {TARBALL: hashlib.sha256(tar).hexdigest()}
    assert len(dataset.train) == 80
    assert any(sentence.startswith(f"downloading {server.url}/{TARBALL}") for sentence in said)
    fetch()
    assert len(server.requests) == 1
    assert [path.name for path in (cache / "downloads").glob("*.part")] == []
    (state, *_) = status([], cache)
    assert (state.place, state.files[0].digest, state.cached) == ("download", "published", True)


def test_a_broken_transfer_is_continued(tar, fetch, server, cache, monkeypatch):
    monkeypatch.setattr(download, "_CHUNK_BYTES", 100)  # what is kept are whole chunks
    server.break_after = 1000
    with pytest.raises(DataError, match="broke off"):
        fetch()
    part = cache / "downloads" / f"{TARBALL}.part"
    assert part.read_bytes() == tar[:1000]
    server.break_after = None
    assert len(fetch().train) == 80
    assert [asked for _, asked in server.requests] == [None, "bytes=1000-"]
    assert not part.exists()


def test_a_server_that_cannot_continue_starts_again(tar, fetch, server, monkeypatch):
    monkeypatch.setattr(download, "_CHUNK_BYTES", 100)
    server.break_after = 1000
    with pytest.raises(DataError):
        fetch()
    server.break_after, server.ranges = None, False
    assert len(fetch().train) == 80
    assert len(server.requests) == 2


@pytest.mark.parametrize("junk", [b"another file's beginning", b"x" * 10_000_000])
def test_a_wrong_beginning_is_dropped(tar, fetch, server, cache, junk):
    (cache / "downloads").mkdir(parents=True)
    (cache / "downloads" / f"{TARBALL}.part").write_bytes(junk)
    assert len(fetch().train) == 80
    assert len(server.requests) == 2


def test_a_wrong_digest_is_told_and_nothing_is_kept(tar, fetch, server, cache):
    server.files[TARBALL] = tar + b"x"
    with pytest.raises(DataError) as caught:
        fetch()
    assert not isinstance(caught.value, DataUnavailable)
    message = str(caught.value)
    assert f"expected {hashlib.sha256(tar).hexdigest()}" in message
    assert f"found {hashlib.sha256(tar + b'x').hexdigest()}" in message
    assert "wasn't kept" in message
    assert "\n" not in message
    assert [path.name for path in (cache / "downloads").iterdir()] == [f"{TARBALL}.lock"]


def test_after_a_wrong_file_the_next_location_is_tried(tar, fetch, server, said, monkeypatch):
    monkeypatch.delenv("ROSETTA_DATA_MIRROR")
    publish(monkeypatch, TARBALL, tar, bases=(f"{server.url}/old", f"{server.url}/"))
    server.files[f"old/{TARBALL}"] = wrong = tar + b"x"
    assert len(fetch().train) == 80
    assert [path for path, _ in server.requests] == [
        f"/mirror/old/{TARBALL}",
        f"/mirror/{TARBALL}",
    ]
    found = hashlib.sha256(wrong).hexdigest()
    assert any(f"found {found}): trying the next location" in sentence for sentence in said)


@pytest.mark.parametrize("last", ["a wrong file", "no file", "no answer"])
def test_a_wrong_file_is_told_when_no_location_has_the_right_one(
    tar, fetch, server, cache, monkeypatch, last
):
    monkeypatch.delenv("ROSETTA_DATA_MIRROR")
    second = "http://127.0.0.1:9" if last == "no answer" else f"{server.url}/second"
    publish(monkeypatch, TARBALL, tar, bases=(f"{server.url}/first", second))
    server.files = {f"first/{TARBALL}": tar + b"1"}
    if last == "a wrong file":
        server.files[f"second/{TARBALL}"] = tar + b"22"
    with pytest.raises(DataError) as caught:
        fetch()
    assert not isinstance(caught.value, DataUnavailable)
    message = str(caught.value)
    where, content = ("second", tar + b"22") if last == "a wrong file" else ("first", tar + b"1")
    assert f"{server.url}/{where}/{TARBALL} isn't the published file" in message
    assert f"expected {hashlib.sha256(tar).hexdigest()}" in message
    assert f"found {hashlib.sha256(content).hexdigest()}" in message
    assert [path.name for path in (cache / "downloads").iterdir()] == [f"{TARBALL}.lock"]


def test_an_endless_file_is_given_up(tar, fetch, server, cache):
    server.files[TARBALL] = tar * 50
    with pytest.raises(DataError, match="isn't the published file"):
        fetch()


def test_a_downloaded_file_that_was_changed_is_fetched_again(tar, fetch, server, cache):
    fetch()
    (cache / "downloads" / TARBALL).write_bytes(b"changed")
    assert len(fetch().train) == 80
    assert len(server.requests) == 2


@pytest.mark.parametrize("code", [404, 403, 500, 503])
def test_an_answer_that_is_no_file(tar, fetch, server, code):
    server.status = code
    if code == 404:
        server.files.clear()
    with pytest.raises(DataError, match=rf"answers {code}.*try again") as caught:
        fetch()
    assert "\n" not in str(caught.value)


def test_a_host_that_refuses(fetch, monkeypatch):
    monkeypatch.setenv("ROSETTA_DATA_MIRROR", "http://127.0.0.1:9")
    with pytest.raises(
        DataUnavailable, match=r"127\.0\.0\.1:9 can't be reached \(Connection refused\)"
    ):
        fetch()


def test_a_host_that_does_not_exist(fetch, monkeypatch):
    monkeypatch.setenv("ROSETTA_DATA_MIRROR", "http://nowhere.invalid")
    with pytest.raises(DataError, match=r"nowhere\.invalid can't be reached"):
        fetch()


def test_a_mirror_that_is_no_address(fetch, monkeypatch):
    monkeypatch.setenv("ROSETTA_DATA_MIRROR", "not-a-url")
    with pytest.raises(DataError, match="ROSETTA_DATA_MIRROR"):
        fetch()


def test_a_silent_host_is_given_up(tar, fetch, server, monkeypatch):
    monkeypatch.setattr(download, "TIMEOUT_S", (0.2, 0.2))
    release = threading.Event()
    monkeypatch.setattr(Handler, "do_GET", lambda self: release.wait(5))
    with pytest.raises(DataError, match="doesn't answer in time"):
        fetch()
    release.set()


def test_the_second_location_is_tried(tar, fetch, server, monkeypatch):
    monkeypatch.delenv("ROSETTA_DATA_MIRROR")
    publish(monkeypatch, TARBALL, tar, bases=("http://127.0.0.1:9", server.url + "/"))
    assert len(fetch().train) == 80


def test_a_full_disk_is_told_before_the_transfer(tar, fetch, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10, 9, 1))
    with pytest.raises(DataError, match=rf"no space for {TARBALL} .*: make room"):
        fetch()


def test_a_cache_that_cannot_be_written_is_told(tar, tasks, tmp_path):
    blocked = tmp_path / "blocked"
    blocked.write_text("")
    with pytest.raises(DataError, match="can't be stored"):
        load("cifar10", task=tasks["cnn"], cache=blocked, report=str)


def test_two_processes_do_not_write_into_each_other(tar, fetch, cache):
    (cache / "downloads").mkdir(parents=True)
    with (
        download._locked(cache / "downloads" / f"{TARBALL}.part"),
        pytest.raises(DataError, match="another process is downloading"),
    ):
        fetch()


def test_all_files_of_mnist_are_fetched(server, monkeypatch, mnist_folder, tasks, cache):
    for path in mnist_folder.iterdir():
        server.files[path.name] = path.read_bytes()
        publish(monkeypatch, path.name, path.read_bytes())
    dataset = load("mnist", task=tasks["mlp"], cache=cache, report=str)
    assert (
        len(dataset.train) == len(gzip.decompress(server.files["train-labels-idx1-ubyte.gz"])) - 8
    )
    assert len(server.requests) == 4


def test_imdb_is_fetched_from_the_mirror(server, monkeypatch, make_imdb, tasks, cache):
    content = make_imdb([[1], [2]], [[3]])
    server.files["imdb.npz"] = content
    publish(monkeypatch, "imdb.npz", content)
    dataset = load("imdb", task=tasks["gru"], cache=cache, report=str)
    assert dataset.train.inputs[0, -2:].tolist() == [1, 4]
