"""The loop on a fake model: mixed steps, ends of all kinds, times that touch."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from demo_engine.core.config import EngineConfig
from demo_engine.core.loop import EngineLoop
from demo_engine.core.request import EngineRequest, Sampled, SamplingParams
from engine_fakes import STOP_ID, Collector, CountingRunner, FakeClock, expected_tokens


def make_loop(config: EngineConfig, poll=lambda: None):
    """Return a loop on the fake model, and what it hands out."""
    output, clock = Collector(), FakeClock()
    loop = EngineLoop(config, CountingRunner(config.block_size, clock), output, clock, poll)
    return loop, output


@given(budget=st.integers(1, 50))
def test_no_step_exceeds_the_token_budget(budget):
    """However long the prompts are, a step computes at most ``max_num_batched_tokens`` tokens."""
    loop, _ = make_loop(EngineConfig(max_num_batched_tokens=budget, max_num_seqs=3))
    for index in range(4):
        loop.submit(EngineRequest(f"r{index}", tuple(range(1, 20)), SamplingParams(3)))
    while loop.has_work:
        loop.step()
    columns = loop.log.columns(0, loop.log.num_steps - 1)
    assert all(p + d <= budget for p, d in zip(columns["prefill_tokens"], columns["decode_tokens"], strict=True))


def test_prefill_joins_a_running_decode_in_one_step():
    """A request that arrives while another decodes is prefilled in the very next step, beside that decode."""
    loop, _ = make_loop(EngineConfig())
    loop.submit(EngineRequest("first", (1, 2, 3), SamplingParams(8)))
    loop.step()
    loop.submit(EngineRequest("second", (4, 5, 6, 7), SamplingParams(8)))
    loop.step()
    columns = loop.log.columns(0, 1)
    assert columns["prefill_tokens"] == [3, 4]
    assert columns["decode_tokens"] == [0, 1]
    assert loop.log.ids(1, 1)[0] == [["first", "second"]]


def test_a_preempted_request_is_computed_again_and_gives_the_same_tokens():
    """With too few blocks for two, the later one is preempted, recorded as such, and loses no token."""
    loop, output = make_loop(EngineConfig(block_size=4, num_kv_blocks=5))
    prompts = {"first": (1, 2, 3, 4, 5, 6, 7), "second": (11, 12, 13, 14, 15, 16, 17)}
    for name, prompt in prompts.items():
        loop.submit(EngineRequest(name, prompt, SamplingParams(8)))
    while loop.has_work:
        loop.step()
    preempted = loop.log.ids(0, loop.log.num_steps - 1)[1]
    assert ["second"] in preempted
    assert output.tokens_by_id == {name: expected_tokens(prompt, 8) for name, prompt in prompts.items()}


def test_the_stop_token_ends_a_request_unless_it_is_ignored():
    """A stop token finishes with ``stop``; with ``ignore_eos`` the request runs to its length."""
    for ignore_eos, reason in ((False, "stop"), (True, "length")):
        loop, output = make_loop(EngineConfig())
        loop._runner.sample = lambda logits, requests: [[Sampled(STOP_ID)]] * len(requests)
        loop.submit(EngineRequest("r", (1, 2), SamplingParams(3, ignore_eos=ignore_eos)))
        while loop.has_work:
            loop.step()
        assert output.reasons == {"r": reason}


def test_a_prompt_that_is_cancelled_between_layers_is_given_up():
    """The step ends without tokens, is recorded, and frees the blocks; a neighbour's token comes one step later."""
    loop = None
    polls = iter(range(100))

    def poll():
        if next(polls) == 3:
            loop.cancel("long")

    loop, output = make_loop(EngineConfig(), poll)
    loop.submit(EngineRequest("neighbour", (1, 2), SamplingParams(5)))
    loop.step()
    loop.submit(EngineRequest("long", tuple(range(1, 50)), SamplingParams(5)))
    loop.step()
    assert loop.log.num_steps == 2
    assert output.tokens_by_id == {"neighbour": expected_tokens((1, 2), 1)}
    assert [request.id for request in loop.scheduler] == ["neighbour"]
    while loop.has_work:
        loop.step()
    assert output.tokens_by_id == {"neighbour": expected_tokens((1, 2), 5)}
    assert loop.scheduler.blocks.num_used == 0


