"""Julia's msgpack, headers, arrays and JSON against Python's, in both directions.

Every example is a list of cases, which one request takes to the Julia process and back.
"""

import json
import math
import re
import struct
from typing import Any, NoReturn

import hypothesis.extra.numpy as hnp
import msgpack
import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from rosetta_worker import wire

batched = settings(
    max_examples=25,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # a batch is too large to be shrunk
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False)
    | WORDS
    | st.binary(max_size=300)
    | st.builds(msgpack.ExtType, st.integers(0, 127), st.binary(max_size=20))
)
KEYS = WORDS | st.integers(2, 2**64 - 1) | st.none() | st.binary(max_size=4)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=20)
        | st.dictionaries(WORDS, inner, max_size=20)
        | st.dictionaries(KEYS, inner, max_size=4)
    ),
    max_leaves=30,
)


def unpacked(driver: Any, cases: list[bytes], max_depth: int = 16) -> list[dict[str, Any]]:
    return driver.ask("unpack", cases=cases, max_depth=max_depth)


def read_back(result: dict[str, Any]) -> Any:
    assert not result["too_deep"]
    return msgpack.unpackb(result["packed"], strict_map_key=False)


# --- msgpack --------------------------------------------------------------------------------------


@batched
@given(values=st.lists(VALUES, min_size=1, max_size=40))
def test_every_value_passes_both_ways(driver, values):
    data = [msgpack.packb(value) for value in values]
    expected = [msgpack.unpackb(each, strict_map_key=False) for each in data]
    assert list(map(read_back, unpacked(driver, data, max_depth=64))) == expected


@batched
@given(numbers=st.lists(st.floats(width=32, allow_nan=False), max_size=40))
def test_floats_of_32_bits_pass_both_ways(driver, numbers):
    data = [msgpack.packb(number, use_single_float=True) for number in numbers]
    assert [result["packed"] for result in unpacked(driver, data)] == data


WIDTHS = [
    *[(form, width) for form in ("B", "H", "I", "Q") for width in [struct.calcsize(form)]],
    *[(form, width) for form in ("b", "h", "i", "q") for width in [struct.calcsize(form)]],
]


def test_integers_of_every_width_are_the_same_number(driver):
    cases = {}
    for tag, (form, width) in enumerate(WIDTHS, 0xCC):
        signed = form.islower()
        top = 2 ** (8 * width - signed) - 1
        for number in {0, 3, 127, top, *([-1, -33, -top - 1] if signed else [])}:
            cases[bytes([tag]) + struct.pack(f">{form}", number)] = number
    assert list(map(read_back, unpacked(driver, list(cases)))) == list(cases.values())


@pytest.mark.parametrize("number", [0, 127, 128, 255, 256, 2**16, 2**32, 2**63, -1, -32, -33,
                                    -128, -129, -(2**15) - 1, -(2**31) - 1, -(2**63)])  # fmt: skip
def test_integers_are_written_in_their_shortest_form(driver, number):
    assert unpacked(driver, [msgpack.packb(number)])[0]["packed"] == msgpack.packb(number)


@pytest.mark.parametrize("size", [0, 1, 15, 16, 31, 32, 255, 256, 65535, 65536])
@pytest.mark.parametrize("kind", [b"x", "é", [0]], ids=["bin", "str", "array"])
def test_lengths_of_every_class_are_written_in_their_shortest_form(driver, kind, size):
    data = msgpack.packb(kind * size)
    assert unpacked(driver, [data])[0]["packed"] == data


def test_maps_of_every_class_pass(driver):
    maps = [{str(n): n for n in range(count)} for count in (0, 15, 16, 65535, 65536)]
    assert list(map(read_back, unpacked(driver, list(map(msgpack.packb, maps))))) == maps


def test_floats_that_are_no_numbers_stay_what_they_are(driver):
    data = [msgpack.packb(x) for x in (float("nan"), float("inf"), float("-inf"), -0.0)]
    assert [result["packed"] for result in unpacked(driver, data)] == data


def test_the_last_of_two_values_for_one_key_counts_as_in_python(driver):
    data = b"\x82\xa1a\x01\xa1a\x02"
    assert read_back(unpacked(driver, [data])[0]) == msgpack.unpackb(data) == {"a": 2}


