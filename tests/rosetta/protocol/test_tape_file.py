"""Tapes: both sides write the same file, read each other's, and refuse a damaged one."""

import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rosetta.errors import UserError
from rosetta.protocol.limits import MAX_FRAMES
from rosetta.protocol.tape import FROM_COORDINATOR, FROM_WORKER, MAGIC, TapeWriter, read_tape
from rosetta_worker import tape as worker_tape
from rosetta_worker import wire

MESSAGES = [
    (FROM_COORDINATOR, [b"header", b"", b"\x00\x01\x02"]),
    (FROM_WORKER, [b"an answer"]),
    (FROM_COORDINATOR, [b"last"]),
]

messages = st.lists(
    st.tuples(
        st.sampled_from([FROM_COORDINATOR, FROM_WORKER]),
        st.lists(st.binary(max_size=40), max_size=4),
    ),
    max_size=5,
)


def write(path: Path, content: list[tuple[bytes, list[bytes]]] = MESSAGES) -> Path:
    with TapeWriter(path) as tape:
        for sender, frames in content:
            tape.write(sender, frames)
    return path


def read_with_rosetta(path: Path) -> list[list[bytes]]:
    """Frames of the coordinator's messages, or `UserError`."""
    return [frames for sender, frames in read_tape(path) if sender == FROM_COORDINATOR]


def read_with_the_runtime(path: Path) -> list[list[bytes]]:
    """The same through the worker runtime, or `TapeError`."""
    tape = worker_tape.Tape(str(path), print)
    try:
        return list(iter(tape.receive, None))
    finally:
        tape.close()


READERS = [read_with_rosetta, read_with_the_runtime]
both_readers = pytest.mark.parametrize("read", READERS)


def refusal(read, path: Path) -> str:
    """The one line that a reader refuses a file with."""
    with pytest.raises((UserError, worker_tape.TapeError)) as caught:
        read(path)
    sentence = str(caught.value)
    assert "\n" not in sentence
    return sentence


@pytest.fixture(scope="module")
def scratch(tmp_path_factory) -> Path:
    """A file that is written again and again."""
    return tmp_path_factory.mktemp("tapes") / "scratch.tape"


@given(messages)
def test_messages_are_read_as_they_were_written(scratch, content):
    assert list(read_tape(write(scratch, content))) == content


@given(messages)
def test_the_runtime_gives_out_what_the_coordinator_said(scratch, content):
    said = [frames for sender, frames in content if sender == FROM_COORDINATOR]
    assert read_with_the_runtime(write(scratch, content)) == said


def test_frames_may_be_any_buffer(tmp_path):
    numbers = np.arange(6, dtype=np.float32).reshape(2, 3)
    frames = [b"header", memoryview(numbers).cast("B"), bytearray(b"xyz")]
    write(tmp_path / "a.tape", [(FROM_COORDINATOR, frames)])
    assert read_with_rosetta(tmp_path / "a.tape") == [[b"header", numbers.tobytes(), b"xyz"]]


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6, dtype=np.float32).reshape(2, 3),
        np.arange(6, dtype=">f8").reshape(2, 3).T,
        np.float64(3.5).reshape(()),
        np.zeros((0, 4), np.int32),
    ],
    ids=["matrix", "transposed big-endian", "0-d", "empty"],
)
def test_the_runtimes_recording_holds_both_sides(tmp_path, array):
    shown = []
    played = write(tmp_path / "played.tape", MESSAGES)
    tape = worker_tape.Tape(str(played), shown.append, record=str(tmp_path / "recorded.tape"))
    answer = {"type": "VALUES", "id": 0, "re": 1}
    assert tape.receive() == MESSAGES[0][1]
    tape.send(answer, {"x": array})
    assert tape.receive() == MESSAGES[2][1]
    assert tape.receive() is None
    tape.close()

    first, recorded, last = read_tape(tmp_path / "recorded.tape")
    assert (first, last) == (MESSAGES[0], MESSAGES[2])
    assert recorded[0] == FROM_WORKER
    assert recorded[1] == [bytes(memoryview(f)) for f in wire.encode(answer, {"x": array})]
    assert shown == [answer]


def test_a_tape_is_not_recorded_over_itself(tmp_path):
    path = write(tmp_path / "a.tape")
    with pytest.raises(worker_tape.TapeError):
        worker_tape.Tape(str(path), print, record=str(path))
    assert list(read_tape(path)) == MESSAGES


# --- files that aren't whole tapes ----------------------------------------------------------------


def ends_of_messages() -> dict[int, int]:
    """Length of the file after each message → number of the coordinator's messages so far."""
    ends, position, said = {len(MAGIC): 0}, len(MAGIC), 0
    for sender, frames in MESSAGES:
        position += 5 + sum(8 + len(frame) for frame in frames)
        said += sender == FROM_COORDINATOR
        ends[position] = said
    return ends


@both_readers
def test_a_tape_cut_off_at_any_byte_is_refused_unless_it_ends_with_a_message(read, tmp_path):
    whole = write(tmp_path / "whole.tape").read_bytes()
    ends = ends_of_messages()
    assert len(whole) in ends
    cut = tmp_path / "cut.tape"
    for length in range(len(whole)):
        cut.write_bytes(whole[:length])
        if length in ends:
            assert len(read(cut)) == ends[length]
        else:
            assert str(cut) in refusal(read, cut)


HEAD = len(MAGIC)  # of the first message: sender, number of frames, length of the first

DAMAGE = {
    "magic": (0, b"r"),
    "version": (HEAD - 3, b"2"),
    "sender": (HEAD, b"X"),
    "count, too many": (HEAD + 1, struct.pack("<I", MAX_FRAMES + 1)),
    "count, absurd": (HEAD + 1, b"\xff\xff\xff\xff"),
    "count, one less": (HEAD + 1, struct.pack("<I", 2)),
    "length, longer than the file": (HEAD + 5, struct.pack("<Q", 1000)),
    "length, absurd": (HEAD + 5, b"\xff" * 8),
    "length, too short": (HEAD + 5, struct.pack("<Q", 5)),
}


@both_readers
@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_tape_is_refused(read, damage, tmp_path):
    position, replacement = damage
    content = bytearray(write(tmp_path / "a.tape").read_bytes())
    content[position : position + len(replacement)] = replacement
    (tmp_path / "a.tape").write_bytes(content)
    assert str(tmp_path / "a.tape") in refusal(read, tmp_path / "a.tape")


@both_readers
@pytest.mark.parametrize("content", [b"", b"\x93NUMPY", b"ROSETTA TAPE"])
def test_another_file_is_not_a_tape(read, content, tmp_path):
    (tmp_path / "a.npy").write_bytes(content)
    assert "is not a tape" in refusal(read, tmp_path / "a.npy")


@both_readers
def test_a_file_that_can_not_be_read_is_named(read, tmp_path):
    assert "nowhere.tape" in refusal(read, tmp_path / "nowhere.tape")
    assert str(tmp_path) in refusal(read, tmp_path)


def test_a_tape_that_can_not_be_written_is_named(tmp_path):
    with pytest.raises(UserError, match=r"nowhere.*a\.tape"):
        TapeWriter(tmp_path / "nowhere" / "a.tape")
    path = write(tmp_path / "played.tape")
    with pytest.raises(worker_tape.TapeError, match=r"nowhere.*b\.tape"):
        worker_tape.Tape(str(path), print, record=str(tmp_path / "nowhere" / "b.tape"))