def cancel_in_layer_3(second_prompt: tuple[int, ...], num_steps: int):
    """Cancel ``gone`` in the third of five layers; return the loop, its output, and the free blocks at each layer.

    Args:
        second_prompt: Of ``gone``, which comes one step after its neighbour.
        num_steps: Steps before the one in which it is cancelled.
    """
    free_at_beats: list[int] = []

    def poll():
        if loop.log.num_steps == num_steps:
            free_at_beats.append(loop.scheduler.blocks.num_free)
            if len(free_at_beats) == 3:
                loop.cancel("gone")

    output, config = Collector(), EngineConfig(block_size=4, num_kv_blocks=20, enable_prefix_caching=True)
    loop = EngineLoop(config, CountingRunner(4, num_layers=5), output, FakeClock(), poll)
    loop.submit(EngineRequest("stays", (1, 2, 5), SamplingParams(6)))
    loop.step()
    loop.submit(EngineRequest("gone", second_prompt, SamplingParams(9)))
    while loop.log.num_steps <= num_steps:
        loop.step()
        loop.scheduler.blocks.check_integrity(loop.scheduler)
    return loop, output, free_at_beats


def test_a_decode_that_is_cancelled_beside_another_has_freed_its_blocks_at_the_next_layer():
    """The step goes on, the neighbour's token comes with it, and the cancelled request's token is dropped."""
    loop, output, free_at_beats = cancel_in_layer_3(tuple(range(10, 19)), num_steps=3)
    assert free_at_beats == [15, 15, 15, 18, 18]
    assert loop.log.ids(3, 3)[0] == [["stays", "gone"]]
    assert output.tokens_by_id["gone"] == expected_tokens(tuple(range(10, 19)), 2)
    assert output.tokens_by_id["stays"] == expected_tokens((1, 2, 5), 4)
    while loop.has_work:
        loop.step()
    assert output.tokens_by_id["stays"] == expected_tokens((1, 2, 5), 6)
    assert loop.scheduler.blocks.num_used == 0


def test_a_prompt_that_is_cancelled_beside_a_decode_has_freed_its_blocks_and_left_nothing_to_find():
    """The step is given up at the next layer; blocks that it has filled in part are no prefix of anybody's."""
    prompt = tuple(range(10, 30))
    loop, output, free_at_beats = cancel_in_layer_3(prompt, num_steps=1)
    assert free_at_beats == [14, 14, 14]
    assert loop.scheduler.blocks.num_free == 19
    loop.submit(EngineRequest("again", prompt, SamplingParams(3)))
    while loop.has_work:
        loop.step()
    assert output.cached_by_id["again"] == 0
    assert output.tokens_by_id == {
        "stays": expected_tokens((1, 2, 5), 6), "again": expected_tokens(prompt, 3)
    }  # fmt: skip


def test_a_decode_that_is_cancelled_alone_in_its_step_ends_between_two_layers():
    """A step that nobody waits for makes no token, and its blocks are free when it ends."""
    loop = None
    polls = iter(range(100))

    def poll():
        if next(polls) == 4:
            loop.cancel("gone")

    loop, output = make_loop(EngineConfig(), poll)
    loop.submit(EngineRequest("gone", (1, 2, 3), SamplingParams(9)))
    while loop.has_work:
        loop.step()
    assert output.tokens_by_id == {"gone": expected_tokens((1, 2, 3), loop.log.num_steps - 1)}
    assert loop.scheduler.blocks.num_used == 0


def test_the_five_instants_of_a_step_are_in_order_and_steps_do_not_overlap():
    """Each step's four durations touch, and the next step begins no earlier than this one ends."""
    loop, _ = make_loop(EngineConfig())
    loop.submit(EngineRequest("r", (1, 2, 3), SamplingParams(6)))
    while loop.has_work:
        loop.step()
    columns = loop.log.columns(0, loop.log.num_steps - 1)
    ends = 0
    for start, *durations in zip(
        *(columns[name] for name in ("start_ns", "plan_ns", "forward_ns", "sample_ns", "emit_ns")), strict=True
    ):
        assert start > ends
        assert all(duration > 0 for duration in durations)
        ends = start + sum(durations)


def test_a_request_is_reported_as_started_once():
    """Leaving the queue is told with the first step only, not with later chunks of the same prompt."""
    loop, output = make_loop(EngineConfig(max_num_batched_tokens=4))
    loop.submit(EngineRequest("r", tuple(range(1, 12)), SamplingParams(2)))
    while loop.has_work:
        loop.step()
    assert output.started_ids == ["r"]