TRUNCATED = [
    b"",
    b"\xc1",
    b"\x92\x01",
    b"\x81\xa1a",
    b"\xa2a",
    b"\xcb\0\0\0",
    b"\xc4\x05abc",
    b"\xd6\x01\0",
    b"\xda\xff\xffa",
    b"\x01\x02",
    b"\xa1\xff",  # not UTF-8
    b"\xa3\xed\xa0\x80",  # half of a surrogate pair
    b"\x81\x90\x01",  # a key that is a list
    *[bytes([tag]) + b"\xff\xff\xff\xff" + b"\xc0" * 9 for tag in (0xC6, 0xC9, 0xDB, 0xDD, 0xDF)],
]


@pytest.mark.parametrize("data", TRUNCATED, ids=[data.hex()[:20] or "empty" for data in TRUNCATED])
def test_what_is_not_one_whole_value_is_an_error_of_one_sentence(driver, data):
    (result,) = unpacked(driver, [data])
    assert set(result) == {"error"}
    assert "\n" not in result["error"]


def nested(depth: int, leaf: Any = 0) -> Any:
    return [nested(depth - 1, leaf)] if depth > 1 else [leaf]


def test_what_is_too_deep_is_passed_over_and_said(driver):
    inside = [1, {"a": [2]}, b"xy", "z", msgpack.ExtType(3, b"12345"), 1.5]
    deep = msgpack.packb([nested(20, inside), "after"])
    (result,) = unpacked(driver, [deep], max_depth=16)
    assert result["too_deep"]
    assert msgpack.unpackb(result["packed"])[1] == "after"
    bottomless = b"\x91" * 100_000 + b"\xc0"
    assert unpacked(driver, [bottomless])[0]["too_deep"]
    assert "error" in unpacked(driver, [bottomless[:-1]])[0]


# --- messages -------------------------------------------------------------------------------------

ARRAYS = st.dictionaries(
    WORDS,
    st.sampled_from(sorted(wire.DTYPES)).flatmap(
        lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, min_side=0, max_side=4))
    ),
    max_size=4,
)


UNKNOWN = st.dictionaries(WORDS.map("x_{}".format), VALUES, max_size=5)


def frames_of(header: dict[str, Any], arrays: dict[str, Any]) -> list[bytes]:
    return [bytes(memoryview(frame)) for frame in wire.encode(header, arrays)]


@batched
@given(messages=st.lists(st.tuples(ARRAYS, UNKNOWN), min_size=1, max_size=20))
def test_messages_pass_both_ways(driver, messages):
    named = {"type": "VALUES", "id": 2**63 - 1}
    sent = [(frames_of({**unknown, **named}, arrays)) for arrays, unknown in messages]
    for frames, result in zip(sent, driver.ask("decode", cases=sent), strict=True):
        header, arrays = wire.decode(frames)
        returned_header, returned = wire.decode(result["frames"])
        assert returned_header == header
        assert [(n, a.dtype, a.shape) for n, a in returned.items()] == [
            (n, a.dtype, a.shape) for n, a in arrays.items()
        ]
        assert result["frames"][1:] == frames[1:]


DAMAGED = frames_of(
    {"type": "BATCH", "id": 7, "step": 0, "z": {"a": [1, 2.5, None]}},
    {"x": np.zeros((2, 1), np.float32), "y": np.zeros(3, np.int64)},
)


@st.composite
def damaged(draw: st.DrawFn) -> list[bytes]:
    """A message of which a few bytes are others, more or fewer."""
    header, *frames = DAMAGED
    content = bytearray(header)
    for _ in range(draw(st.integers(0, 3))):
        start = draw(st.integers(0, len(content)))
        end = draw(st.integers(start, min(len(content), start + 4)))
        content[start:end] = draw(st.binary(max_size=4))
    return [bytes(content), *draw(st.permutations(frames))][: draw(st.integers(0, 3))]


def verdict(frames: list[bytes]) -> tuple[str, int | None]:
    try:
        header, _ = wire.decode(frames)
    except wire.WireError as error:
        return error.code, error.re
    return "taken", header["id"]


@settings(batched, max_examples=60)
@given(cases=st.lists(damaged() | st.lists(st.binary(max_size=40), max_size=3), max_size=40))
def test_both_runtimes_take_and_refuse_the_same_damaged_messages(driver, cases):
    for frames, result in zip(cases, driver.ask("decode", cases=cases), strict=True):
        if "code" in result:
            assert (result["code"], result["re"]) == verdict(frames)
        else:
            assert ("taken", result["header"]["id"]) == verdict(frames)


