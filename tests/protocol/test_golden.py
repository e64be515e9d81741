"""The golden messages: three decoders find in them what is described, and write the same bytes.

The decoders are the coordinator's (`rosetta.protocol`), and those of the worker runtimes in Python
and in Julia. None of them has had a part in the files.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgpack
import msgspec
import pytest

from protocol import golden_files
from protocol.golden_files import GoldenMessage, same, same_arrays
from rosetta import protocol
from rosetta.protocol import ProtocolError, UnknownMessageError
from rosetta.protocol.messages import ALL
from rosetta_worker import wire

MESSAGES = golden_files.messages()
RULES = golden_files.rules()


def having(**said: Any) -> list[GoldenMessage]:
    return [m for m in MESSAGES if all(m.said.get(key) == value for key, value in said.items())]


TAKEN = having(outcome="taken")
REFUSED = having(outcome="refused")
OPEN = having(outcome="open")
IGNORED = having(outcome="ignored")
# An encoder describes arrays in its own order.
WRITABLE = [m for m in TAKEN if m.shared_memory is None and m.name != "another-order"]
ON_ANY_WIRE = [m for m in TAKEN if m.shared_memory is None]

taken = pytest.mark.parametrize("golden", TAKEN, ids=str)
taken_by_coordinators = pytest.mark.parametrize("golden", ON_ANY_WIRE, ids=str)
refused = pytest.mark.parametrize("golden", REFUSED, ids=str)


# --- the files ------------------------------------------------------------------------------------


def test_every_message_dtype_and_outcome_is_there() -> None:
    headers = [golden.header for golden in TAKEN]
    assert {header["type"] for header in headers} == set(ALL)
    dtypes = {array.dtype.name for golden in TAKEN for array in golden.arrays.values()}
    assert dtypes == set(wire.DTYPES)
    assert {golden.said["code"] for golden in REFUSED} == {"bad_header", "bad_frames"}
    assert OPEN and IGNORED
    assert len(having(reencodes=True, plain=True)) > 2 / 3 * len(TAKEN)
    assert {golden.said["outcome"] for golden in RULES} == {"taken", "refused"}


# --- the worker runtime in Python -----------------------------------------------------------------


def written(frames: list[Any]) -> list[bytes]:
    return [bytes(memoryview(frame)) for frame in frames]


@taken
def test_the_python_runtime_decodes_and_writes_it_again(golden: GoldenMessage) -> None:
    header, arrays = wire.decode(golden.frames, ALL, golden.shared_memory)
    assert same(header, golden.header)
    assert same_arrays(arrays, golden.arrays)
    for probe in golden.said.get("probes", []):
        assert arrays[probe["array"]][tuple(probe["index"])] == probe["value"]
    again = written(wire.encode(header, arrays))
    assert again == golden.frames or not golden.said["reencodes"]


@refused
def test_the_python_runtime_refuses_it(golden: GoldenMessage) -> None:
    with pytest.raises(wire.WireError) as caught:
        wire.decode(golden.frames)
    assert (caught.value.code, caught.value.re) == (golden.said["code"], golden.said["re"])


@pytest.mark.parametrize("golden", OPEN, ids=str)
def test_the_python_runtime_takes_or_refuses_what_is_left_open(golden: GoldenMessage) -> None:
    try:
        header, _ = wire.decode(golden.frames)
    except wire.WireError as error:
        assert (error.code, error.re) == (golden.said["code"], golden.said["re"])
    else:
        assert header["id"] == 5


@pytest.mark.parametrize("golden", IGNORED, ids=str)
def test_the_python_runtime_ignores_it(golden: GoldenMessage) -> None:
    header, arrays = wire.decode(golden.frames, ALL)
    assert same(header, golden.header)
    assert header["type"] not in ALL and arrays == {}


# --- the coordinator ------------------------------------------------------------------------------


def for_msgspec(value: Any) -> Any:
    """A described value with msgspec's type for extensions."""
    if isinstance(value, msgpack.ExtType):
        return msgspec.msgpack.Ext(value.code, value.data)
    if isinstance(value, list):
        return [for_msgspec(each) for each in value]
    if isinstance(value, dict):
        return {key: for_msgspec(element) for key, element in value.items()}
    return value


def message_of(golden: GoldenMessage) -> protocol.messages.Message:
    """The described header as the coordinator's struct: what it doesn't know is left out."""
    known = {k: v for k, v in golden.header.items() if isinstance(k, str)}
    return msgspec.convert(for_msgspec(known), ALL[known["type"]])


@taken_by_coordinators
def test_the_coordinator_decodes_and_writes_it_again(golden: GoldenMessage) -> None:
    message, arrays = protocol.decode(golden.frames, expected=ALL.values())
    wanted = message_of(golden)
    assert type(message) is type(wanted)
    # As bytes, so that NaN is NaN, and the types of numbers count.
    assert msgspec.msgpack.encode(message) == msgspec.msgpack.encode(wanted)
    assert same_arrays(arrays, golden.arrays)
    again = written(protocol.encode(message, arrays))
    assert again == golden.frames or not (golden.said["reencodes"] and golden.said["plain"])


@refused
def test_the_coordinator_refuses_it(golden: GoldenMessage) -> None:
    with pytest.raises(ProtocolError) as caught:
        protocol.decode(golden.frames, expected=ALL.values())
    if not isinstance(caught.value, UnknownMessageError):
        assert caught.value.code == golden.said["code"]
    assert caught.value.re in (golden.said["re"], None)


