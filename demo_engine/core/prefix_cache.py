"""Which full block holds which tokens after which beginning."""

from __future__ import annotations

import hashlib
import secrets
from array import array

Digest = bytes


class PrefixCache:
    """Finds a block by a digest that chains its tokens to all tokens before them.

    The digest is keyed with a number that each process draws anew, so that nobody can construct prompts that meet.
    The tokens are compared as well: a digest that meets by chance is a miss, never somebody else's text.
    """

    def __init__(self) -> None:
        self._key = secrets.token_bytes(16)
        self._blocks: dict[Digest, int] = {}
        self._contents: dict[int, tuple[Digest, tuple[int, ...]]] = {}

    def __contains__(self, block: int) -> bool:
        """Return whether the block can be found."""
        return block in self._contents

    def digest(self, before: Digest, token_ids: tuple[int, ...]) -> Digest:
        """Return the digest of a block.

        Args:
            before: Digest of the block before it; empty for the first.
            token_ids: The block's tokens.
        """
        data = before + array("q", token_ids).tobytes()
        return hashlib.blake2b(data, digest_size=16, key=self._key).digest()

    def find(self, digest: Digest, token_ids: tuple[int, ...]) -> int | None:
        """Return the block that holds these tokens after this beginning, if there is one."""
        block = self._blocks.get(digest)
        return block if block is not None and self._contents[block][1] == token_ids else None

    def add(self, block: int, digest: Digest, token_ids: tuple[int, ...]) -> None:
        """Make a full block findable, unless another one holds the same."""
        if block not in self._contents and digest not in self._blocks:
            self._blocks[digest] = block
            self._contents[block] = (digest, token_ids)

    def forget(self, block: int) -> None:
        """Make a block unfindable before its content changes."""
        if block in self._contents:
            del self._blocks[self._contents.pop(block)[0]]

    def check_integrity(self) -> None:
        """Hold both directions against each other.

        Raises:
            RuntimeError: A digest names a block that does not carry it, or the other way round.
        """
        if {block: digest for digest, block in self._blocks.items()} != {
            block: digest for block, (digest, _) in self._contents.items()
        }:
            raise RuntimeError("the prefix cache's two directions disagree")
