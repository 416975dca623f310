"""A replayed request that comes out otherwise is found, whatever differs."""

from __future__ import annotations

import msgspec
import pytest

from demo_engine.errors import UsageError
from demo_engine.experiments.replay import _differences, replay
from trace_factory import make_run, make_set


def changed(run, **changes):
    """Return the run with its request changed."""
    return msgspec.structs.replace(run, requests=[msgspec.structs.replace(run.requests[0], **changes)])


def test_the_same_run_has_no_differences():
    """Times may differ, what was computed may not."""
    assert list(_differences(make_run(), make_run(decode_ns=7_000_000))) == []


@pytest.mark.parametrize(
    "changes",
    [{"token_ids_sha256": "1" * 64}, {"num_cached_tokens": 16}, {"num_output_tokens": 3}, {"finish_reason": "stop"}],
    ids=lambda changes: next(iter(changes)),
)
def test_what_a_request_computed_is_compared(changes):
    """Tokens, cache hits, lengths and the reason of the end."""
    (found,) = _differences(make_run(), changed(make_run(), **changes))
    assert next(iter(changes)) in found


def test_the_steps_of_a_request_alone_are_compared():
    """Another batch or another number of blocks is another computation."""
    before = make_run()
    blocks = [value + 1 for value in before.steps.kv_blocks_used]
    again = msgspec.structs.replace(before, steps=msgspec.structs.replace(before.steps, kv_blocks_used=blocks))
    assert list(_differences(before, again)) == ["the steps' kv_blocks_used differ"]


def test_a_request_that_was_refused_is_not_compared():
    """Whether a queue is full depends on timing."""
    assert list(_differences(make_run(), changed(make_run(), finish_reason="error", token_ids_sha256=None))) == []


def test_a_set_of_another_model_is_a_users_mistake(tmp_path):
    """The hand-made set names no weights that are here."""
    with pytest.raises(UsageError, match="was recorded with test/model; give that model with --model"):
        replay(make_set(tmp_path), 1, None)
