"""Metrics: what is added up, and how it is written down."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from prometheus_client.parser import text_string_to_metric_families

from demo_engine.api.generation import GenerationTimes
from demo_engine.api.histogram import Histogram
from demo_engine.api.metrics import Metrics
from demo_engine.api.replica import ITERATION_BOUNDS
from demo_engine.core.config import EngineConfig
from demo_engine.ipc.messages import Beat


def step_tokens(*counts: int) -> Histogram:
    """Return what a replica has counted after steps of so many tokens."""
    histogram = Histogram(ITERATION_BOUNDS)
    for count in counts:
        histogram.observe(count)
    return histogram


REPLICA = SimpleNamespace(
    iteration_tokens=step_tokens(1, 8, 9, 20_000),
    index=0,
    is_ready=True,
    config=EngineConfig(num_kv_blocks=8),
    gauges=Beat(2, 3, 4, 8, 5, 6),
)
TIMES = GenerationTimes(0.01, 0.2, 0.3, 0.25, 0.6, [0.1, 0.2])


def finished(reason: str):
    """Return a request that ended, with times if it ended well."""
    return SimpleNamespace(
        replica=REPLICA, prompt_ids=[1] * 7, num_output_tokens=3, num_cached_tokens=2, finish_reason=reason,
        times=lambda: TIMES if reason in ("stop", "length") else None,
    )  # fmt: skip


def values(metrics: Metrics) -> dict[str, float]:
    """Return every sample that has no more than the replica's own labels, as Prometheus' own parser reads it."""
    families = text_string_to_metric_families(metrics.text())
    return {sample.name: sample.value for family in families for sample in family.samples if len(sample.labels) <= 2}


def test_a_histogram_counts_what_is_at_most_its_bound():
    """Buckets are cumulative, a value on a bound belongs to it, and the last holds everything."""
    histogram = Histogram((1, 2))
    for value in (0.5, 1, 1.5, 99):
        histogram.observe(value)
    samples = [(sample.labels.get("le", sample.suffix), sample.value) for sample in histogram.samples()]
    assert samples == [("1", 2), ("2", 3), ("+Inf", 4), ("_sum", 102), ("_count", 4)]


def test_only_requests_that_ended_well_have_times():
    """A cancelled request is counted and its tokens are, but it is no latency."""
    metrics = Metrics("m", [REPLICA])
    for reason in ("stop", "length", "cancelled", "error"):
        metrics.finished(finished(reason))
    got = values(metrics)
    assert got["spanreel_output_tokens_total"] == 12
    assert got["spanreel_cached_tokens_total"] == 8
    assert got["spanreel_time_to_first_token_seconds_count"] == 2
    assert got["spanreel_inter_token_latency_seconds_count"] == 4
    assert got["spanreel_request_inference_time_seconds_sum"] == pytest.approx(1.0)
    assert (got["spanreel_running"], got["spanreel_waiting"], got["spanreel_preemptions_total"]) == (2, 3, 6)


def test_names_of_vllm_stand_there_only_when_asked_for():
    """With the option both names carry the same numbers; without it there is not one of vLLM's."""
    assert "vllm:" not in Metrics("m", [REPLICA]).text()
    metrics = Metrics('m"\\\n', [REPLICA], vllm_names=True)
    metrics.finished(finished("stop"))
    got = values(metrics)
    assert got["vllm:kv_cache_usage_perc"] == 0.5
    assert got["vllm:num_preemptions_total"] == 6
    assert got["vllm:e2e_request_latency_seconds_sum"] == got["spanreel_e2e_request_latency_seconds_sum"] == 0.6
    families = {family.name: family for family in text_string_to_metric_families(metrics.text())}
    assert families["vllm:prompt_tokens"].samples[0].labels["model_name"] == 'm"\\\n'


@pytest.mark.parametrize("prefix", ["spanreel_", "vllm:"])
def test_tokens_of_a_step_are_a_histogram_in_the_bounds_of_vllm(prefix):
    """Its name ends like a counter's; Prometheus' own parser reads a histogram, with vLLM's thirteen bounds."""
    text = Metrics("m", [REPLICA], vllm_names=True).text()
    families = {family.name: family for family in text_string_to_metric_families(text)}
    family = families[f"{prefix}iteration_tokens_total"]
    buckets = {sample.labels["le"]: sample.value for sample in family.samples if sample.name.endswith("_bucket")}
    assert family.type == "histogram"
    assert list(buckets) == [
        "1", "8", "16", "32", "64", "128", "256", "512", "1024", "2048", "4096", "8192", "16384", "+Inf",
    ]  # fmt: skip
    assert (buckets["1"], buckets["8"], buckets["16"], buckets["16384"], buckets["+Inf"]) == (1, 2, 3, 3, 4)
    assert values(Metrics("m", [REPLICA], vllm_names=True))[f"{prefix}iteration_tokens_total_sum"] == 20_018


def test_replicas_are_told_apart():
    """Each has its own lines under one type line, as the format demands."""
    idle = SimpleNamespace(
        index=1, is_ready=False, iteration_tokens=step_tokens(), config=REPLICA.config, gauges=Beat(0, 0, 0, 8, 0)
    )
    metrics = Metrics("m", [REPLICA, idle])
    text = metrics.text()
    assert text.count("# TYPE spanreel_running gauge\n") == 1
    assert 'spanreel_running{replica="0"} 2\nspanreel_running{replica="1"} 0\n' in text
    assert 'spanreel_ready{replica="0"} 1\nspanreel_ready{replica="1"} 0\n' in text
