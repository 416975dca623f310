"""Which source files draw a clip: its module and all that it imports from this checkout, found without running it.

A clip is drawn again when one of these files changes, and only then.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from spanreel import paths

RENDERER = "scenes.render.__main__"
_PACKAGES = ("scenes", "traces")


def clip_sources(module: str, root: Path = paths.ROOT) -> list[Path]:
    """Return the files that draw a clip, sorted: the renderer, the clip's module, and what they import.

    Args:
        module: The clip's module, such as ``scenes.clips.a00_grey_bar``.
        root: The checkout.
    """
    found: dict[str, Path] = {}
    waiting = [RENDERER, module]
    while waiting:
        name = waiting.pop()
        file = _file(name, root)
        if name in found or file is None:
            continue
        found[name] = file
        parents = name.split(".")[:-1]
        waiting += [".".join(parents[:depth]) for depth in range(1, len(parents) + 1)]
        waiting += _imports(file)
    return sorted(found.values())


def digest_files(files: Iterable[Path], root: Path = paths.ROOT) -> str:
    """Return one sha256 over names and contents, in the order given."""
    whole = hashlib.sha256()
    for file in files:
        name, data = file.relative_to(root).as_posix(), file.read_bytes()
        whole.update(f"{name}\0{len(data)}\0".encode() + data)
    return whole.hexdigest()


def _file(module: str, root: Path) -> Path | None:
    path = root.joinpath(*module.split("."))
    for candidate in (path.with_suffix(".py"), path / "__init__.py"):
        if candidate.is_file():
            return candidate
    return None


@cache
def _parsed(source: bytes) -> ast.Module:
    return ast.parse(source)


def _imports(file: Path) -> Iterator[str]:
    """Yield every module of ours that a file may import; ``from a import b`` may mean the module ``a.b``."""
    for node in ast.walk(_parsed(file.read_bytes())):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        yield from (name for name in names if name.split(".")[0] in _PACKAGES)
