"""`harness.json`. Its JSON Schema: `protocol/schema/results/harness.json`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

Nanoseconds = Annotated[int, Meta(ge=0, description="nanoseconds")]
Interval = Annotated[
    list[float] | None,
    Meta(description="95 % bootstrap interval over blocks; null with fewer than five"),
]


class Overhead(Struct, frozen=True, kw_only=True):
    """A worker driven by the coordinator, against the same training in a plain script."""

    ratio: Annotated[
        float,
        Meta(description="samples/s seen from the coordinator, relative to the plain script's"),
    ]
    interval: Interval
    own_clock_ratio: Annotated[
        float, Meta(description="the same, from the worker's own copy_ns + step_ns")
    ]
    driven_samples_per_s: float
    plain_samples_per_s: float
    blocks: int
    steps_per_block: int
    loss_difference: Annotated[
        float,
        Meta(description="largest relative difference of the losses of the first steps: 0 or near"),
    ]


class Peer(Struct, frozen=True, kw_only=True):
    """Another way to bring the same bytes to as many processes, measured in the same blocks."""

    batches_per_s: float
    answered: Annotated[
        bool,
        Meta(description="each batch is answered, two are under way, as ours; or else streamed"),
    ] = False
    ratio: Annotated[float, Meta(description="our batches/s relative to the peer's")]
    interval: Interval


class Ceiling(Struct, frozen=True, kw_only=True):
    """Batches that reach every one of some `null` workers, and are answered by each."""

    batches_per_s: Annotated[
        float, Meta(description="a batch counts once, when all workers have answered it")
    ]
    copies: Annotated[
        float, Meta(description="time of a batch relative to one memcpy of it in the same blocks")
    ]
    peers: Annotated[dict[str, Peer], Meta(description="by name")]


class RoundTrip(Struct, frozen=True, kw_only=True):
    """A batch that is a header only, to a `null` worker and back, one under way at a time."""

    ratio: Annotated[float, Meta(description="our time relative to raw ROUTER/DEALER's")]
    interval: Interval
    round_trip_ns: Nanoseconds
    raw_ns: Nanoseconds


class Goal(Struct, frozen=True, kw_only=True):
    """What was wished for, and what came out."""

    name: str
    value: str
    interval: str = ""
    goal: str
    met: bool


class Harness(Struct, kw_only=True):
    """`harness.json`: all of it measured in one run on one machine."""

    format: Literal[1] = 1
    run: Annotated[str, Meta(description="run id")]
    rosetta: Annotated[str, Meta(description="version of Rosetta")]
    revision: Annotated[str | None, Meta(description="git revision of the checkout")] = None
    started: Annotated[str, Meta(description="UTC, ISO 8601")]
    quick: Annotated[bool, Meta(description="short series: for a first look only")]
    threads: Annotated[int, Meta(description="of the worker and of the plain script")]
    processors: Annotated[list[int], Meta(description="logical CPUs of both")] = []
    overhead: Annotated[
        dict[str, dict[str, Overhead]], Meta(description="by worker, then by task")
    ] = {}
    ceiling: Annotated[
        dict[str, dict[str, dict[str, Ceiling]]],
        Meta(description="by plane, then bytes of a batch's inputs, then number of workers"),
    ] = {}
    round_trip: RoundTrip | None = None
    memory_growth_bytes: Annotated[
        int | None, Meta(description="of the coordinator's resident memory, in `memory_steps`")
    ] = None
    memory_steps: Annotated[int | None, Meta(description="steps of a `null` worker")] = None
    goals: list[Goal] = []
    absent: Annotated[
        dict[str, str], Meta(description="what wasn't measured, and why, one sentence")
    ] = {}
    notes: Annotated[list[str], Meta(description="what a reader of the numbers must know")] = []
    machine: dict[str, Any]
