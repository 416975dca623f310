"""The engine's settings, under the names that vLLM gives them: each is one line here, a flag, and in the trace."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal


def option(default: Any, meaning: str, low: int = 0) -> Any:
    """Describe a setting: its default, what it does, and the least value of a number."""
    return field(default=default, metadata={"meaning": meaning, "low": low})


@dataclass(frozen=True, slots=True)
class EngineConfig:
    """Settings of one engine.

    Prefix caching is off unless asked for: otherwise the second of two equal measurements would find its own prompt.
    """

    block_size: int = option(16, "tokens in a KV-cache block", low=1)
    num_kv_blocks: int = option(1024, "size of the KV-cache pool in blocks (vLLM: num_gpu_blocks_override)", low=1)
    max_num_seqs: int = option(8, "most requests that run in one step", low=1)
    max_num_batched_tokens: int = option(2048, "token budget of one step", low=1)
    max_model_len: int = option(8192, "most tokens of a request, prompt and output together", low=2)
    batching: Literal["continuous", "static"] = option("continuous", "static: admit when the last batch is over")
    scheduling_policy: Literal["fcfs", "priority"] = option("fcfs", "who is served first, and preempted last")
    enable_chunked_prefill: bool = option(True, "spread a prompt over several steps where it does not fit into one")
    long_prefill_token_threshold: int = option(0, "most tokens of one prompt in a step, its chunk; 0: the budget")
    use_kv_cache: bool = option(True, "without, every token computes everything before it again")
    enable_prefix_caching: bool = option(False, "reuse blocks of prompts that begin alike")
    batch_invariant: bool = option(True, "the same bits in any batch; without, a faster product for a single token")
    quantization: Literal["none", "int8", "int8_rows"] = option("none", "int8 products; int8_rows: faster and worse")
    num_speculative_tokens: int = option(0, "most tokens that are guessed at once, and checked in one step")
    prompt_lookup_max: int = option(4, "guesses follow the last so many tokens where these stand earlier", low=1)
    prompt_lookup_min: int = option(2, "or at least the last so many", low=1)
    stop_hold_back: Literal["match", "fixed"] = option("match", "fixed: hold text back even if no stop string begins")
    tokens_per_frame: int = option(1, "tokens of a reply in one server-sent event", low=1)
    grammar_tables: Literal["first_use", "startup"] = option("first_use", "when to make the tables for JSON schemas")
    device: Literal["cpu", "cuda"] = option("cpu", "where the model runs")
    synchronize_steps: bool = option(False, "wait for a GPU after each forward pass, so that its time is its own")
    num_threads: int = option(1, "threads of the runner", low=1)
    tokenizer_mode: Literal["loop", "thread", "pool"] = option(
        "loop", "where prompts are tokenized: on the event loop, in a thread that still stops it, beside it"
    )
    tokenizer_workers: int = option(1, "threads that tokenize, unless the event loop does", low=1)
    replicas: int = option(1, "engine processes behind one API process", low=1)
    routing_policy: Literal["least_loaded", "round_robin", "prefix", "prefix_capped"] = option(
        "least_loaded", "which replica serves a request; prefix: the one that served prompts that begin alike"
    )
    routing_prefix_blocks: int = option(4, "blocks at the beginning of a prompt that make it alike", low=1)
    routing_load_cap: int = option(8, "prefix_capped: most load (4 x waiting + running) above the least loaded one's")

    requests_per_minute: int = option(0, "most requests of one key, unless the key has a limit of its own; 0: any")
    tokens_per_minute: int = option(0, "most tokens of one key, prompts and answers together; 0: any")
    limit_burst_s: int = option(60, "how many seconds' worth of both may come at once", low=1)

    @property
    def environment(self) -> dict[str, str]:
        """Return what the runner's process needs in its environment before torch is loaded."""
        return {
            "OMP_NUM_THREADS": str(self.num_threads),
            "OMP_WAIT_POLICY": "passive",  # a spinning thread would take the core that another process needs
        }

    @property
    def max_request_tokens(self) -> int:
        """Most tokens that one request can ever hold: the model's limit, the whole pool, or what one step computes."""
        limit = min(self.max_model_len, self.num_kv_blocks * self.block_size)
        return limit if self.may_chunk else min(limit, self.max_num_batched_tokens)

    @property
    def may_chunk(self) -> bool:
        """Whether what a request needs may be computed over several steps; that takes a cache which holds the first."""
        return self.enable_chunked_prefill and self.use_kv_cache

    @property
    def chunk_tokens(self) -> int:
        """Most tokens of one request in a step."""
        if not self.may_chunk or self.long_prefill_token_threshold == 0:
            return self.max_num_batched_tokens
        return min(self.long_prefill_token_threshold, self.max_num_batched_tokens)