def test_without_a_kv_cache_each_token_computes_everything_before_it():
    """The answer is the same; each step computes the whole context, as a prompt is computed, in the blocks it had."""
    loop, output = make_loop(EngineConfig(block_size=4, use_kv_cache=False))
    loop.submit(EngineRequest("r", (1, 2, 3), SamplingParams(6)))
    while loop.has_work:
        loop.step()
    columns = loop.log.columns(0, 5)
    assert columns["prefill_tokens"] == [3, 4, 5, 6, 7, 8]
    assert columns["decode_tokens"] == [0] * 6
    assert columns["kv_blocks_used"] == [1, 1, 2, 2, 2, 2]
    assert output.tokens_by_id == {"r": expected_tokens((1, 2, 3), 6)}


def test_without_a_kv_cache_requests_that_do_not_fit_together_take_turns():
    """The first one's context always fits; the other goes on once there is room, and both have their tokens."""
    config = EngineConfig(max_num_batched_tokens=16, use_kv_cache=False)
    assert config.max_request_tokens == config.chunk_tokens == 16
    loop, output = make_loop(config)
    prompts = {"first": (1, 2, 3, 4), "second": (5, 6, 7, 8, 9)}
    for name, prompt in prompts.items():
        loop.submit(EngineRequest(name, prompt, SamplingParams(11)))
    while loop.has_work:
        loop.step()
    assert max(loop.log.columns(0, loop.log.num_steps - 1)["prefill_tokens"]) <= 16
    assert output.tokens_by_id == {name: expected_tokens(prompt, 11) for name, prompt in prompts.items()}


class CountedGrammar:
    """Lets nothing follow its last token; fails at one that it is told."""

    def __init__(self, num_tokens: int, failing_at: int | None = None) -> None:
        self.failure: str | None = None
        self._num_left = num_tokens
        self._failing_at = failing_at

    def mask(self, logits):
        """Return what was given, or nothing once it fails."""
        if self._num_left == self._failing_at:
            self.failure = "too complex"
            return None
        return logits

    def accept(self, token_id):
        """Count the token."""
        self._num_left -= 1
        return self._num_left == 0


def sample_with_grammars(logits, requests):
    """Choose as the fake model does, and ask each grammar as the real sampler would."""
    chosen = []
    for (token,), request in zip(logits, requests, strict=True):
        if request.grammar is None:
            chosen.append([Sampled(token)])
        elif request.grammar.mask(token) is None:
            chosen.append([])
        else:
            chosen.append([Sampled(token, is_complete=request.grammar.accept(token), mask_ns=70)])
    return chosen


def test_a_reply_ends_when_its_grammar_lets_nothing_follow():
    """Before its length, with its last token, and the step's record holds the time of the masks."""
    loop, output = make_loop(EngineConfig())
    loop._runner.sample = sample_with_grammars
    loop.submit(EngineRequest("json", (1, 2), SamplingParams(9), grammar=CountedGrammar(3)))
    loop.submit(EngineRequest("free", (3, 4), SamplingParams(5)))
    while loop.has_work:
        loop.step()
    assert output.reasons == {"json": "complete", "free": "length"}
    assert [len(output.tokens_by_id[name]) for name in ("json", "free")] == [3, 5]
    assert loop.log.columns(0, 4)["mask_ns"] == [70, 70, 70, 0, 0]


def test_a_grammar_that_fails_on_the_way_ends_its_request_alone():
    """It is a refusal, and not a fault of the engine; its blocks are freed and need not be erased."""
    loop, output = make_loop(EngineConfig())
    loop._runner.sample = sample_with_grammars
    loop.submit(EngineRequest("json", (1, 2), SamplingParams(9), grammar=CountedGrammar(4, failing_at=2)))
    loop.submit(EngineRequest("free", (3, 4), SamplingParams(5)))
    while loop.has_work:
        loop.step()
    assert output.refused_ids == ["json"]
    assert output.failed_ids == []
    assert output.tokens_by_id["free"] == expected_tokens((3, 4), 5)
    assert loop._runner.erased_ids == []
    assert loop.scheduler.blocks.num_used == 0


def test_a_grammar_survives_a_preemption():
    """What is computed again is not chosen again, so the grammar goes on where it was."""
    loop, output = make_loop(EngineConfig(block_size=4, num_kv_blocks=5))
    loop._runner.sample = sample_with_grammars
    prompts = {"first": (1, 2, 3, 4, 5, 6, 7), "second": (11, 12, 13, 14, 15, 16, 17)}
    for name, prompt in prompts.items():
        loop.submit(EngineRequest(name, prompt, SamplingParams(99), grammar=CountedGrammar(8)))
    while loop.has_work:
        loop.step()
    assert loop.log.num_preemptions > 0
    assert output.tokens_by_id == {name: expected_tokens(prompt, 8) for name, prompt in prompts.items()}
    assert set(output.reasons.values()) == {"complete"}
