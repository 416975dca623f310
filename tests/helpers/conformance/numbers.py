"""Numbers: metrics that count what happened, traces without holes, probes that tell the truth."""

from __future__ import annotations

import itertools

from prometheus_client.parser import text_string_to_metric_families

from conformance.leaving import LONG
from conformance.target import Target, case


@case("numbers", "vllm 6337, 8115")
def every_finished_request_has_its_times(target: Target) -> None:
    """The histograms count each request once, and none is zero."""
    names = ("time_to_first_token_seconds", "e2e_request_latency_seconds", "request_prefill_time_seconds")
    before = [target.metric(f"spanreel_{name}_count") for name in names]
    sums = [target.metric(f"spanreel_{name}_sum") for name in names]
    gaps = target.metric("spanreel_inter_token_latency_seconds_count")
    target.complete("One, two,", max_tokens=3, ignore_eos=True)
    target.complete("One, two,", max_tokens=3, ignore_eos=True, stream=False)
    assert [target.metric(f"spanreel_{name}_count") for name in names] == [count + 2 for count in before]
    assert all(target.metric(f"spanreel_{name}_sum") > total for name, total in zip(names, sums, strict=True))
    assert target.metric("spanreel_inter_token_latency_seconds_count") == gaps + 4


@case("numbers", "club-3090 1096")
def the_parts_of_a_request_add_up(target: Target) -> None:
    """Inference is prefill and decode; the first token comes after queue and prefill; all is within the whole."""
    target.complete("One, two,", max_tokens=3)
    total = {
        name: target.metric(f"spanreel_{name}_seconds_sum")
        for name in (
            "time_to_first_token", "e2e_request_latency", "request_queue_time", "request_prefill_time",
            "request_decode_time", "request_inference_time",
        )
    }  # fmt: skip
    inference = total["request_prefill_time"] + total["request_decode_time"]
    assert abs(total["request_inference_time"] - inference) < 1e-6
    assert total["time_to_first_token"] >= total["request_queue_time"] + total["request_prefill_time"]
    assert total["e2e_request_latency"] >= total["request_queue_time"] + total["request_inference_time"]


@case("numbers", "reliability: names of other servers")
def the_metrics_can_be_read_under_both_names(target: Target) -> None:
    """Prometheus' own parser reads the page; vLLM's names stand beside ours and say the same."""
    families = {f.name: f for f in text_string_to_metric_families(target.send("GET", "/metrics").text)}
    names = {
        "num_requests_running", "num_requests_waiting", "kv_cache_usage_perc", "cache_config_info", "prompt_tokens",
        "generation_tokens", "prefix_cache_queries", "prefix_cache_hits", "request_success", "num_preemptions",
        "time_to_first_token_seconds",
        "inter_token_latency_seconds", "e2e_request_latency_seconds", "request_queue_time_seconds",
        "request_prefill_time_seconds", "request_decode_time_seconds", "request_inference_time_seconds",
    }  # fmt: skip
    assert {f"vllm:{name}" for name in names} <= set(families)
    ours, theirs = families["spanreel_output_tokens"], families["vllm:generation_tokens"]
    assert [sample.value for sample in ours.samples] == [sample.value for sample in theirs.samples]
    assert theirs.samples[0].labels == {"model_name": target.model, "engine": "0"}


@case("numbers", "vllm 9952")
def a_trace_covers_the_whole_request(target: Target) -> None:
    """Its spans touch from the headers to the last chunk: nothing of the request is untraced."""
    answer = target.chat()
    trace = target.send("GET", f"/v1/traces/{answer.raw['id']}").json
    spans = trace["spans"]
    assert (spans[0]["name"], spans[-1]["name"]) == ("receive", "write")
    for earlier, later in itertools.pairwise(spans):
        assert earlier["start_ns"] + earlier["duration_ns"] == later["start_ns"]
    assert len(trace["tokens"]["id"]) == answer.num_tokens


@case("numbers", "sglang 22511, llama.cpp 15128, ik_llama 1210")
def probes_answer_in_the_middle_of_a_prefill(target: Target) -> None:
    """A prefill that takes seconds is no fault: healthz and readyz stay 200 all through it."""
    with target.opened(target.chat_body(messages=LONG, max_tokens=1)):
        target.wait_until(lambda: target.metric("spanreel_running") == 1)
        while target.metric("spanreel_running"):
            assert target.send("GET", "/healthz").text == '{"ok":true}'
            ready = target.send("GET", "/readyz")
            assert (ready.status, ready.json["ok"], ready.json["reasons"]) == (200, True, [])
            assert ready.json["engines"][0]["silent_ms"] < 1000
    target.wait_until_idle()


@case("numbers", "openai-python: tokenize")
def tokenize_counts_what_a_prompt_costs(target: Target) -> None:
    """Count, ids and limit; long texts and odd ones too."""
    reply = target.post("/tokenize", {"prompt": "One, two, three,"}).json
    assert reply["count"] == len(reply["tokens"]) == target.complete("One, two, three,").raw["usage"]["prompt_tokens"]
    assert target.post("/tokenize", {"prompt": "word " * 100_000}).json["count"] == 100_001
    assert target.post("/tokenize", {"prompt": ""}).json == {
        "count": 0,
        "max_model_len": reply["max_model_len"],
        "tokens": [],
    }
    assert target.post("/tokenize", {"prompt": 5}).status == 400
    assert target.post("/tokenize", b'{"prompt":"\\ud800"}').status == 400
