"""The command line as a whole: quick help, exit codes, errors in a line or two."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from spanreel import cli
from spanreel.errors import EnvironmentLackError, InputError, MismatchError, SpanreelError

HEAVY = ("manim", "torch", "transformers", "av", "numpy", "aiohttp", "demo_engine")
RUN_AND_LIST_HEAVY = f"""
import sys
from spanreel.cli import main
try:
    main()
finally:
    sys.stderr.write("heavy: " + " ".join(name for name in {HEAVY} if name in sys.modules))
"""


def spanreel(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process of its own."""
    command = [sys.executable, "-m", "spanreel", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("arguments", [["--help"], *([verb, "--help"] for verb in cli.VERBS)], ids=" ".join)
def test_help_needs_nothing_heavy(arguments: list[str]) -> None:
    """No help text imports Manim, torch, the engine or a web server."""
    command = [sys.executable, "-c", RUN_AND_LIST_HEAVY, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Usage:" in done.stdout
    assert done.stderr == "heavy: "


def test_help_lists_every_verb_with_a_sentence() -> None:
    """Each verb stands at the start of a line, before what it does."""
    shown = spanreel("--help").stdout
    for verb, (_, sentence) in cli.VERBS.items():
        assert any(line.split() == [verb, *sentence.split()] for line in shown.splitlines()), verb


def test_unknown_verb_is_a_usage_error_without_a_traceback() -> None:
    """Exit 2, and the verb is named."""
    done = spanreel("rendr")
    assert done.returncode == 2
    assert "rendr" in done.stderr
    assert "Traceback" not in done.stderr


def test_unknown_set_names_those_that_exist() -> None:
    """Exit 2 in one line, with the next step."""
    done = spanreel("traces", "show", "no-such-set")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "no-such-set" in done.stderr
    assert "spanreel profile" in done.stderr


@pytest.mark.parametrize(
    ("raised", "code"),
    [
        (SpanreelError("x"), 1),
        (InputError("x"), 2),
        (MismatchError("x"), 3),
        (EnvironmentLackError("x"), 4),
        (KeyboardInterrupt(), 130),
    ],
)
def test_exit_code_tells_what_kind_of_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], raised: BaseException, code: int
) -> None:
    """Each kind of error has its own code, and one line on standard error."""

    def fail(**_: object) -> None:
        raise raised

    monkeypatch.setattr(cli.group, "main", fail)
    with pytest.raises(SystemExit) as left:
        cli.main()
    assert left.value.code == code
    assert capsys.readouterr().err.count("\n") == 1


def test_reader_that_goes_away_ends_the_output_quietly(tmp_path: Path) -> None:
    """A pipe closed by its reader is no traceback."""
    script = f"{sys.executable!r} -m spanreel --help 2>{str(tmp_path / 'err')!r} | true"
    subprocess.run(["bash", "-c", script], check=True)
    assert (tmp_path / "err").read_text() == ""


def test_a_later_benchmark_says_so() -> None:
    """Exit 2 in one line that names what there is."""
    done = spanreel("bench", "kernels")
    assert done.returncode == 2
    assert "spanreel bench render, deck, engine, tracing" in done.stderr
    assert done.stderr.count("\n") == 1


def test_bench_prints_each_figure_beside_its_baseline(monkeypatch: pytest.MonkeyPatch) -> None:
    """The table shows both values, the ratio, and whether the target was met; JSON passes the figures on."""
    from click.testing import CliRunner

    import scenes.render.bench
    from spanreel.commands import bench

    figure = {"figure": "cpu_ms_a_frame", "value": 20.0, "unit": "ms", "baseline": "Manim", "baseline_value": 90.0}
    figures = [
        figure | {"ratio": 4.5, "target": 25.0, "met": True},
        figure | {"figure": "peak_rss_mb", "ratio": 4.5, "target": 10.0, "met": False},
        figure | {"figure": "wall_s", "ratio": 4.5, "target": None, "met": None},
    ]
    monkeypatch.setattr(scenes.render.bench, "bench_render", lambda *_: figures)
    monkeypatch.setattr("scenes.render.fonts.prepare_fonts", lambda *_: None)
    lines = CliRunner().invoke(bench.command, ["render"]).stdout.splitlines()
    assert lines[-3].split() == ["cpu_ms_a_frame", "20.0", "ms", "90.0", "ms", "4.5×", "≤", "25", "ms:", "met"]
    assert lines[-2].endswith("missed")
    assert lines[-1].endswith("4.5×")
    assert json.loads(CliRunner().invoke(bench.command, ["render", "--json"]).stdout) == figures
