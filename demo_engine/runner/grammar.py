"""JSON schemas as grammars: which tokens may come next in a reply that must follow one.

They are compiled in the engine process, because it needs a mask before each token, and a grammar cannot travel between
processes. A compile takes about a millisecond, less than a layer, and the limits end the worst within about a tenth of
a second, so it needs no thread of its own. Only the tables of the tokenizer take longer; they are made once.
"""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from torch import Tensor

if TYPE_CHECKING:
    from llguidance import LLMatcher, LLTokenizer

MAX_CACHED = 32
_MAX_REASON = 200


class SchemaError(Exception):
    """A schema cannot be followed."""


class TokenGrammar:
    """What one reply must be, and how far it has come."""

    def __init__(self, matcher: LLMatcher) -> None:
        self.failure: str | None = None
        self._matcher = matcher

    def mask(self, logits: Tensor) -> Tensor | None:
        """Return the logits with -inf for each token that may not come next.

        Args:
            logits: ``[vocab_size]``.

        Returns:
            ``None`` if the grammar has become too complex; ``failure`` then says so.
        """
        bits = np.frombuffer(self._matcher.compute_bitmask(), np.uint8)
        if self._matcher.is_error():
            self.failure = _reason(self._matcher)
            return None
        allowed = np.unpackbits(bits, count=len(logits), bitorder="little")
        return logits.masked_fill(torch.from_numpy(allowed == 0).to(logits.device), -torch.inf)

    def accept(self, token_id: int) -> bool:
        """Move on by a token that the mask allowed; return whether nothing can follow it."""
        self._matcher.consume_token(token_id)
        return self._matcher.is_stopped()


class Compiled(NamedTuple):
    """A grammar, and what it took."""

    grammar: TokenGrammar
    tables_ns: int
    """Time for the tokenizer's tables; 0 except the first time."""
    compile_ns: int
    """Time for the schema and its first mask."""
    is_cached: bool
    """Whether the schema had been compiled before."""


class Grammars:
    """Compiles schemas, and keeps the last ones.

    Args:
        tokenizer_file: ``tokenizer.json``.
        vocab_size: Tokens that the model's logits stand for.
        stop_token_ids: Tokens that may end a reply.
    """

    def __init__(self, tokenizer_file: Path, vocab_size: int, stop_token_ids: Collection[int]) -> None:
        self._tokenizer_file = tokenizer_file
        self._vocab_size = vocab_size
        self._stop_token_ids = sorted(stop_token_ids)
        self._tables: LLTokenizer | None = None
        self._matchers: OrderedDict[bytes, LLMatcher] = OrderedDict()

    def make_tables(self) -> LLTokenizer:
        """Return the tables that every grammar shares, made at the first call.

        Raises:
            SchemaError: The library for grammars is not installed.
        """
        if self._tables is None:
            try:
                from llguidance import LLTokenizer
            except ImportError:
                raise SchemaError("JSON schemas are not available here; install llguidance") from None
            self._tables = LLTokenizer(
                self._tokenizer_file.read_text(), n_vocab=self._vocab_size, eos_token=self._stop_token_ids
            )
        return self._tables

    def compile(self, schema: str) -> Compiled:
        """Return the grammar of a JSON schema.

        Raises:
            SchemaError: It is no schema, uses what is not supported, allows nothing, or is too complex.
        """
        tables_ns = 0
        start_ns = time.perf_counter_ns()
        if self._tables is None:
            self.make_tables()
            tables_ns = time.perf_counter_ns() - start_ns
        digest = hashlib.sha256(schema.encode()).digest()
        is_cached = digest in self._matchers
        matcher = self._matchers[digest] if is_cached else _compile(self.make_tables(), schema)
        self._keep(digest, matcher)
        grammar = TokenGrammar(matcher.deep_copy())
        return Compiled(grammar, tables_ns, time.perf_counter_ns() - start_ns - tables_ns, is_cached)

    def _keep(self, digest: bytes, matcher: LLMatcher) -> None:
        self._matchers[digest] = matcher
        self._matchers.move_to_end(digest)
        if len(self._matchers) > MAX_CACHED:
            self._matchers.popitem(last=False)


def _compile(tables: LLTokenizer, schema: str) -> LLMatcher:
    """Compile a schema and compute its first mask, which shows whether anything can follow it at all."""
    from llguidance import LLMatcher, LLParserLimits

    limits = LLParserLimits(
        initial_lexer_fuel=300_000, max_grammar_size=20_000, max_lexer_states=20_000, verbose_errors=False
    )
    try:
        grammar = LLMatcher.grammar_from_json_schema(
            schema,
            overrides={  # free white space would let a small model write nothing else
                "whitespace_flexible": False, "item_separator": ", ", "key_separator": ": ", "lenient": False,
            },
        )  # fmt: skip
    except ValueError as error:
        raise SchemaError(f"the schema cannot be read: {error}") from error
    matcher = LLMatcher(tables, grammar, log_level=0, limits=limits)
    if not matcher.is_error():
        matcher.compute_bitmask()
    if matcher.is_error():
        raise SchemaError(_reason(matcher))
    return matcher


def _reason(matcher: LLMatcher) -> str:
    error = " ".join(matcher.get_error().split())
    return f"the schema cannot be followed: {error[:_MAX_REASON]}"
