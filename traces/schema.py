"""The records of a trace set, as they lie on disk.

Times are integer nanoseconds. A run's clock starts at 0; a request's spans and tokens count from the request's
``intended_start_ns``. What is common to all spans of a type stands once, in the span-type table.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

SCHEMA_VERSION = 2

Kind = Literal["cpu", "gpu", "wait", "network"]
Clock = Literal["client", "server", "gpu"]
Evidence = Literal["measured", "emulated"]
Component = Literal[
    "client",
    "network",
    "gateway",
    "tokenizer",
    "router",
    "queue",
    "model",
    "sampler",
    "stream",
    "unattributed",
]
COMPONENTS: tuple[Component, ...] = (
    "client", "network", "gateway", "tokenizer", "router", "queue", "model", "sampler", "stream", "unattributed",
)  # fmt: skip


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of all records: immutable, and a field that the schema does not know is an error."""


class SpanType(Record, frozen=True):
    """What every span of one name has in common."""

    name: str
    component: Component
    """The lane that the span is drawn in."""
    kind: Kind
    start_event: str
    end_event: str
    clock: Clock
    uncertainty_ns: int
    """Half-width of the bracket in which a start or end really lies; 0 within one process."""
    evidence: Evidence = "measured"


class SpanRow(msgspec.Struct, frozen=True, array_like=True):
    """One stored span, ``[type, parent, start_ns, duration_ns, attributes]``.

    ``type`` indexes the span-type table; ``parent`` indexes the request's spans, −1 for a span of the path.
    """

    type: int
    parent: int
    start_ns: int
    duration_ns: int
    attributes: dict[str, str | int | bool] = {}


class Tokens(Record, frozen=True):
    """Per-output-token columns of one request, one entry a token; times from the request's intended start."""

    step: list[int] = []
    """Index into the run's steps: the step that produced the token."""
    sample_ns: list[int] = []
    """When the token id was known."""
    detok_ns: list[int] = []
    """When its text was known (of a held-back token: when the text that holds it was)."""
    write_ns: list[int] = []
    """When the chunk that carries it was handed to the socket."""
    recv_gap_ns: list[int] = []
    """When the client received it: the first from the intended start, later ones from the one before."""
    proxy_ns: list[int] = []
    """When a proxy between server and client had read it; empty without one."""


class Request(Record, frozen=True):
    """One request of a run."""

    id: str
    role: Literal["subject", "neighbour"]
    phase: Literal["warmup", "measure"]
    intended_start_ns: int
    num_prompt_tokens: int
    num_cached_tokens: int
    num_output_tokens: int
    finish_reason: Literal["stop", "length", "cancelled", "error"]
    spans: list[SpanRow]
    tokens: Tokens
    token_ids_sha256: str | None = None
    prompt_text: str | None = None
    token_texts: list[str] | None = None
    """Text of each output token; kept for built-in prompts only."""
    replica: int = 0
    """Number of the engine process that served it; its steps are ``Run.steps_of`` the request."""


class Steps(Record, frozen=True):
    """Engine steps as columns, one entry a step; ``start_ns`` from the run's zero, the four durations touch."""

    start_ns: list[int] = []
    plan_ns: list[int] = []
    """Duration of scheduling and of preparing the batch."""
    forward_ns: list[int] = []
    """Duration of the model's forward pass."""
    sample_ns: list[int] = []
    """Duration from logits to token ids."""
    emit_ns: list[int] = []
    """Duration of bookkeeping and of handing tokens out."""
    prefill_tokens: list[int] = []
    cached_tokens: list[int] = []
    """Prompt tokens found in the prefix cache."""
    decode_tokens: list[int] = []
    running: list[int] = []
    waiting: list[int] = []
    kv_blocks_used: list[int] = []
    request_ids: list[list[str]] = []
    preempted_ids: list[list[str]] = []
    weight_bytes: list[int] = []
    kv_bytes: list[int] = []
    flops: list[int] = []
    mask_ns: list[int] = []
    """The part of ``sample_ns`` that grammars took; empty where no request had one."""
    draft_tokens: list[int] = []
    """Tokens that were guessed and computed with the step, on top of ``decode_tokens``; empty without guessing."""
    accepted_tokens: list[int] = []
    """Tokens that the step gave beyond one a request, because guesses were right."""
    kv_blocks_total: int = 0


