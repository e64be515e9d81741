"""Every message of protocol 1.0, as typed structs.

The field descriptions here become the JSON Schemas in `protocol/schema/messages/`; SPEC section 6
lists the same fields, and a test holds the three together.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from rosetta.protocol.limits import (
    MAX_DIMENSIONS,
    MAX_FRAME_BYTES,
    MAX_FRAMES,
    MAX_MAP,
    MAX_TEXT,
    MAX_WORD,
)

VERSION = "1.0"

DTYPES = ("uint8", "int32", "int64", "float32", "float64")


class ProtocolError(Exception):
    """A message that breaks the protocol. `code` is one of the spec's error codes."""

    def __init__(self, code: str, sentence: str, re: int | None = None) -> None:
        super().__init__(sentence)
        self.code = code
        self.sentence = sentence
        self.re = re


class UnknownMessageError(ProtocolError):
    """A message of a type that this version doesn't know: to be ignored."""


Id = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Nanoseconds = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Text = Annotated[str, Meta(max_length=MAX_TEXT)]
Word = Annotated[str, Meta(max_length=MAX_WORD)]
Words = Annotated[list[Word], Meta(max_length=MAX_MAP)]
TextMap = Annotated[dict[Word, Text], Meta(max_length=MAX_MAP)]


class Array(Struct, frozen=True, omit_defaults=True):
    """Describes one array: a frame of the message, or memory that is shared."""

    name: Annotated[str, Meta(max_length=256, description="what the array is")]
    dtype: Annotated[
        Literal["uint8", "int32", "int64", "float32", "float64"],
        Meta(description="element type, little-endian"),
    ]
    shape: Annotated[
        list[Annotated[int, Meta(ge=0, le=MAX_FRAME_BYTES)]],
        Meta(max_length=MAX_DIMENSIONS, description="lengths of the axes, C order"),
    ]
    offset_bytes: Annotated[
        Id | None, Meta(description="where it lies in shared memory; absent: it is a frame")
    ] = None


ArrayList = Annotated[list[Array], Meta(max_length=MAX_FRAMES - 1)]


class Shared(Struct, frozen=True):
    """The file that the `shm` plane's arrays lie in."""

    path: Annotated[Text, Meta(description="where the worker can open it")]
    size_bytes: Annotated[Id, Meta(description="its size")]


class ParameterShape(Struct, frozen=True):
    """A parameter as the worker built it."""

    name: Annotated[str, Meta(max_length=256, description="canonical name")]
    shape: Annotated[
        list[Annotated[int, Meta(ge=0, le=MAX_FRAME_BYTES)]],
        Meta(max_length=MAX_DIMENSIONS, description="canonical shape"),
    ]


