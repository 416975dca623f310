"""The converted model in the user's cache: written whole or not at all, under a lock, and checked before use."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock

from demo_engine.errors import EnvironmentLackError, UsageError
from demo_engine.weights.model_config import read_model_config
from demo_engine.weights.package import SHA256, file_sha256, find_gguf
from demo_engine.weights.safetensors_header import check_safetensors

DEFAULT_MODEL = "SmolLM2-135M-Instruct"
MANIFEST = "manifest.json"
FILES = ("config.json", "model.safetensors", "tokenizer.json")
_FORMAT = 1  # raised when the conversion changes, so that older folders are made again


@dataclass(frozen=True)
class ModelFolder:
    """A folder with ``config.json``, ``model.safetensors`` and ``tokenizer.json``."""

    path: Path
    id: str
    label: str
    """Short name, such as ``SmolLM2-135M``."""
    sha256: dict[str, str]
    """Digest of each file."""

    @property
    def size_bytes(self) -> int:
        """Size of all its files."""
        return sum((self.path / name).stat().st_size for name in self.sha256)

    def config(self) -> dict[str, Any]:
        """Read ``config.json``.

        Raises:
            UsageError: It is no configuration of a model.
        """
        return read_model_config(self.path / "config.json")


def cache_root() -> Path:
    """Return the folder for what can be made again: ``$SPANREEL_CACHE``, or ``spanreel`` in the XDG cache."""
    own = os.environ.get("SPANREEL_CACHE")
    if own:
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "spanreel"


def open_model(name: str = DEFAULT_MODEL) -> ModelFolder:
    """Return the default model, converted if need be, or the Llama-type model in a folder.

    Raises:
        UsageError: The name is neither the default model's nor such a folder, or its weights are not what they claim.
        EnvironmentLackError: The default model's package is missing or corrupt.
    """
    if name == DEFAULT_MODEL:
        return prepare_default_model()
    path = Path(name).expanduser()
    missing = [file for file in FILES if not (path / file).is_file()]
    if missing:
        raise UsageError(
            f"model {name!r}: {', '.join(missing)} not found; give {DEFAULT_MODEL} or a folder that holds them"
        )
    check_safetensors(path / "model.safetensors")
    label = path.resolve().name
    return ModelFolder(path, label, label, {file: file_sha256(path / file) for file in FILES})


def prepare_default_model() -> ModelFolder:
    """Return the default model's folder, converting the packaged file on first use.

    Raises:
        EnvironmentLackError: The package is missing or corrupt.
    """
    folder = cache_root() / "models" / f"{DEFAULT_MODEL.lower()}-{SHA256[:8]}-v{_FORMAT}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_suffix(".lock")):
        digests = _checked_digests(folder)
        if digests is None:
            _convert(find_gguf(), folder)
            digests = _checked_digests(folder)
    if digests is None:
        raise EnvironmentLackError(f"the converted model in {folder} cannot be read back; is the disk full?")
    return ModelFolder(folder, DEFAULT_MODEL, "SmolLM2-135M", digests)


def _checked_digests(folder: Path) -> dict[str, str] | None:
    """Return the recorded digests if every file still has its own, else None."""
    try:
        digests: dict[str, str] = json.loads((folder / MANIFEST).read_text())["files"]
        intact = set(digests) == set(FILES) and all(file_sha256(folder / name) == digests[name] for name in FILES)
    except (OSError, ValueError, KeyError):
        return None
    return digests if intact else None


def _convert(gguf_file: Path, folder: Path) -> None:
    from gguf import GGUFReader  # 0.4 s that only a conversion needs
    from safetensors.numpy import save_file

    from demo_engine.weights.gguf_header import check_gguf
    from demo_engine.weights.gguf_tensors import read_config, read_tensors
    from demo_engine.weights.gguf_tokenizer import read_tokenizer

    with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as staging:
        staged = Path(staging) / "model"
        staged.mkdir()
        check_gguf(gguf_file)
        reader = GGUFReader(gguf_file)
        config = read_config(reader)
        (staged / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")
        save_file(read_tensors(reader, config), staged / "model.safetensors", metadata={"format": "pt"})
        read_tokenizer(reader).save(str(staged / "tokenizer.json"))
        digests = {name: file_sha256(staged / name) for name in FILES}
        (staged / MANIFEST).write_text(json.dumps({"source_sha256": SHA256, "files": digests}, indent=2) + "\n")
        if folder.exists():
            shutil.rmtree(folder)
        os.replace(staged, folder)