@pytest.mark.parametrize("golden", OPEN, ids=str)
def test_the_coordinator_takes_or_refuses_what_is_left_open(golden: GoldenMessage) -> None:
    try:
        message, _ = protocol.decode(golden.frames, expected=ALL.values())
    except ProtocolError as error:
        assert error.code == golden.said["code"]
    else:
        assert message.id == 5


@pytest.mark.parametrize("golden", IGNORED, ids=str)
def test_the_coordinator_ignores_it(golden: GoldenMessage) -> None:
    with pytest.raises(UnknownMessageError):
        protocol.decode(golden.frames, expected=ALL.values())


# --- the worker runtime in Julia ------------------------------------------------------------------


@pytest.fixture(scope="module")
def in_julia(driver: Any) -> dict[str, dict[str, Any]]:
    """What the Julia runtime makes of each message that stands in a file."""
    cases = [{"text": golden.text, "frames": golden.frames} for golden in MESSAGES]
    replies = driver.ask("golden", cases=cases)
    return {golden.name: reply for golden, reply in zip(MESSAGES, replies, strict=True)}


@taken
def test_julia_decodes_and_writes_it_again(golden: GoldenMessage, in_julia: Any) -> None:
    reply = in_julia[golden.name]
    assert "code" not in reply, reply
    assert reply["header_is_right"] and reply["arrays_are_right"]
    assert reply["is_written_again"] or not golden.said["reencodes"]


@refused
def test_julia_refuses_it(golden: GoldenMessage, in_julia: Any) -> None:
    assert in_julia[golden.name] == {"code": golden.said["code"], "re": golden.said["re"]}


@pytest.mark.parametrize("golden", OPEN, ids=str)
def test_julia_takes_or_refuses_what_is_left_open(golden: GoldenMessage, in_julia: Any) -> None:
    reply = in_julia[golden.name]
    if "code" in reply:
        assert reply == {"code": golden.said["code"], "re": golden.said["re"]}
    else:
        assert reply["id"] == 5


@pytest.mark.parametrize("golden", IGNORED, ids=str)
def test_julia_ignores_it(golden: GoldenMessage, in_julia: Any) -> None:
    reply = in_julia[golden.name]
    assert reply["header_is_right"] and reply["array_count"] == 0


# --- each writes what is described, and every other reads it --------------------------------------


def encoded_by_each(golden: GoldenMessage, in_julia: Any) -> Iterator[list[bytes]]:
    yield written(wire.encode(golden.header, golden.arrays))
    yield in_julia[golden.name]["encoded"]
    if golden.said["plain"]:
        yield written(protocol.encode(message_of(golden), golden.arrays))


@pytest.fixture(scope="module")
def encoded(in_julia: Any) -> dict[str, list[list[bytes]]]:
    """What each of the three writes for what is described."""
    return {golden.name: list(encoded_by_each(golden, in_julia)) for golden in WRITABLE}


@pytest.fixture(scope="module")
def read_by_julia(encoded: Any, driver: Any) -> dict[str, list[dict[str, Any]]]:
    """What the Julia runtime makes of that."""
    cases = [{"text": g.text, "frames": frames} for g in WRITABLE for frames in encoded[g.name]]
    replies = iter(driver.ask("golden", cases=cases))
    return {g.name: [next(replies) for _ in encoded[g.name]] for g in WRITABLE}


@pytest.mark.parametrize("golden", WRITABLE, ids=str)
def test_what_each_writes_every_other_reads(
    golden: GoldenMessage, encoded: Any, read_by_julia: Any
) -> None:
    for frames, reply in zip(encoded[golden.name], read_by_julia[golden.name], strict=True):
        assert (frames == golden.frames) or not golden.said["reencodes"]
        header, arrays = wire.decode(frames)
        assert same(header, golden.header)
        assert same_arrays(arrays, golden.arrays)
        message, arrays = protocol.decode(frames, expected=ALL.values())
        assert msgspec.msgpack.encode(message) == msgspec.msgpack.encode(message_of(golden))
        assert same_arrays(arrays, golden.arrays)
        # Python writes floats of 32 bits in 64.
        assert reply["header_is_right"] or "$float32" in golden.text
        assert reply["arrays_are_right"]


# --- rules ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("golden", RULES, ids=str)
def test_the_largest_messages_are_taken_and_larger_ones_refused(golden: GoldenMessage, driver: Any):
    said, case = golden.said, {"text": golden.text, "frames": golden.frames}
    (in_julia,) = driver.ask("golden", cases=[case])
    if said["outcome"] == "refused":
        assert (in_julia["code"], in_julia["re"]) == (said["code"], said["re"])
        with pytest.raises(wire.WireError) as in_python:
            wire.decode(golden.frames)
        with pytest.raises(ProtocolError) as in_coordinator:
            protocol.decode(golden.frames, expected=ALL.values())
        for caught in (in_python, in_coordinator):
            assert (caught.value.code, caught.value.re) == (said["code"], said["re"])
        return
    header, arrays = wire.decode(golden.frames)
    described = (said["type"], said["id"], said["array_count"])
    assert (header["type"], header["id"], len(arrays)) == described
    assert (in_julia["type"], in_julia["id"], in_julia["array_count"]) == described
    assert written(wire.encode(header, arrays)) == golden.frames
    assert in_julia["is_written_again"]
    message, arrays = protocol.decode(golden.frames, expected=ALL.values())
    assert (type(message), message.id, len(arrays)) == (ALL[said["type"]], *described[1:])
    if said["plain"]:
        assert written(protocol.encode(message, arrays)) == golden.frames
