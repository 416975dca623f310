"""Counters, gauges and histograms in Prometheus' text format, under our own names and, if asked for, under vLLM's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from demo_engine.api.generation import Generation
from demo_engine.api.histogram import Histogram, Sample
from demo_engine.api.replica import Replica

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
TOKENS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
ITERATION_TOKENS = "iteration_tokens_total"  # a histogram, whatever its ending: so vLLM calls it


def _seconds() -> Histogram:
    return Histogram(SECONDS)


def _tokens() -> Histogram:
    return Histogram(TOKENS)


@dataclass
class _Totals:
    """What the finished requests of one replica add up to. Histograms hold those that ended as they should."""

    requests: dict[str, int] = field(default_factory=lambda: dict.fromkeys(("stop", "length", "cancelled", "error"), 0))
    prompt_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    time_to_first_token_seconds: Histogram = field(default_factory=_seconds)
    inter_token_latency_seconds: Histogram = field(default_factory=_seconds)
    e2e_request_latency_seconds: Histogram = field(default_factory=_seconds)
    request_queue_time_seconds: Histogram = field(default_factory=_seconds)
    request_prefill_time_seconds: Histogram = field(default_factory=_seconds)
    request_decode_time_seconds: Histogram = field(default_factory=_seconds)
    request_inference_time_seconds: Histogram = field(default_factory=_seconds)
    request_prompt_tokens: Histogram = field(default_factory=_tokens)
    request_generation_tokens: Histogram = field(default_factory=_tokens)

    def add(self, generation: Generation) -> None:
        """Count a request that is over."""
        num_prompt, num_output = len(generation.prompt_ids), generation.num_output_tokens
        self.requests[generation.finish_reason] += 1
        self.prompt_tokens += num_prompt
        self.cached_tokens += generation.num_cached_tokens
        self.output_tokens += num_output
        times = generation.times()
        if times is None:
            return
        self.time_to_first_token_seconds.observe(times.first_token)
        self.e2e_request_latency_seconds.observe(times.whole)
        self.request_queue_time_seconds.observe(times.queue)
        self.request_prefill_time_seconds.observe(times.prefill)
        self.request_decode_time_seconds.observe(times.decode)
        self.request_inference_time_seconds.observe(times.prefill + times.decode)
        for gap in times.between_tokens:
            self.inter_token_latency_seconds.observe(gap)
        self.request_prompt_tokens.observe(num_prompt)
        self.request_generation_tokens.observe(num_output)

    def histograms(self) -> Iterator[tuple[str, Histogram]]:
        """Yield the histograms by name; vLLM uses the same names."""
        yield from ((name, value) for name, value in vars(self).items() if isinstance(value, Histogram))


class Metrics:
    """Adds up finished requests and writes them, with the replicas' gauges of this instant."""

    def __init__(self, model_id: str, replicas: Sequence[Replica], *, vllm_names: bool = False) -> None:
        self._model_id = model_id
        self._replicas = replicas
        self._vllm_names = vllm_names
        self._totals = [_Totals() for _ in replicas]

    def finished(self, generation: Generation) -> None:
        """Count a request that is over."""
        self._totals[generation.replica.index].add(generation)

    def text(self) -> str:
        """Return all of it."""
        page = _Page()
        for index, (replica, totals) in enumerate(zip(self._replicas, self._totals, strict=True)):
            _write_own(page, {"replica": str(index)}, replica, totals)
        if self._vllm_names:
            for index, (replica, totals) in enumerate(zip(self._replicas, self._totals, strict=True)):
                _write_vllm(page, {"model_name": self._model_id, "engine": str(index)}, replica, totals)
        return page.text()


class _Page:
    """Lines by metric, so that those of several replicas stand together."""

    def __init__(self) -> None:
        self._lines: dict[str, list[str]] = {}

    def add(self, name: str, kind: str, labels: dict[str, str], samples: Iterator[Sample] | float) -> None:
        """Write a metric's samples, or its one value."""
        lines = self._lines.setdefault(name, [f"# TYPE {name} {kind}"])
        for sample in (Sample("", {}, samples),) if isinstance(samples, int | float) else samples:
            pairs = ",".join(f'{key}="{_escaped(value)}"' for key, value in (labels | sample.labels).items())
            lines.append(f"{name}{sample.suffix}{{{pairs}}} {sample.value}")

    def text(self) -> str:
        """Return the page."""
        return "".join(f"{line}\n" for lines in self._lines.values() for line in lines)


def _write_own(page: _Page, labels: dict[str, str], replica: Replica, totals: _Totals) -> None:
    for reason, count in totals.requests.items():
        page.add("spanreel_requests_total", "counter", labels | {"finish_reason": reason}, count)
    page.add("spanreel_prompt_tokens_total", "counter", labels, totals.prompt_tokens)
    page.add("spanreel_cached_tokens_total", "counter", labels, totals.cached_tokens)
    page.add("spanreel_output_tokens_total", "counter", labels, totals.output_tokens)
    page.add("spanreel_preemptions_total", "counter", labels, replica.gauges.num_preemptions)
    page.add("spanreel_ready", "gauge", labels, int(replica.is_ready))
    for name in ("running", "waiting", "kv_blocks_used", "kv_blocks_total", "num_steps"):
        page.add(f"spanreel_{name}", "gauge", labels, getattr(replica.gauges, name))
    for name, histogram in (*totals.histograms(), (ITERATION_TOKENS, replica.iteration_tokens)):
        page.add(f"spanreel_{name}", "histogram", labels, histogram.samples())


def _write_vllm(page: _Page, labels: dict[str, str], replica: Replica, totals: _Totals) -> None:
    """Write what vLLM would call the same, for dashboards and collectors that know its names."""
    gauges = replica.gauges
    geometry = {"block_size": str(replica.config.block_size), "num_gpu_blocks": str(replica.config.num_kv_blocks)}
    for reason in ("stop", "length"):
        finished = labels | {"finished_reason": reason}
        page.add("vllm:request_success_total", "counter", finished, totals.requests[reason])
    page.add("vllm:prompt_tokens_total", "counter", labels, totals.prompt_tokens)
    page.add("vllm:generation_tokens_total", "counter", labels, totals.output_tokens)
    page.add("vllm:prefix_cache_queries_total", "counter", labels, totals.prompt_tokens)
    page.add("vllm:prefix_cache_hits_total", "counter", labels, totals.cached_tokens)
    page.add("vllm:num_preemptions_total", "counter", labels, gauges.num_preemptions)
    page.add("vllm:num_requests_running", "gauge", labels, gauges.running)
    page.add("vllm:num_requests_waiting", "gauge", labels, gauges.waiting)
    page.add("vllm:kv_cache_usage_perc", "gauge", labels, gauges.kv_blocks_used / max(1, gauges.kv_blocks_total))
    page.add("vllm:cache_config_info", "gauge", labels | geometry, 1)
    for name, histogram in (*totals.histograms(), (ITERATION_TOKENS, replica.iteration_tokens)):
        page.add(f"vllm:{name}", "histogram", labels, histogram.samples())


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
