"""The shape of the source: what a reader may rely on anywhere in the tree."""

from __future__ import annotations

import re
import statistics
import sys
from pathlib import Path

import pytest

import kernels

ROOT = Path(__file__).parents[1]
PACKAGES = ("kernels", "demo_engine", "traces", "scenes", "slides", "build/spanreel")
HEX_COLOUR = re.compile(r"""["'\s:(]#(?:[0-9a-fA-F]{3}){1,2}\b""")


def modules(*folders: str) -> list[Path]:
    """Return the Python files below folders of the checkout."""
    return [file for folder in folders for file in sorted((ROOT / folder).rglob("*.py"))]


def test_modules_are_small() -> None:
    """Half of the modules have at most 120 lines, and none has more than 400."""
    lengths = {file: len(file.read_text().splitlines()) for file in modules(*PACKAGES)}
    assert {file.name: length for file, length in lengths.items() if length > 400} == {}
    assert statistics.median(lengths.values()) <= 120


def test_scripts_of_the_page_are_small() -> None:
    """No script and no style sheet of the deck has more than 400 lines."""
    files = [file for kind in ("*.js", "*.css") for file in (ROOT / "slides").rglob(kind)]
    assert files
    assert {file.name: length for file in files if (length := len(file.read_text().splitlines())) > 400} == {}


def test_kernels_are_ours() -> None:
    """Another distribution has a package of the same name; uninstall it (``pip uninstall kernels``) if this fails."""
    assert Path(kernels.__file__).is_relative_to(ROOT)
    assert not hasattr(kernels, "__version__")


def test_no_scene_hides_a_standard_module() -> None:
    """Manim puts a scene's own folder first on the path, so a ``queue.py`` there would replace the standard one."""
    shadowed = {file.stem for file in modules("scenes")} & (sys.stdlib_module_names | {"manim", "numpy", "av", "cairo"})
    assert shadowed - {"__init__", "__main__"} == set()


def test_tests_are_not_packages() -> None:
    """A ``tests/kernels/__init__.py`` would make ``kernels`` mean the test folder."""
    assert list((ROOT / "tests").rglob("__init__.py")) == []


def test_build_is_a_source_root_and_no_package() -> None:
    """``build/__init__.py`` would hide the packaging tool of that name."""
    assert not (ROOT / "build" / "__init__.py").exists()
    assert "!/build/" in (ROOT / ".gitignore").read_text().splitlines()


@pytest.mark.parametrize("pattern", ["scenes/**/*.py", "slides/**/*.py", "slides/**/*.css", "slides/**/*.j2"])
def test_colours_stand_in_the_theme_alone(pattern: str) -> None:
    """``theme.toml`` is the one place for colours, for film and page alike."""
    found = {file.name: HEX_COLOUR.findall(file.read_text()) for file in ROOT.glob(pattern)}
    assert {name: colours for name, colours in found.items() if colours} == {}


def test_make_runs_every_verb_whatever_files_are_there() -> None:
    """Every target is phony: a folder called build must not satisfy a verb, and no target removes it."""
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z][a-z-]*):", makefile, re.MULTILINE))
    phony = re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    assert phony is not None
    assert targets == set(phony[1].split())
    assert {"deck", "present", "profile", "bench", "test", "check"} <= targets
    assert "clean" not in targets
