"""The benchmark of the serving edge: what stands in its figures, and that it runs."""

from __future__ import annotations

import pytest

from demo_engine.bench.serving import overhead_figure, replicas_figure, serving_figures, tokens_per_s
from demo_engine.recorder.server_trace import ServerSpan, ServerSteps, ServerTokens, ServerTrace
from toy_server import write_toy_folder


def make_trace(start_ns: int = 0, route_ns: int = 1, token_ns: tuple[int, ...] = ()) -> ServerTrace:
    """Return a trace that begins at an instant, was routed for so long and has these tokens."""
    spans = [
        ServerSpan("receive", "gateway", start_ns, 10),
        ServerSpan("route", "router", start_ns + 10, route_ns),
    ]
    tokens = ServerTokens(id=[1] * len(token_ns), sample_ns=list(token_ns))
    return ServerTrace("r", "perf_counter_ns", 0, 1, "length", spans, tokens, ServerSteps(0, {}, [], [], 0))


def test_throughput_counts_all_tokens_from_the_first_headers_to_the_last_token():
    """Requests that overlap share their time."""
    traces = [make_trace(1_000, token_ns=(2_000, 3_000)), make_trace(1_500, token_ns=(2_000, 3_000, 5_000))]
    assert tokens_per_s(traces) == pytest.approx(5 / 4_000 * 1e9)


@pytest.mark.parametrize(("usual_us", "met"), [(500, True), (501, False)])
def test_an_overhead_is_the_median_of_its_span(usual_us, met):
    """One slow request does not decide, but it is told."""
    traces = [make_trace(route_ns=microseconds * 1000) for microseconds in (10, usual_us, 90_000)]
    figure = overhead_figure("router_overhead_us", "route", "meaning", traces)
    assert (figure.value, figure.is_met) == (usual_us, met)
    assert "90000" in figure.baseline


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