class ClockBlock(Record, frozen=True):
    """Anchors that tie a run's zero to the wall clock, taken at its start and its end."""

    start_wall_ns: int
    start_perf_ns: int
    end_wall_ns: int
    end_perf_ns: int
    bracket_ns: int
    """Median half-width of the send/receive bracket between two processes, measured before the run."""
    client_bracket_ns: int = 0
    """The same between client and server; 0: not measured by itself."""


class Run(Record, frozen=True):
    """One repetition of an arm."""

    clock: ClockBlock
    requests: list[Request]
    steps: Steps
    """Of the first replica, which is the only one unless ``more_steps`` says otherwise."""
    gauges: dict[str, list[int]] = {}
    host: dict[str, int] = {}
    """What else happened on the machine meanwhile: ``steal_ns`` (time that the hypervisor took from all cores),
    ``context_switches``, ``wall_step_ns`` (how far the wall clock was set; durations do not depend on it)."""
    more_steps: list[Steps] = []
    """Of the second replica and those after it; each numbers its own steps."""

    @property
    def replica_steps(self) -> list[Steps]:
        """The steps of each replica."""
        return [self.steps, *self.more_steps]

    def steps_of(self, request: Request) -> Steps:
        """Return the steps of the replica that served a request."""
        return self.replica_steps[request.replica]


class Exemplar(Record, frozen=True):
    """The request that pictures show, chosen by rule."""

    run: int
    request_id: str
    rule: str


class Arm(Record, frozen=True):
    """One setting of an experiment."""

    id: str
    label: str
    settings: dict[str, Any]
    runs: list[Run]
    exemplar: Exemplar


class Prediction(Record, frozen=True):
    """A value computed before the run; ``sha256`` is over the other fields as canonical JSON."""

    formula: str
    inputs: dict[str, int | float]
    value_ns: int
    made_wall_ns: int
    sha256: str
    metric: str = "e2e"
    """Which metric is predicted, by its name in ``traces.outcomes``."""
    by_arm_ns: dict[str, int] = {}
    """The same metric in each arm, where the arms differ."""


class Experiment(Record, frozen=True):
    """One experiment file of a set."""

    schema_version: int
    id: str
    name: str
    question: str
    prediction: Prediction
    span_types: list[SpanType]
    arms: list[Arm]
    workload: dict[str, Any] = {}
    """How the load was made and when it stopped: seed, arrival process, rounds, stop rule, time budget and use."""


class WeightFile(Record, frozen=True):
    """A file of the model and its digest."""

    file: str
    sha256: str


class Model(Record, frozen=True):
    """Which model ran, and in which arithmetic."""

    id: str
    label: str
    """Short name for the footer, such as ``SmolLM2-135M``."""
    files: list[WeightFile]
    dtype: str
    num_parameters: int
    weights: Literal["trained", "random"]


class Fingerprint(Record, frozen=True):
    """The machine and the software; a value that could not be read is null, with its reason."""

    id: str
    """sha256 of the stable fields as canonical JSON."""
    label: str
    """Short name for the footer, such as ``EPYC 2 cores``."""
    stable: dict[str, Any]
    volatile: dict[str, Any]
    unknown: dict[str, str]
    """Reason for each null, by field name."""


class SetHeader(Record, frozen=True):
    """``set.json``."""

    schema_version: int
    name: str
    recorded_wall_ns: int
    fingerprint: Fingerprint
    model: Model
    engine: dict[str, Any]
    source_commit: str
    source_dirty: bool
    files: dict[str, str]
    """sha256 of each experiment file."""
