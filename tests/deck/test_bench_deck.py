"""The deck benchmark builds the real deck and prints what it took."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from spanreel.commands import bench


@pytest.mark.slow
def test_the_deck_benchmark_measures_three_builds_and_the_largest_process():
    """Each figure stands beside its target; building again with nothing changed is quicker than from nothing."""
    done = CliRunner().invoke(bench.command, ["deck", "--json"])
    assert done.exit_code == 0, done.output
    figures = {figure["figure"]: figure for figure in json.loads(done.stdout)}
    assert list(figures) == ["deck_cold_s", "deck_unchanged_s", "stills_cold_s", "draw_peak_mb"]
    assert all(figure["met"] == (figure["value"] <= figure["target"]) for figure in figures.values())
    assert figures["deck_unchanged_s"]["value"] < figures["deck_cold_s"]["value"]
