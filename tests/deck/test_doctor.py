"""``doctor`` names each missing thing and the command that brings it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

from spanreel import packages, paths
from spanreel.commands import doctor
from trace_factory import make_set
from traces import load_set, save_set


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let the talk be built from a hand-made set, and return its folder."""
    folder = make_set(tmp_path / "sets")
    monkeypatch.setattr(paths, "default_set_name", lambda: str(folder))
    return folder


@pytest.fixture
def assets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let the npm packages be a copy that a test may damage, and return its ``node_modules``."""
    root = tmp_path / "checkout"
    shutil.copytree(paths.NODE_MODULES, root / "node_modules", ignore=shutil.ignore_patterns("*.map", "plugin"))
    shutil.copy(paths.ROOT / "package-lock.json", root)
    monkeypatch.setattr(paths, "ROOT", root)
    monkeypatch.setattr(paths, "NODE_MODULES", root / "node_modules")
    return root / "node_modules"


def examine(*options: str) -> Result:
    """Run the verb in this process."""
    return CliRunner().invoke(doctor.command, [*options], catch_exceptions=False)


def missing(name: str) -> list[str]:
    """Run the verb and return what it says is missing under one name."""
    findings = json.loads(examine("--json").stdout)["findings"]
    return next(finding["missing"] for finding in findings if finding["name"] == name)


@pytest.mark.usefixtures("recorded")
def test_nothing_missing_exits_0() -> None:
    """Everything that building needs is here, in text and in JSON."""
    shown = examine()
    assert shown.exit_code == 0, shown.stdout
    assert "building the deck: ready" in shown.stdout
    assert json.loads(examine("--json").stdout)["ok"] is True


def test_missing_set_exits_4_and_says_how_to_record_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The set that the talk names is not recorded."""
    monkeypatch.setattr(paths, "default_set_name", lambda: "no-such-machine")
    shown = examine()
    assert shown.exit_code == 4
    assert "no-such-machine" in shown.stdout
    assert "building the deck: spanreel profile" in shown.stdout


def test_altered_set_is_named(recorded: Path) -> None:
    """A trace file whose digest is not the recorded one is a missing set."""
    file = next(recorded.glob("e23*.json"))
    file.write_bytes(file.read_bytes().replace(b"850000000", b"850000001"))
    assert file.name in missing("recorded set")[0]


@pytest.mark.usefixtures("recorded")
def test_missing_python_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit 4 for a package that draws; ready again is one command away."""
    installed = metadata.version

    def version(name: str) -> str:
        if name == "av":
            raise metadata.PackageNotFoundError(name)
        return installed(name)

    monkeypatch.setattr(metadata, "version", version)
    assert missing("Python packages") == ["av"]
    assert examine().exit_code == 4
    assert "building the deck: make deck" in examine().stdout


@pytest.mark.usefixtures("recorded")
def test_engine_and_browser_are_not_needed_for_the_deck(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without torch, model and Chromium the deck can be built: they are named, and the exit code is 0."""
    found = packages.version
    monkeypatch.setattr(packages, "version", lambda name: None if name in ("torch", "triton") else found(name))
    monkeypatch.setattr("spanreel.doctor.software._MODEL_PACKAGE", "no-such-model")
    monkeypatch.setattr("spanreel.doctor.software._BROWSERS", ("no-such-browser",))
    shown = examine()
    assert shown.exit_code == 0
    assert [line.split()[0] for line in shown.stdout.splitlines()[-6:-4]] == ["missing", "missing"]
    assert "profile and live demos: make setup-engine" in shown.stdout
    assert "the browser tests: scripts/browser.sh" in shown.stdout


@pytest.mark.usefixtures("recorded")
def test_library_that_does_not_load_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The loader's own last line says which one."""
    (tmp_path / "cairo.py").write_text("raise ImportError('libcairo.so.2: cannot open shared object file')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert "libcairo.so.2" in missing("system libraries")[0]


@pytest.mark.usefixtures("recorded")
def test_before_anything_is_built_the_headers_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where pycairo is not installed, what it is compiled with counts."""
    monkeypatch.setattr(packages, "version", lambda _: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert missing("system libraries") == ["gcc", "pkg-config", "libcairo2-dev", "libpango1.0-dev"]


@pytest.mark.usefixtures("recorded")
def test_npm_package_missing_or_of_another_version_is_named(assets: Path) -> None:
    """The lock file says which version it must be."""
    assert missing("npm packages") == []
    shutil.rmtree(assets / "reveal.js")
    manifest = assets / "inter-ui" / "package.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"version": "3.0.0"}))
    wrong, absent = missing("npm packages")
    assert wrong.startswith("inter-ui ")
    assert wrong.endswith("(found 3.0.0)")
    assert absent.startswith("reveal.js ")


@pytest.mark.usefixtures("recorded")
def test_missing_font_file_is_named(assets: Path) -> None:
    """One weight that is not there is one missing thing."""
    (assets / "inter-ui" / "web" / "Inter-Medium.woff2").unlink()
    assert missing("fonts") == ["inter-ui/web/Inter-Medium.woff2"]


def test_character_without_a_glyph_is_named(recorded: Path) -> None:
    """A label of the set with a character that the typeface lacks would stop the build."""
    trace_set = load_set(recorded)
    arm = msgspec.structs.replace(trace_set.experiments["e23"].arms[0], label="机 at rest")
    experiment = msgspec.structs.replace(trace_set.experiments["e23"], arms=[arm])
    save_set(recorded, trace_set.header, {"e23-one-request.json": experiment})
    assert any("'机' (U+673A)" in entry for entry in missing("glyphs"))


def test_doctor_needs_none_of_what_it_examines() -> None:
    """It runs, and says so, without site packages beyond click and msgspec being importable."""
    script = """
import sys
for name in ("manim", "torch", "av", "numpy", "fontTools", "cairo", "demo_engine"):
    sys.modules[name] = None
from click.testing import CliRunner
from spanreel.commands import doctor
done = CliRunner().invoke(doctor.command, [], catch_exceptions=False)
assert done.exit_code in (0, 4)
assert "fonts             not examined without the Python package fontTools" in done.stdout, done.stdout
"""
    subprocess.run([sys.executable, "-c", script], check=True)
