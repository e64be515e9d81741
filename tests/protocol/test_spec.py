"""SPEC.md is normative: what it says in tables and examples is what the code does."""

from __future__ import annotations

import ast
import dataclasses
import re
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

import rosetta_reference
from rosetta import tasks
from rosetta.coordinator import Deadlines, connection_file
from rosetta.coordinator.encryption import CurveKeys
from rosetta.coordinator.session import RECONNECT_NS
from rosetta.protocol import decode, encode, limits, messages
from rosetta.protocol.tape import FROM_COORDINATOR, read_tape
from rosetta.workers import reading
from rosetta.workers.description import Description, ProgramEnvironment
from rosetta_worker import recorded, wire

CHECKOUT = Path(__file__).parents[2]
SPEC = (CHECKOUT / "protocol" / "SPEC.md").read_text(encoding="utf-8")
SECTIONS = dict(
    re.findall(r"^#{2,3} ([0-9.]+?)\.? (?:.*\n)((?:(?!^#{2,3} [0-9]).*\n)*)", SPEC, re.MULTILINE)
)
STRUCTS: dict[str, Any] = {
    **messages.ALL,
    "Array": messages.Array,
    "ParameterShape": messages.ParameterShape,
    "Shared": messages.Shared,
}

Row = dict[str, str]


def tables(text: str) -> list[list[Row]]:
    """Every table of a Markdown text, as rows by column; back-quotes are taken off."""
    found = []
    for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        lines = [
            [cell.strip() for cell in line.strip("|\n").split("|")] for line in block.splitlines()
        ]
        head, _, *rows = lines
        assert all(len(row) == len(head) for row in rows), block
        found.append([dict(zip(head, (c.strip("`") for c in row), strict=True)) for row in rows])
    return found


def field_tables() -> dict[str, list[Row]]:
    """The table of fields of every message, and of the maps inside of messages."""
    headings = re.findall(r"^### (6\.[0-9]+) ([A-Z]+)$", SPEC, re.MULTILINE)
    found = {name: tables(SECTIONS[number])[0] for number, name in headings}
    found["Array"] = tables(SECTIONS["5"])[0]
    found["ParameterShape"] = tables(SECTIONS["6.5"])[1]
    found["Shared"] = tables(SECTIONS["5"])[1]
    return found


def properties(name: str) -> tuple[dict[str, Any], list[str]]:
    """Schemas of the fields of a message, and the names of the required ones."""
    kind = STRUCTS[name]
    schema = msgspec.json.schema(kind)["$defs"][kind.__name__]
    return {k: v for k, v in schema["properties"].items() if k != "type"}, schema["required"]


# --- fields ---------------------------------------------------------------------------------------


def test_every_message_has_a_section_and_every_section_a_message() -> None:
    assert set(field_tables()) == set(STRUCTS)
    listed = {row["message"] for row in tables(SECTIONS["6"])[0]}
    assert listed == set(messages.ALL)


@pytest.mark.parametrize("name", STRUCTS)
def test_the_table_has_the_fields_of_the_code(name: str) -> None:
    fields, required = properties(name)
    rows = field_tables()[name]
    assert [row["field"] for row in rows] == list(fields)
    for row in rows:
        assert row["presence"] == ("required" if row["field"] in required else "optional"), row
        assert (row["type"], row["bounds"]) == type_and_bounds(fields[row["field"]]), row
        assert (row["unit"] == "ns") == row["field"].endswith("_ns"), row
        assert row["meaning"]


def type_and_bounds(schema: dict[str, Any]) -> tuple[str, str]:
    """The words for a field's JSON Schema."""
    if "anyOf" in schema:
        (inner,) = (each for each in schema["anyOf"] if each != {"type": "null"})
        kind, bounds = type_and_bounds(inner)
        return f"{kind} or nil", bounds
    if schema.get("$ref") == "#/$defs/Shared":
        return "map (section 5)", "—"
    if "enum" in schema:
        assert sorted(schema["enum"]) == sorted(messages.DTYPES)
        return "text", "one of the five"
    match schema["type"]:
        case "integer":
            if "maximum" in schema:
                return "integer", f"{schema['minimum']} … {power(schema['maximum'])}"
            return "integer", f"≥ {schema['minimum']}"
        case "number" if "minimum" in schema:
            return "float", f"{schema['minimum']} … {schema['maximum']:.0f}"
        case "number":
            return "float", "—"
        case "boolean":
            return "boolean", "—"
        case "string" if "pattern" in schema:
            assert schema["pattern"] == r"^[0-9]{1,4}\.[0-9]{1,4}$"
            return "text", "two numbers of 1 to 4 digits with a dot between"
        case "string":
            return "text", f"≤ {schema['maxLength']} characters" if "maxLength" in schema else "—"
        case "object" if "maxProperties" in schema:
            return "map of texts", (
                f"≤ {schema['maxProperties']} keys of ≤ {schema['propertyNames']['maxLength']} "
                f"characters, values of ≤ {schema['additionalProperties']['maxLength']}"
            )
        case "object":
            return "map", "—"
    return list_and_bounds(schema)


