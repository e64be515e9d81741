"""The JSON Schemas say what the code says: of every message, on both sides of every bound."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any

import msgpack
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from msgspec import inspect

from rosetta import tasks
from rosetta.protocol import ProtocolError, decode, encode, messages
from rosetta.protocol.limits import MAX_FRAME_BYTES
from rosetta.protocol.schema import SCHEMA_FOLDER
from rosetta_worker import wire

SCRIPT = Path(__file__).parents[2] / "scripts" / "make-schemas"
ITEM_BYTES = {"uint8": 1, "int32": 4, "int64": 8, "float32": 4, "float64": 8}

Header = dict[str, Any]

every_message = pytest.mark.parametrize("name", messages.ALL)


def schema_of(name: str) -> Draft202012Validator:
    path = SCHEMA_FOLDER / "messages" / f"{name.lower()}.json"
    return Draft202012Validator(json.loads(path.read_text(encoding="utf-8")))


def frames_of(header: Header) -> list[bytes]:
    """The header and frames of zeros, as long as its `arrays` say."""
    described = header.get("arrays", [])
    sizes = [math.prod(array["shape"]) * ITEM_BYTES[array["dtype"]] for array in described]
    return [msgpack.packb(header), *(bytes(size) for size in sizes)]


# --- the files ------------------------------------------------------------------------------------


def make_schemas(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_schema_files_are_what_the_code_says() -> None:
    check = make_schemas("--check")
    assert (check.returncode, check.stderr) == (0, "")


def test_a_schema_that_differs_is_named_and_made_anew(tmp_path: Path) -> None:
    make_schemas("--folder", str(tmp_path))
    assert make_schemas("--check", "--folder", str(tmp_path)).returncode == 0
    (tmp_path / "messages" / "batch.json").write_text("{}")
    (tmp_path / "task.json").unlink()
    (tmp_path / "messages" / "old.json").write_text("{}")

    check = make_schemas("--check", "--folder", str(tmp_path))
    assert check.returncode == 1
    named = [Path(line.split(" differs")[0]).name for line in check.stderr.splitlines()]
    assert named == ["batch.json", "old.json", "task.json"]

    make_schemas("--folder", str(tmp_path))
    assert make_schemas("--check", "--folder", str(tmp_path)).returncode == 0


def test_every_schema_is_a_json_schema() -> None:
    loader = SourceFileLoader("make_schemas", str(SCRIPT))
    spec = spec_from_loader(loader.name, loader)
    assert spec is not None
    script = module_from_spec(spec)
    loader.exec_module(script)
    schemas = script.schemas()
    assert {f"messages/{name.lower()}.json" for name in messages.ALL} < schemas.keys()
    for schema in schemas.values():
        Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize("name", tasks.names())
def test_a_task_as_it_travels_is_valid(name: str) -> None:
    schema = json.loads((SCHEMA_FOLDER / "task.json").read_text(encoding="utf-8"))
    Draft202012Validator(schema).validate(tasks.load(name).to_wire())


# --- what is valid --------------------------------------------------------------------------------

numbers = st.floats(allow_nan=False)  # NaN equals nothing; it has a test of its own
plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | numbers | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
small_arrays = st.lists(
    st.fixed_dictionaries(
        {
            "name": st.text(max_size=256),
            "dtype": st.sampled_from(messages.DTYPES),
            "shape": st.lists(st.integers(0, 3), max_size=8).filter(lambda s: math.prod(s) < 1000),
        }
    ),
    max_size=4,
    unique_by=lambda array: array["name"],
)


def values(kind: inspect.Type) -> st.SearchStrategy[Any]:
    """Values of a msgspec type, up to its bounds; collections stay small."""
    match kind:
        case inspect.Metadata(type=inner):
            return values(inner)
        case inspect.IntType(ge=low, le=high):
            return st.integers(low, high if high is not None else 2**63 - 1)
        case inspect.FloatType(ge=low, le=high) if low is not None:
            return st.floats(low, high)
        case inspect.FloatType():
            return numbers
        case inspect.BoolType():
            return st.booleans()
        case inspect.NoneType():
            return st.none()
        case inspect.StrType(pattern=str() as pattern):
            return st.from_regex(pattern, fullmatch=True).filter(lambda s: not s.endswith("\n"))
        case inspect.StrType(max_length=longest):
            return st.text(max_size=longest)
        case inspect.UnionType(types=kinds):
            return st.one_of([values(each) for each in kinds])
        case inspect.ListType(item_type=item):
            return small_arrays if is_array(item) else st.lists(values(item), max_size=4)
        case inspect.DictType(value_type=inspect.AnyType()):
            return st.dictionaries(st.text(), plain, max_size=4)
        case inspect.DictType(key_type=key, value_type=value):
            return st.dictionaries(values(key), values(value), max_size=4)
        case inspect.StructType(fields=fields):
            required = {f.encode_name: values(f.type) for f in fields if f.required}
            optional = {f.encode_name: values(f.type) for f in fields if not f.required}
            return st.fixed_dictionaries(required, optional=optional)
    raise AssertionError(f"no strategy for {kind}")


def is_array(kind: inspect.Type) -> bool:
    return isinstance(kind, inspect.StructType) and kind.cls is messages.Array


def headers(name: str) -> st.SearchStrategy[Header]:
    struct = inspect.type_info(messages.ALL[name])
    return values(struct).map(lambda fields: {"type": name, **fields})


@every_message
@given(data=st.data())
def test_what_the_schema_allows_is_read_and_written_again(name: str, data: st.DataObject) -> None:
    header = data.draw(headers(name))
    kind = messages.ALL[name]
    schema_of(name).validate(header)
    message, arrays = decode(frames_of(header), expected=[kind])
    for field, value in header.items():
        if field != "type":
            assert msgspec.to_builtins(getattr(message, field)) == value
    frames = encode(message, arrays)
    schema_of(name).validate(msgpack.unpackb(frames[0]))
    again, arrays_again = decode(frames, expected=[kind])
    assert encode(again, arrays_again) == frames
    assert [array.shape for array in arrays.values()] == [
        tuple(array["shape"]) for array in header.get("arrays", [])
    ]


@every_message
@given(data=st.data())
def test_the_workers_runtime_reads_the_same(name: str, data: st.DataObject) -> None:
    header = data.draw(headers(name))
    frames = frames_of(header)
    read, arrays = wire.decode(frames)
    assert read == header
    assert list(arrays) == [array["name"] for array in header.get("arrays", [])]


@every_message
@given(data=st.data(), key=st.text(min_size=1), value=plain)
def test_an_unknown_key_is_skipped(name: str, data: st.DataObject, key: str, value: Any) -> None:
    header = data.draw(headers(name))
    kind = messages.ALL[name]
    if key in ("type", "arrays", *kind.__struct_encode_fields__):
        return
    message, _ = decode(frames_of(header), expected=[kind])
    with_key, _ = decode(frames_of({**header, key: value}), expected=[kind])
    schema_of(name).validate({**header, key: value})
    assert with_key == message


@pytest.mark.parametrize("loss", [math.nan, math.inf, -math.inf, 0])
def test_a_loss_is_any_number_in_32_or_64_bits(loss: float) -> None:
    header = {**valid_header("RESULT"), "loss": loss}
    schema_of("RESULT").validate(header)
    for packed in (msgpack.packb(header), msgpack.packb(header, use_single_float=True)):
        message, _ = decode([packed], expected=[messages.Result])
        assert isinstance(message, messages.Result)
        assert isinstance(message.loss, float)
        assert message.loss == loss or math.isnan(loss)


# --- what isn't -----------------------------------------------------------------------------------


def smallest(kind: inspect.Type) -> Any:
    """A valid value of a msgspec type."""
    match kind:
        case inspect.Metadata(type=inner):
            return smallest(inner)
        case inspect.IntType(ge=low):
            return low or 0
        case inspect.StrType(pattern=pattern):
            return "1.0" if pattern else ""
        case inspect.LiteralType(values=allowed):
            return allowed[0]
        case inspect.UnionType():
            return None
        case inspect.FloatType():
            return 0.5
        case inspect.BoolType():
            return False
        case inspect.ListType():
            return []
        case inspect.StructType(fields=fields):
            return {f.encode_name: smallest(f.type) for f in fields if f.required}
    return {}


def wrong(kind: inspect.Type) -> list[Any]:
    """Values just beyond every bound of a msgspec type, and values of other types."""
    match kind:
        case inspect.Metadata(type=inner):
            return wrong(inner)
        case inspect.IntType(ge=low, le=high):
            beyond = [] if high is None else [high + 1]
            return [(low or 0) - 1, *beyond, True, "1", None, 1.5]
        case inspect.FloatType():
            return ["1", None, True]
        case inspect.BoolType():
            return [0, "true", None]
        case inspect.StrType(pattern=str()):
            return ["1", "1.", "v1.0", "1.0.0", "12345.0", 1.0]
        case inspect.StrType(max_length=longest):
            return [7, None, *([] if longest is None else ["x" * (longest + 1)])]
        case inspect.LiteralType():
            return ["float16", ">f4", 7, None]
        case inspect.UnionType(types=kinds):
            inner = next(k for k in kinds if not isinstance(k, inspect.NoneType))
            return [value for value in wrong(inner) if value is not None]
        case inspect.ListType(item_type=item, max_length=longest):
            bad_items = [[bad] for bad in wrong(item)]
            return [*bad_items, [smallest(item)] * ((longest or 0) + 1), {}, None, "x"]
        case inspect.DictType(value_type=inspect.AnyType()):
            return [[], None, "x"]
        case inspect.DictType(key_type=key, value_type=value, max_length=longest):
            too_many = {str(i): "" for i in range((longest or 0) + 1)}
            bad_keys = [{bad: ""} for bad in wrong(key) if isinstance(bad, str)]
            return [*bad_keys, *({"k": bad} for bad in wrong(value)), too_many, [], None]
        case inspect.StructType(fields=fields):
            good = smallest(kind)
            needed = [f.encode_name for f in fields if f.required]
            lacking = [{k: v for k, v in good.items() if k != name} for name in needed]
            bad = [{**good, f.encode_name: value} for f in fields for value in wrong(f.type)]
            return [*lacking, *bad, 7, None]
    raise AssertionError(f"nothing wrong for {kind}")


def mistakes() -> list[Any]:
    cases = []
    for name, kind in messages.ALL.items():
        struct = inspect.type_info(kind)
        assert isinstance(struct, inspect.StructType)
        for field in struct.fields:
            for number, value in enumerate(wrong(field.type)):
                label = f"{name}.{field.encode_name}-{number}"
                cases.append(pytest.param(name, field.encode_name, value, id=label))
    return cases


def valid_header(name: str) -> Header:
    return {"type": name, **smallest(inspect.type_info(messages.ALL[name]))}


@pytest.mark.parametrize(("name", "field", "value"), mistakes())
def test_what_is_out_of_bounds_is_refused_by_both(name: str, field: str, value: Any) -> None:
    header = {**valid_header(name), field: value}
    assert not schema_of(name).is_valid(header)
    with pytest.raises(ProtocolError) as refusal:
        decode([msgpack.packb(header)], expected=[messages.ALL[name]])
    assert refusal.value.code == "bad_header"


@every_message
def test_a_message_without_a_required_field_is_refused_by_both(name: str) -> None:
    whole = valid_header(name)
    schema_of(name).validate(whole)
    decode([msgpack.packb(whole)], expected=[messages.ALL[name]])
    for field in whole:
        header = {key: value for key, value in whole.items() if key != field}
        assert not schema_of(name).is_valid(header)
        with pytest.raises(ProtocolError):
            decode([msgpack.packb(header)], expected=[messages.ALL[name]])


def test_the_longest_axis_is_within_the_bounds() -> None:
    array = {"name": "x", "dtype": "uint8", "shape": [MAX_FRAME_BYTES, 0]}
    header = {**valid_header("PREDICT"), "arrays": [array]}
    schema_of("PREDICT").validate(header)
    _, arrays = decode([msgpack.packb(header), b""], expected=[messages.Predict])
    assert arrays["x"].shape == (MAX_FRAME_BYTES, 0)