class Message(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type"):
    """What every header has."""

    id: Annotated[Id, Meta(description="number of this message, unique per sender and session")]


class Answer(Message, frozen=True, kw_only=True):
    """A message that answers another one."""

    re: Annotated[Id, Meta(description="`id` of the message that this one answers")]


# --- from the worker ------------------------------------------------------------------------------


class Hello(Message, frozen=True, kw_only=True, tag="HELLO"):
    """The worker's greeting: its first message, and what it can do."""

    protocol: Annotated[str, Meta(pattern=r"^[0-9]{1,4}\.[0-9]{1,4}$", description="`1.0`")]
    run: Annotated[Word, Meta(description="run id, from the connection file")]
    key: Annotated[Word, Meta(description="key, from the connection file")]
    worker: Annotated[Word, Meta(description="worker name, from the connection file")]
    pid: Annotated[int, Meta(ge=0, le=2**31 - 1, description="process id of the worker")]
    host: Annotated[Word, Meta(description="host name of the worker")] = ""
    language: Annotated[Word, Meta(description="programming language, e.g. `python`")]
    language_version: Annotated[Word, Meta(description="its version")]
    framework: Annotated[Word, Meta(description="framework, e.g. `PyTorch`")]
    framework_version: Annotated[Word, Meta(description="its version")]
    versions: Annotated[TextMap, Meta(description="versions of whatever matters, by name")] = {}
    device: Annotated[Word, Meta(description="`cpu`, `cuda`, `cuda:1` …")]
    threads: Annotated[int, Meta(ge=1, le=65536, description="threads a step computes with")]
    tasks: Annotated[Words, Meta(description="names of the tasks it can do")]
    dtypes: Annotated[Words, Meta(description="element types it accepts")]
    planes: Annotated[Words, Meta(description="data planes it can use: `inline`, `shm`")]
    forms: Annotated[
        TextMap,
        Meta(description="what the framework computes differently: `adam`, `gru` (section 9)"),
    ] = {}
    disclosures: Annotated[
        TextMap, Meta(description="precision, kernels, layout, … as text, by name")
    ] = {}


class Ready(Answer, frozen=True, kw_only=True, tag="READY"):
    """Answers SETUP: the network stands and holds the initial parameters."""

    parameter_count: Annotated[int, Meta(ge=0, description="trainable scalars")]
    parameters: Annotated[
        list[ParameterShape],
        Meta(max_length=MAX_FRAMES, description="canonical names and shapes, in order"),
    ]
    threads: Annotated[int, Meta(ge=1, le=65536, description="threads a step computes with")]
    setup_ns: Annotated[Nanoseconds, Meta(description="time to build the network")]


class Result(Answer, frozen=True, kw_only=True, tag="RESULT"):
    """Answers BATCH: one training step is done."""

    step: Annotated[int, Meta(ge=0, description="the batch's `step`")]
    loss: Annotated[float, Meta(description="mean loss of the batch, before this step's update")]
    wait_ns: Annotated[Nanoseconds, Meta(description="time spent waiting for the batch")]
    copy_ns: Annotated[Nanoseconds, Meta(description="host to framework or device")]
    step_ns: Annotated[
        Nanoseconds, Meta(description="forward, loss, backward, update, synchronised")
    ]
    forward_ns: Annotated[
        Nanoseconds | None, Meta(description="part of `step_ns`, where it can be told")
    ] = None
    backward_ns: Annotated[
        Nanoseconds | None, Meta(description="part of `step_ns`, where it can be told")
    ] = None


class Predictions(Answer, frozen=True, kw_only=True, tag="PREDICTIONS"):
    """Answers PREDICT with one array `logits`, float32 (batch, classes)."""

    arrays: Annotated[ArrayList, Meta(description="`logits`")]
    wait_ns: Annotated[Nanoseconds, Meta(description="time spent waiting for the batch")]
    copy_ns: Annotated[Nanoseconds, Meta(description="host to framework or device")]
    predict_ns: Annotated[Nanoseconds, Meta(description="forward, synchronised")]


class Values(Answer, frozen=True, kw_only=True, tag="VALUES"):
    """Answers PARAMETERS with every parameter, float32, canonical names, shapes and order."""

    arrays: Annotated[ArrayList, Meta(description="the parameters")]


class Ended(Answer, frozen=True, kw_only=True, tag="ENDED"):
    """Answers END: the network is gone, the next SETUP may come."""


# --- from the coordinator -------------------------------------------------------------------------


class Welcome(Answer, frozen=True, kw_only=True, tag="WELCOME"):
    """Answers HELLO: the worker is taken."""

    protocol: Annotated[str, Meta(description="the coordinator's version")]
    credit: Annotated[int, Meta(ge=1, le=1024, description="most batches under way at once")]
    reconnect_ns: Annotated[
        Nanoseconds, Meta(description="how long to wait for a coordinator that went away")
    ]
    shm: Annotated[
        Shared | None, Meta(description="the file of the `shm` plane, where that is used")
    ] = None


class Refuse(Answer, frozen=True, kw_only=True, tag="REFUSE"):
    """Answers HELLO: the worker is not taken, and exits with status 1."""

    code: Annotated[Word, Meta(description="error code")]
    reason: Annotated[Text, Meta(description="one sentence")]


class Setup(Message, frozen=True, kw_only=True, tag="SETUP"):
    """Build this network with these parameters."""

    task: Annotated[dict[str, Any], Meta(description="content of the task file, overrides applied")]
    batch_size: Annotated[int, Meta(ge=1, description="samples of a usual batch")]
    seed: Annotated[int, Meta(ge=0, le=2**31 - 1, description="seed for dropout masks")]
    dropout: Annotated[bool, Meta(description="false: every dropout layer is the identity")]
    threads: Annotated[int, Meta(ge=1, le=65536, description="threads a step computes with")]
    arrays: Annotated[ArrayList, Meta(description="every parameter of the task, in order")]


class Batch(Message, frozen=True, kw_only=True, tag="BATCH"):
    """Train one step on this batch."""

    step: Annotated[int, Meta(ge=0, description="number of the step since SETUP, from 0")]
    learning_rate: Annotated[
        Annotated[float, Meta(ge=0, le=1e6)] | None,
        Meta(description="the learning rate from this step on; absent: as before"),
    ] = None
    arrays: Annotated[ArrayList, Meta(description="`inputs`, `labels`")]


class Predict(Message, frozen=True, kw_only=True, tag="PREDICT"):
    """Compute the logits of these inputs, as at prediction time."""

    arrays: Annotated[ArrayList, Meta(description="`inputs`")]


class Parameters(Message, frozen=True, kw_only=True, tag="PARAMETERS"):
    """Send the present values of all parameters."""


class End(Message, frozen=True, kw_only=True, tag="END"):
    """This task is over: free the network."""


# --- both ways ------------------------------------------------------------------------------------


class Bye(Message, frozen=True, kw_only=True, tag="BYE"):
    """From the coordinator: leave. From the worker: its last message."""

    re: Annotated[Id | None, Meta(description="the BYE that is answered (worker only)")] = None


class Error(Message, frozen=True, kw_only=True, tag="ERROR"):
    """Something went wrong."""

    re: Annotated[Id | None, Meta(description="the message that caused it, when known")] = None
    code: Annotated[Word, Meta(description="error code")]
    message: Annotated[Text, Meta(description="one sentence")]
    fatal: Annotated[bool, Meta(description="true: the sender can't go on and leaves")]


FROM_WORKER = (Hello, Ready, Result, Predictions, Values, Ended, Bye, Error)
FROM_COORDINATOR = (Welcome, Refuse, Setup, Batch, Predict, Parameters, End, Bye, Error)


def type_of(kind: type[Message]) -> str:
    """The `type` of a message class, e.g. `BATCH`."""
    return str(kind.__struct_config__.tag)


ALL: dict[str, type[Message]] = {type_of(kind): kind for kind in FROM_WORKER + FROM_COORDINATOR}
