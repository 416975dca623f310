"""Hand-made trace sets for tests: any magnitudes, all invariants kept. Nothing here is a measurement."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from traces import SCHEMA_VERSION, save_set
from traces.schema import (
    Arm,
    ClockBlock,
    Exemplar,
    Experiment,
    Fingerprint,
    Model,
    Prediction,
    Request,
    Run,
    SetHeader,
    SpanRow,
    SpanType,
    Steps,
    Tokens,
    WeightFile,
)

MS = 1_000_000
US = 1_000

SPAN_TYPES = [
    SpanType("prepare", "client", "cpu", "intended start", "connect called", "client", 0),
    SpanType("connect", "network", "network", "connect called", "connected", "client", 0),
    SpanType("request", "network", "network", "first byte sent", "headers read", "client", 35_000),
    SpanType("receive", "gateway", "cpu", "headers read", "body accepted", "server", 0),
    SpanType("template", "tokenizer", "cpu", "body accepted", "prompt text ready", "server", 0),
    SpanType("encode", "tokenizer", "cpu", "prompt text ready", "token ids ready", "server", 0),
    SpanType("route", "router", "cpu", "token ids ready", "replica chosen", "server", 0),
    SpanType("submit", "queue", "wait", "replica chosen", "engine read the message", "server", 35_000),
    SpanType("engine", "model", "cpu", "engine read the message", "last token handed out", "server", 0),
    SpanType("queue", "queue", "wait", "engine read the message", "first step planned", "server", 0),
    SpanType("plan", "queue", "cpu", "step begins", "batch ready", "server", 0),
    SpanType("prefill", "model", "cpu", "batch ready", "logits ready", "server", 0),
    SpanType("decode", "model", "cpu", "batch ready", "logits ready", "server", 0),
    SpanType("sample", "sampler", "cpu", "logits ready", "token ids known", "server", 0),
    SpanType("emit", "queue", "cpu", "token ids known", "step ends", "server", 0),
    SpanType("loop", "queue", "wait", "step ends", "next step begins", "server", 0),
    SpanType("preempted", "queue", "wait", "step ends", "next own step begins", "server", 0),
    SpanType("deliver", "stream", "wait", "last token handed out", "API process read it", "server", 35_000),
    SpanType("detokenize", "stream", "cpu", "API process read it", "text ready", "server", 0),
    SpanType("write", "stream", "cpu", "text ready", "chunk written", "server", 0),
    SpanType("response", "network", "network", "chunk written", "last byte read", "client", 35_000),
]
_INDEX = {span_type.name: index for index, span_type in enumerate(SPAN_TYPES)}


def make_run(
    *,
    tokens: int = 16,
    prefill_ns: int = 850 * MS,
    decode_ns: int = 95 * MS,
    queue_ns: int = 60 * MS,
    small_ns: int = 400 * US,
    connect_ns: int | None = None,
    sample_ns: int = 700 * US,
    loop_ns: int = 100 * US,
    request_id: str = "r7",
    text: str = "tok",
) -> Run:
    """Return a run with one measured request and, before it, one step of a neighbour that it waits out."""
    origin = 50 * MS
    spans, cursor = [], 0
    for name in ("prepare", "connect", "request", "receive", "template", "encode", "route", "submit"):
        duration = connect_ns if name == "connect" and connect_ns is not None else small_ns
        spans.append(SpanRow(_INDEX[name], -1, cursor, duration))
        cursor += duration
    arrival, begin = cursor, cursor + queue_ns
    steps: dict[str, list] = {name: [] for name in Steps.__struct_fields__ if name != "kv_blocks_total"}
    neighbour_start = max(0, origin + arrival - 30 * MS)
    _add_step(steps, neighbour_start, origin + begin - loop_ns - neighbour_start, sample_ns, 0, 1, ["r1"])
    own_steps, sample_times, now = [], [], origin + begin
    for index in range(tokens):
        own_steps.append(len(steps["start_ns"]))
        total_ns = (prefill_ns if index == 0 else decode_ns) + sample_ns + 2 * loop_ns
        _add_step(steps, now, total_ns, sample_ns, 200 if index == 0 else 0, 1 + (index > 0), ["r1", request_id])
        sample_times.append(now + total_ns - loop_ns - origin)
        now += total_ns + loop_ns
    leave = now - loop_ns - origin
    spans.append(SpanRow(_INDEX["engine"], -1, arrival, leave - arrival))
    cursor = leave
    for name in ("deliver", "detokenize", "write", "response"):
        spans.append(SpanRow(_INDEX[name], -1, cursor, small_ns))
        cursor += small_ns
    receive = [sample + loop_ns + 4 * small_ns for sample in sample_times]
    gaps = [receive[0]] + [after - before for before, after in pairwise(receive)]
    columns = Tokens(
        own_steps, sample_times, [t + small_ns for t in sample_times], [t + 2 * small_ns for t in sample_times], gaps
    )
    subject = Request(
        id=request_id, role="subject", phase="measure", intended_start_ns=origin, num_prompt_tokens=200,
        num_cached_tokens=0, num_output_tokens=tokens, finish_reason="length", spans=spans, tokens=columns,
        prompt_text=text, token_texts=[text] * tokens,
    )  # fmt: skip
    return Run(ClockBlock(0, 0, now + origin, now + origin, 35_000), [subject], Steps(**steps, kv_blocks_total=256))


def _add_step(
    steps: dict[str, list], start: int, total: int, sample: int, prefill: int, decode: int, ids: list[str]
) -> None:
    edge = min(100 * US, max(0, (total - sample) // 4))
    values = {
        "start_ns": start, "plan_ns": edge, "forward_ns": max(0, total - 2 * edge - sample),
        "sample_ns": min(sample, total - 2 * edge), "emit_ns": edge, "prefill_tokens": prefill, "cached_tokens": 0,
        "decode_tokens": decode, "running": len(ids), "waiting": 0,
        "kv_blocks_used": 14, "request_ids": ids, "preempted_ids": [],
        "weight_bytes": 538_000_000, "kv_bytes": 9_000_000, "flops": 270_000_000,
    }  # fmt: skip
    for name, value in values.items():
        steps[name].append(value)


def make_experiment(*runs: Run, label: str = "one neighbour decoding", request_id: str = "r7") -> Experiment:
    """Return the one-request experiment E23 with the runs as its arm A."""
    runs = runs or (make_run(),)
    arm = Arm("A", label, {"max_num_seqs": 8}, list(runs), Exemplar(0, request_id, "median E2E of n=1"))
    prediction = Prediction(
        "prefill tokens × per-token + …", {"prefill_ns_per_token": 4_000_000}, 2_400 * MS, 1, "0" * 64
    )
    return Experiment(
        SCHEMA_VERSION, "e23", "one-request", "Where does the time of one request go?", prediction, SPAN_TYPES, [arm]
    )


def make_set(
    folder: Path, experiment: Experiment | None = None, *, name: str = "synthetic", label: str = "Test machine"
) -> Path:
    """Write a set into ``folder / name`` and return that folder."""
    header = SetHeader(
        schema_version=SCHEMA_VERSION, name=name, recorded_wall_ns=1,
        fingerprint=Fingerprint("f" * 64, label, {"cpu": "test"}, {}, {"gpu": "no CUDA device"}),
        model=Model("test/model", "Test model", [WeightFile("model.safetensors", "0" * 64)], "float32", 1, "trained"),
        engine={"block_size": 16}, source_commit="0" * 40, source_dirty=False, files={},
    )  # fmt: skip
    save_set(folder / name, header, {"e23-one-request.json": experiment or make_experiment()})
    return folder / name
