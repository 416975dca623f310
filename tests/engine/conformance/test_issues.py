"""Issues that users of other servers have filed, as cases that this one must pass, all on one running server."""

from __future__ import annotations

import importlib

import pytest

from conformance.target import CASES

FAMILIES = (
    "text",
    "stops",
    "schemas",
    "leaving",
    "lengths",
    "sampling",
    "cache",
    "templates",
    "shapes",
    "numbers",
    "keys",
)
NUM_CASES = 90
pytestmark = [pytest.mark.slow, pytest.mark.engine]
executed: set[str] = set()

for family in FAMILIES:
    importlib.import_module(f"conformance.{family}")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(case, target):
    """The case holds, and leaves nothing running."""
    case.check(target)
    target.wait_until_idle()
    executed.add(case.name)


def test_every_case_was_executed(request):
    """All cases ran and none was left out, skipped or expected to fail."""
    collected = [item for item in request.session.items if item.name.startswith("test_case[")]
    assert len(CASES) == len({case.name for case in CASES}) == NUM_CASES
    if len(collected) == NUM_CASES:
        assert len(executed) == NUM_CASES
