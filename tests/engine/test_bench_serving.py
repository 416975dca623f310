"""The benchmark of the serving edge: what stands in its figures, and that it runs."""

from __future__ import annotations

import time

import pytest

from demo_engine.api.guard import Guard
from demo_engine.bench.edge import overhead_figure, overhead_figures
from demo_engine.bench.serving import replicas_figure, serving_figures, tokens_per_s
from demo_engine.recorder.server_trace import ServerSpan, ServerSteps, ServerTokens, ServerTrace
from toy_server import write_toy_folder


def make_trace(start_ns: int, token_ns: tuple[int, ...]) -> ServerTrace:
    """Return a trace that begins at an instant and has these tokens."""
    spans = [ServerSpan("receive", "gateway", start_ns, 10)]
    tokens = ServerTokens(id=[1] * len(token_ns), sample_ns=list(token_ns))
    return ServerTrace("r", "perf_counter_ns", 0, 1, "length", spans, tokens, ServerSteps(0, {}, [], [], 0))


def test_throughput_counts_all_tokens_from_the_first_headers_to_the_last_token():
    """Requests that overlap share their time."""
    traces = [make_trace(1_000, (2_000, 3_000)), make_trace(1_500, (2_000, 3_000, 5_000))]
    assert tokens_per_s(traces) == pytest.approx(5 / 4_000 * 1e9)


@pytest.mark.parametrize(("usual_us", "met"), [(500, True), (501, False)])
def test_an_overhead_is_the_median_of_what_is_added_pair_by_pair(usual_us, met):
    """One slow pair does not decide, nor does what a request takes anyway."""
    without = [1000, 5000, 1000]
    with_it = [more + less for more, less in zip((10, usual_us, 90_000), without, strict=True)]
    figure = overhead_figure("router_overhead_us", "two replicas", with_it, without)
    assert (figure.value, figure.is_met) == (usual_us, met)
    assert "two replicas" in figure.baseline


@pytest.mark.slow
@pytest.mark.engine
def test_a_guard_that_dawdles_is_found(tmp_path, monkeypatch):
    """A millisecond that is planted in the gateway shows in its figure, and not as much in the router's."""
    check = Guard._check

    def dawdle(self, request):
        end_ns = time.perf_counter_ns() + 1_000_000
        while time.perf_counter_ns() < end_ns:
            pass
        check(self, request)

    monkeypatch.setattr(Guard, "_check", dawdle)
    gateway, router = overhead_figures(str(write_toy_folder(tmp_path)), 60)
    assert gateway.value > max(900, router.value)


@pytest.mark.parametrize(("gain", "met"), [(1.8, True), (1.79, False)])
def test_two_replicas_are_compared_with_one_in_pairs(gain, met):
    """The target is a ratio of medians."""
    figure = replicas_figure([10, 20, 30], [10 * gain, 20 * gain, 30 * gain])
    assert figure.ratio == pytest.approx(gain)
    assert figure.is_met is met


@pytest.mark.slow
@pytest.mark.engine
def test_every_figure_is_measured_on_real_servers(tmp_path):
    """Two servers with the toy model, one burst each."""
    figures = serving_figures(str(write_toy_folder(tmp_path)), 1, lambda _: None)
    assert [figure.name for figure in figures] == ["gateway_overhead_us", "router_overhead_us", "two_replicas"]
    assert all(figure.value > 0 for figure in figures)