def list_and_bounds(schema: dict[str, Any]) -> tuple[str, str]:
    item, entries = schema["items"], f"≤ {schema['maxItems']} entries"
    if "$ref" in item:
        where = {"#/$defs/Array": "section 5", "#/$defs/ParameterShape": "below"}[item["$ref"]]
        return f"list of maps ({where})", entries
    if item["type"] == "string":
        return "list of texts", f"{entries} of ≤ {item['maxLength']} characters"
    return "list of integers", f"{entries}, {item['minimum']} … {power(item['maximum'])} each"


def power(number: int) -> str:
    names = {2**31: "2^31", 2**31 - 1: "2^31 − 1", 2**63 - 1: "2^63 − 1"}
    return names.get(number, str(number))


# --- numbers and names ----------------------------------------------------------------------------


def constants(module: Any) -> dict[str, int]:
    return {name: value for name, value in vars(module).items() if name.startswith("MAX_")}


def test_the_limits_are_the_codes_on_both_sides() -> None:
    (stated,) = (table for table in tables(SECTIONS["4"]) if "number" in table[0])
    numbers = {row["name"]: int(row["number"]) for row in stated}
    assert numbers == constants(limits)
    of_workers = constants(wire)
    assert of_workers.items() <= numbers.items()
    assert len(of_workers) >= 5


def test_the_dtypes_are_the_codes_on_both_sides() -> None:
    (line,) = re.findall(r"`dtype` is one of (.*?):", SECTIONS["5"])
    stated = re.findall(r"`(\w+)`", line)
    assert stated == list(messages.DTYPES)
    assert set(stated) == set(wire.DTYPES)


def test_the_deadlines_are_the_coordinators() -> None:
    (stated,) = (table for table in tables(SECTIONS["7"]) if "deadline" in table[0])
    assert {row["deadline"]: float(row["seconds"]) for row in stated} == (
        dataclasses.asdict(Deadlines())
    )
    assert RECONNECT_NS == 10 * 10**9
    assert "the coordinator's default is 10 seconds" in " ".join(SECTIONS["7"].split())


def test_the_tolerances_of_recorded_answers_are_the_runtimes() -> None:
    (stated,) = (table for table in tables(SECTIONS["8"]) if "deviation" in table[0])
    numbers = {row["answer"]: re.findall(r"[0-9]e-[0-9]", row["at most"]) for row in stated}
    assert {kind: list(map(float, found)) for kind, found in numbers.items() if found} == {
        "RESULT": [recorded.FIRST_LOSS, recorded.LATER_LOSS, recorded.LATER_LOSS_ROUGH],
        "PREDICTIONS": [recorded.FIRST_LOGITS, recorded.LATER_LOGITS],
        "VALUES": [recorded.FIRST_CHANGE, recorded.LATER_CHANGE],
    }
    text = " ".join(SECTIONS["8"].split())
    assert f"losses from *n* = {recorded.STEPS_OF_LOSSES} on" in text
    assert f"`conv` layer from *n* = {recorded.STEPS_OF_LOSSES_ROUGH} on" in text
    assert f"predictions and parameters for *n* > {recorded.STEPS_OF_VALUES}" in text


def test_the_parameters_are_those_of_the_task_files() -> None:
    (stated,) = tables(SECTIONS["11"])
    for name in ("mlp", "cnn", "gru"):
        rows = [row for row in stated if row["task"] == name]
        shapes = [[int(axis) for axis in row["shape"].split(",")] for row in rows]
        parameters = tasks.load(name).parameters
        assert [row["parameter"] for row in rows] == [p.name for p in parameters]
        assert shapes == [p.shape for p in parameters]


def test_the_error_codes_are_those_of_the_code() -> None:
    (stated,) = (table for table in tables(SECTIONS["7"]) if "code" in table[0])
    used = {code for path in (CHECKOUT / "py").glob("rosetta*/**/*.py") for code in codes_in(path)}
    assert {row["code"] for row in stated} == used


def codes_in(path: Path) -> set[str]:
    """Error codes in a source file: what errors are raised with, refused with, or required by."""
    callers = {"ProtocolError", "UnknownMessageError", "WireError", "_refuse", "_require"}
    texts: list[str] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and name_of(node.func) in callers:
            arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
            texts += filter(None, map(text_of, arguments))
        if isinstance(node, ast.FunctionDef) and node.name in callers:
            texts += filter(None, map(text_of, node.args.defaults))
        if isinstance(node, ast.Constant) and re.fullmatch(r"bad_[a-z]+", str(node.value)):
            texts.append(str(node.value))
    return {text for text in texts if re.fullmatch(r"[a-z]+(_[a-z]+)*", text)}


def name_of(function: ast.expr) -> str:
    return getattr(function, "attr", getattr(function, "id", ""))


def text_of(node: ast.expr) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


# --- examples -------------------------------------------------------------------------------------


def dumps() -> dict[str, bytes]:
    """The hexdumps by their label, with offsets and characters checked."""
    found = {}
    for label, body in re.findall(r"^```hexdump (\S+)\n(.*?)^```", SPEC, re.MULTILINE | re.DOTALL):
        data = b"".join(bytes.fromhex(line[6:53]) for line in body.splitlines())
        assert body == hexdump(data), label
        found[label] = data
    return found


