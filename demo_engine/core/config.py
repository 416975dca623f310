"""The engine's settings, under the names that vLLM gives them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EngineConfig:
    """Settings of one engine."""

    block_size: int = 16
    """Tokens in a KV-cache block."""
    num_kv_blocks: int = 1024
    """Size of the KV-cache pool (vLLM: ``num_gpu_blocks_override``)."""
    max_num_seqs: int = 8
    """Most requests that run in one step."""
    max_num_batched_tokens: int = 2048
    """Token budget of one step; a longer prompt is prefilled in several."""
    max_model_len: int = 8192
    """Most tokens of a request, prompt and output together."""
    num_threads: int = 1
    """Threads of the runner."""

    @property
    def environment(self) -> dict[str, str]:
        """Return what the runner's process needs in its environment before torch is loaded."""
        return {
            "OMP_NUM_THREADS": str(self.num_threads),
            "OMP_WAIT_POLICY": "passive",  # a spinning thread would take the core that another process needs
        }

    @property
    def max_request_tokens(self) -> int:
        """Most tokens that one request can ever hold: the model's limit, or the whole pool."""
        return min(self.max_model_len, self.num_kv_blocks * self.block_size)
