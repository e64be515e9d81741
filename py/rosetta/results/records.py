"""The records of a run, as its files hold them. JSON Schemas: `protocol/schema/results/`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

Phase = Literal["first", "warmup", "timed"]
RowStatus = Literal["ok", "skipped", "failed", "crashed", "timeout", "interrupted"]
Proof = Literal["same", "different", "unproved"]
Nanoseconds = Annotated[int, Meta(ge=0, description="nanoseconds")]
_MOST = 2**63 - 1
OfStep = Annotated[int, Meta(ge=0, le=_MOST, description="nanoseconds")]
"""As the protocol has it; a sum of two may be more."""


class Step(Struct, frozen=True, kw_only=True):
    """One line of `steps.jsonl`: one batch of one worker, written when its RESULT came."""

    task: str
    worker: str
    step: Annotated[int, Meta(ge=0, le=_MOST, description="number of the step in the task, from 0")]
    phase: Annotated[Phase, Meta(description="only `timed` steps count in the summary's times")]
    block: Annotated[
        int, Meta(ge=0, le=_MOST, description="number of the block that the step was in")
    ]
    attempt: Annotated[
        int, Meta(ge=1, description="2 and more after --resume: a task's last attempt counts")
    ] = 1
    repeat: Annotated[
        int, Meta(ge=1, le=_MOST, description="the how many-th training in fresh processes, from 1")
    ] = 1
    loss: Annotated[float | None, Meta(description="null when it is not a finite number")]
    wait_ns: OfStep
    copy_ns: OfStep
    step_ns: OfStep
    forward_ns: OfStep | None = None
    backward_ns: OfStep | None = None


class Evaluation(Struct, frozen=True, kw_only=True):
    """Accuracy on test samples at one point of the training, from the worker's raw logits."""

    after_step: Annotated[int, Meta(ge=0, description="steps trained before it")]
    samples: Annotated[int, Meta(ge=1, description="test samples")]
    accuracy: Annotated[float, Meta(ge=0, le=1)]


class ProofMeasurement(Struct, frozen=True, kw_only=True):
    """One quantity of the proof; it passes where the deviation is at most the tolerance."""

    quantity: str
    deviation: Annotated[float | None, Meta(description="null when it is not a finite number")]
    tolerance: float


class Row(Struct, frozen=True, kw_only=True):
    """The result of one worker on one task."""

    worker: str
    task: str
    data: Annotated[str, Meta(description="data set, as tables show it")]
    device: str
    threads: int
    plane: Annotated[Literal["inline", "shm"] | None, Meta(description="how the batches came")] = (
        None
    )
    status: RowStatus
    reason: Annotated[str | None, Meta(description="why the status isn't `ok`, one sentence")] = (
        None
    )
    proof: Proof = "unproved"
    proof_detail: str | None = None
    proof_measurements: list[ProofMeasurement] = []
    harness: Annotated[bool, Meta(description="measures the harness; is no framework")] = False
    tuned: Annotated[bool, Meta(description="more than the framework's own idiom")] = False
    forward_only: Annotated[
        bool, Meta(description="the task trains nothing: a step is one batch of features")
    ] = False
    steps: Annotated[int, Meta(ge=0, description="steps that were trained")] = 0
    timed_steps: Annotated[int, Meta(ge=0, description="of these, the ones in the times")] = 0
    repeats: Annotated[int, Meta(ge=1, description="trainings in fresh processes, in all")] = 1
    batch_size: int = 0
    samples_per_s: float | None = None
    step_ns_median: Nanoseconds | None = None
    step_ns_mad: Nanoseconds | None = None
    step_ns_p90: Annotated[
        Nanoseconds | None, Meta(description="null with fewer than 64 timed steps")
    ] = None
    step_ns_p99: Annotated[
        Nanoseconds | None, Meta(description="null with fewer than 662 timed steps")
    ] = None
    cpu_ns_per_step: Annotated[
        Nanoseconds | None,
        Meta(description="processor time of all its threads, seen from outside; the mean"),
    ] = None
    peak_share: Annotated[
        float | None,
        Meta(description="operations the task needs a second, of the machine's matrix peak"),
    ] = None
    wait_ns_median: Nanoseconds | None = None
    copy_ns_median: Nanoseconds | None = None
    first_step_ns: Annotated[
        Nanoseconds | None, Meta(description="copy and step; the median of the repeats'")
    ] = None
    setup_ns: Annotated[Nanoseconds | None, Meta(description="of the last repeat")] = None
    ratio: Annotated[
        float | None, Meta(description="samples/s relative to the baseline's, same blocks")
    ] = None
    ratio_interval: Annotated[
        tuple[float, float] | None, Meta(description="95 % bootstrap interval of `ratio`")
    ] = None
    accuracy: Annotated[float | None, Meta(description="after the last repeat")] = None
    evaluations: list[Evaluation] = []
    final_loss: float | None = None
    peak_memory_bytes: int | None = None
    peak_device_memory_bytes: Annotated[
        int | None, Meta(description="on a GPU, sampled between turns; null where it isn't known")
    ] = None
    framework: str | None = None
    framework_version: str | None = None
    language: str | None = None
    language_version: str | None = None
    forms: dict[str, str] = {}
    unusual_forms: Annotated[
        list[str], Meta(description="forms that differ from the usual one, and matter to the task")
    ] = []
    disclosures: dict[str, str] = {}


class Summary(Struct, frozen=True, kw_only=True):
    """`summary.json`."""

    format: Literal[1] = 1
    run: Annotated[str, Meta(description="run id")]
    state: Annotated[
        Literal["running", "complete", "interrupted"],
        Meta(description="`running`: the run still goes on, or its process was killed"),
    ]
    baseline: str | None = None
    matrix_peak_flops: Annotated[
        float | None,
        Meta(description="operations a second of float32 matrix products on the run's threads"),
    ] = None
    notes: Annotated[list[str], Meta(description="what a reader of the numbers must know")] = []
    missing: Annotated[list[str], Meta(description="what an incomplete run lacks")] = []
    resumed: Annotated[list[str], Meta(description="when it was gone on with: UTC, ISO 8601")] = []
    unwritten: Annotated[
        str | None, Meta(description="why a file that was asked for beside these is missing")
    ] = None
    rows: list[Row] = []


class Run(Struct, frozen=True, kw_only=True):
    """`run.json`: everything that is needed to repeat the run."""

    format: Literal[1] = 1
    run: str
    rosetta: Annotated[str, Meta(description="version of Rosetta")]
    revision: Annotated[str | None, Meta(description="git revision of the checkout")] = None
    protocol: str
    started: Annotated[str, Meta(description="UTC, ISO 8601")]
    command: list[str]
    options: dict[str, Any]
    tasks: Annotated[
        dict[str, dict[str, Any]],
        Meta(description="by name: digest and content, overrides applied"),
    ]
    data: Annotated[dict[str, dict[str, Any]], Meta(description="by task: name, source, digests")]
    workers: Annotated[
        dict[str, dict[str, Any]], Meta(description="by name: status, lock digest, HELLO")
    ]
    environment: Annotated[
        dict[str, str], Meta(description="variables that are set alike for every worker")
    ]
    processors: Annotated[
        list[int], Meta(description="logical CPUs of every worker; empty: not bound to any")
    ] = []
    inherited: Annotated[
        dict[str, str], Meta(description="variables of the user's that change the speed")
    ] = {}
    machine: dict[str, Any]