SENTENCES = [
    [],
    [msgpack.packb([1])[:0], b""],
    [msgpack.packb({"type": "END"})],
    [msgpack.packb({"type": "END", "id": 1, "arrays": {}})],
    [msgpack.packb({"type": "END", "id": 1}), b"x"],
    *[
        [msgpack.packb({"type": "END", "id": 1, "arrays": [array, array]}), b"1234", b"1234"]
        for array in (
            {"name": "x", "dtype": "float16", "shape": [1]},
            {"name": "x", "dtype": 5, "shape": [1]},
            {"name": "x", "dtype": "float32", "shape": [1, -1]},
            {"name": "x", "dtype": "float32", "shape": [2**31, 2**31]},
            {"name": "x", "dtype": "float32", "shape": [2, 2]},
            {"name": "x", "dtype": "float32", "shape": [1]},
            {"dtype": "float32", "shape": [1]},
        )
    ],
]


def test_both_runtimes_refuse_in_the_same_words(driver):
    results = driver.ask("decode", cases=SENTENCES)
    for frames, result in zip(SENTENCES, results, strict=True):
        with pytest.raises(wire.WireError) as caught:
            wire.decode(frames)
        if "not msgpack" not in caught.value.sentence:  # the libraries' own words
            assert result["sentence"] == caught.value.sentence


@pytest.mark.parametrize("depth", [1, 14, 15])
def test_unknown_keys_are_skipped_up_to_the_depth_that_is_allowed(driver, depth):
    header = {"type": "END", "id": 7, "z": nested(depth)[0], 5: "not a text", b"x": None}
    (result,) = driver.ask("decode", cases=[[msgpack.packb(header)]])
    assert result["header"]["id"] == 7


# --- JSON -----------------------------------------------------------------------------------------

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | WORDS
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(WORDS, inner, max_size=5),
    max_leaves=20,
)  # fmt: skip


@batched
@given(values=st.lists(JSON, min_size=1, max_size=30), ascii_only=st.booleans(),
       indent=st.none() | st.integers(0, 2))  # fmt: skip
def test_json_is_read_as_python_reads_it(driver, values, ascii_only, indent):
    texts = [json.dumps(value, ensure_ascii=ascii_only, indent=indent) for value in values]
    assert [result["value"] for result in driver.ask("parse_json", cases=texts)] == values


NOT_JSON = [
    "", " ", "{", "[1,]", "[1 2]", '{"a"}', '{"a":1,}', "{1:2}", "tru", "nul", "NaN", "Infinity",
    "01", "1.", ".5", "+1", "-", "1e", "0x1", '"', '"\\x"', '"\\u12"', '"\\ud800"', '"\\udc00"',
    '"\\ud800\\u0041"', '"a\nb"', "'a'", "1 2", "[]]", "\ufeff{}", "[" * 100 + "]" * 100, "\0",
]  # fmt: skip


@pytest.mark.parametrize("text", NOT_JSON)
def test_what_is_not_json_is_an_error_of_one_sentence(driver, text):
    (result,) = driver.ask("parse_json", cases=[text])
    assert set(result) == {"error"}
    assert "\n" not in result["error"]


def strictly(text: str) -> Any:
    def refuse(word: str) -> NoReturn:
        raise ValueError(word)

    def in_range(word: str) -> float:
        number = float(word)
        vanished = number == 0 and re.search("^[^e]*[1-9]", word.lower())
        return refuse(word) if math.isinf(number) or vanished else number

    return json.loads(text, parse_constant=refuse, parse_float=in_range)


@batched
@given(cases=st.lists(st.tuples(JSON, st.integers(0, 99), st.sampled_from('{}[]",:e-.0\\ \t')),
                      max_size=40))  # fmt: skip
def test_damaged_json_is_refused_where_python_refuses_it(driver, cases):
    texts = []
    for value, position, character in cases:
        text = json.dumps(value, ensure_ascii=False)
        texts.append(text[: position % len(text)] + character + text[position % len(text) :])
    for text, result in zip(texts, driver.ask("parse_json", cases=texts), strict=True):
        try:
            expected = strictly(text)
        except ValueError:
            assert "error" in result, text
        else:
            assert result["value"] == expected, text