def hexdump(data: bytes) -> str:
    lines = []
    for offset in range(0, len(data), 16):
        piece = data[offset : offset + 16]
        shown = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in piece)
        lines.append(f"{offset:04x}  {piece.hex(' '):<47}  |{shown}|\n")
    return "".join(lines)


def example(name: str) -> list[bytes]:
    found = dumps()
    labels = [label for label in found if label.startswith(f"{name}.")]
    assert labels == [f"{name}.{position}" for position in range(len(labels))]
    return [found[label] for label in labels]


EXAMPLES = ("HELLO", "WELCOME", "SETUP", "READY", "BATCH", "RESULT")


def test_there_are_the_examples() -> None:
    assert {label.split(".")[0] for label in dumps()} == {*EXAMPLES, "TAPE"}


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_what_the_code_reads_and_writes(name: str) -> None:
    frames = example(name)
    message, arrays = decode(frames, expected=[messages.ALL[name]])
    header, arrays_of_worker = wire.decode(frames)
    assert {k: v.tolist() for k, v in arrays.items()} == (
        {k: v.tolist() for k, v in arrays_of_worker.items()}
    )
    if name in ("HELLO", "READY", "RESULT"):
        assert written(wire.encode(header, {})) == frames
    else:
        assert written(encode(message, arrays)) == frames


def written(frames: list[Any]) -> list[bytes]:
    return [memoryview(frame).tobytes() for frame in frames]


def test_the_examples_step_is_right() -> None:
    setup, parameters = decode(example("SETUP"), expected=[messages.Setup])
    ready, _ = decode(example("READY"), expected=[messages.Ready])
    _, batch = decode(example("BATCH"), expected=[messages.Batch])
    result, _ = decode(example("RESULT"), expected=[messages.Result])
    assert isinstance(setup, messages.Setup)
    assert isinstance(ready, messages.Ready)
    assert isinstance(result, messages.Result)
    msgspec.convert(setup.task, tasks.Task)
    assert ready.parameter_count == sum(array.size for array in parameters.values())
    assert [(p.name, p.shape) for p in ready.parameters] == [
        (name, list(array.shape)) for name, array in parameters.items()
    ]
    network = rosetta_reference.Network(
        setup.task, parameters, dtype=np.float64, dropout=True, seed=1, adam_form="torch"
    )
    loss = network.train_step(batch["inputs"], batch["labels"])
    assert result.loss == pytest.approx(loss, abs=1e-8)
    assert f"The loss is {result.loss}" in SECTIONS["6.16"]
    (stated,) = re.findall(r"After this step `fc2.bias` is \((.*)\)", SECTIONS["6.16"])
    bias = [float(number.replace("−", "-")) for number in stated.split(", ")]
    assert bias == pytest.approx(network.parameters()["fc2.bias"].tolist(), abs=1e-6)


def test_the_tape_is_a_tape(tmp_path: Path) -> None:
    path = tmp_path / "example.tape"
    path.write_bytes(dumps()["TAPE"])
    played = list(read_tape(path))
    assert [sender for sender, _ in played] == [FROM_COORDINATOR] * 2
    kinds = (messages.Welcome, messages.Bye)
    assert [type(decode(frames, expected=kinds)[0]) for _, frames in played] == list(kinds)


def test_the_connection_file_has_the_keys_that_are_written(tmp_path: Path) -> None:
    path = tmp_path / "connection.json"
    keys = CurveKeys("s", "p", "q")
    connection_file.write(
        path, endpoint="ipc:///x", run="r", key="k", worker="w", device="cpu", threads=1, curve=keys
    )
    written_keys = msgspec.json.decode(path.read_bytes()).keys()
    stated, _, placeholders = tables(SECTIONS["2"])
    assert [row["key"] for row in stated] == list(written_keys)
    (shown,) = re.findall(r"^```json\n(.*?)^```", SECTIONS["2"], re.MULTILINE | re.DOTALL)
    assert msgspec.json.decode(shown).keys() == written_keys - {"curve"}
    assert path.stat().st_mode & 0o777 == 0o600
    named = set(re.findall(r"\{(\w+)\}", " ".join(row["placeholder"] for row in placeholders)))
    assert named == reading._ARGV_PLACEHOLDERS | reading._TAPE_PLACEHOLDERS


def test_the_keys_of_a_worker_toml_are_those_that_are_read() -> None:
    _, described, _ = tables(SECTIONS["2"])
    needed, optional = (
        {key for row in described if row["there"] == there for key in row["key"].split("`, `")}
        for there in ("always", "optional")
    )
    required = {field.name for field in msgspec.structs.fields(Description) if field.required}
    assert needed == required
    assert needed | optional == {*Description.__struct_fields__, "workers"}
    (of_programs,) = (row["meaning"] for row in described if row["key"] == "environment")
    assert all(f"`{key}`" in of_programs for key in ProgramEnvironment.__struct_fields__)
