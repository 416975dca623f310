"""Grammars: what they let through follows the schema, they touch no neighbour, and hostile ones are refused."""

from __future__ import annotations

import contextlib
import json
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.engine

torch = pytest.importorskip("torch")
pytest.importorskip("llguidance")

from byte_tokenizer import STOP_ID, write_byte_tokenizer  # noqa: E402 (after the packages are known to be here)
from demo_engine.api.detokenizer import token_bytes  # noqa: E402
from demo_engine.core.request import EngineRequest, SamplingParams  # noqa: E402
from demo_engine.runner import grammar as grammar_module  # noqa: E402
from demo_engine.runner.grammar import Grammars, SchemaError  # noqa: E402
from demo_engine.runner.sampler import sample  # noqa: E402

VOCAB_SIZE = 499
SHORT_TEXT = {"type": "string", "maxLength": 5}
PERSON = {
    "type": "object",
    "properties": {"name": SHORT_TEXT, "age": {"type": "integer", "minimum": 0, "maximum": 150}},
    "required": ["name", "age"],
    "additionalProperties": False,
}
SCHEMAS = {
    "person": (PERSON, lambda v: list(v) == ["name", "age"] and len(v["name"]) <= 5 and 0 <= v["age"] <= 150),
    "enum": ({"enum": ["red", "gr☕n", 7, None]}, lambda v: v in ("red", "gr☕n", 7, None)),
    "flags": (
        {"type": "array", "items": {"type": "boolean"}, "minItems": 1, "maxItems": 3},
        lambda v: 1 <= len(v) <= 3 and all(isinstance(flag, bool) for flag in v),
    ),
    "people": (
        {"type": "array", "items": {"$ref": "#/$defs/p"}, "maxItems": 2, "$defs": {"p": PERSON}},
        lambda v: len(v) <= 2 and all(list(person) == ["name", "age"] for person in v),
    ),
    "either": ({"anyOf": [SHORT_TEXT, {"type": "null"}]}, lambda v: v is None or len(v) <= 5),
    "date": ({"type": "string", "format": "date"}, lambda v: len(v) == 10 and v[4] == v[7] == "-"),
    "pattern": ({"type": "string", "pattern": "^[a-c][0-9]$"}, lambda v: v[0] in "abc" and v[1:].isdigit()),
}  # fmt: skip


@pytest.fixture(scope="module")
def tokenizer_file(tmp_path_factory):
    """The small tokenizer."""
    return write_byte_tokenizer(tmp_path_factory.mktemp("tokenizer"))


@pytest.fixture(scope="module")
def grammars(tokenizer_file):
    """Its grammars."""
    return Grammars(tokenizer_file, VOCAB_SIZE, {STOP_ID})


@pytest.fixture(scope="module")
def table(tokenizer_file):
    """The bytes of each token."""
    vocabulary = json.loads(tokenizer_file.read_text())["model"]["vocab"]
    return token_bytes(vocabulary, frozenset(range(3)))


def logits_for(seed: int, rows: int = 1):
    """Return random logits; all tokens are about as likely."""
    return torch.randn(rows, VOCAB_SIZE, generator=torch.Generator().manual_seed(seed))


def write(grammars, schema, sampling: SamplingParams) -> list[int]:
    """Let random logits write a reply under a schema until nothing can follow."""
    compiled = grammars.compile(json.dumps(schema))
    request = EngineRequest("r", (1,), sampling, grammar=compiled.grammar)
    for step in range(200):
        ((chosen,),) = sample(logits_for(sampling.seed * 1000 + step), [request])
        request.output_ids.append(chosen.token_id)
        if chosen.is_complete or chosen.token_id == STOP_ID:
            return request.output_ids
    raise AssertionError("it has no end")


@pytest.mark.parametrize("name", SCHEMAS)
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), temperature=st.sampled_from([0.0, 0.7, 2.0]), data=st.data())
def test_whatever_the_model_prefers_the_reply_follows_the_schema(grammars, table, name, seed, temperature, data):
    """Random preferences, greedy and drawn, cut and penalised: it parses, holds, and is written without a gap."""
    schema, holds = SCHEMAS[name]
    cuts = data.draw(
        st.fixed_dictionaries(
            {}, optional={"top_k": st.integers(1, 9), "top_p": st.floats(0.1, 1), "repetition_penalty": st.just(1.3)}
        )
    )
    ids = write(grammars, schema, SamplingParams(999, temperature, seed, **cuts))
    text = b"".join(table[token_id] for token_id in ids if token_id != STOP_ID).decode()
    assert holds(json.loads(text)), text


def test_a_mask_leaves_the_neighbours_to_the_bit(grammars):
    """With a grammar in the row between them, the others choose the same tokens with the same numbers."""
    sampling = SamplingParams(9, temperature=1.0, seed=3, logprobs=4)
    logits = logits_for(1, rows=3)
    before = logits.clone()
    plain = [EngineRequest(name, (1,), sampling) for name in "abc"]
    alone = sample(logits, plain)
    masked = EngineRequest("b", (1,), sampling, grammar=grammars.compile(json.dumps(PERSON)).grammar)
    together = sample(logits, [plain[0], masked, plain[2]])
    assert (together[0], together[2]) == (alone[0], alone[2])
    assert together[1][0].token_id != alone[1][0].token_id
    assert torch.equal(logits, before)


def test_log_probabilities_stay_the_models_own(grammars):
    """They are of the unmasked logits, however unlikely the model found the token."""
    request = EngineRequest(
        "r", (1,), SamplingParams(9, logprobs=2), grammar=grammars.compile(json.dumps(PERSON)).grammar
    )
    logits = logits_for(2)
    ((chosen,),) = sample(logits, [request])
    own = torch.log_softmax(logits[0].double(), -1)
    assert chosen.logprobs.chosen == own[chosen.token_id]
    assert [token_id for token_id, _ in chosen.logprobs.top] == own.topk(2).indices.tolist()
    assert chosen.mask_ns > 0


def test_tables_are_made_once_and_a_schema_is_compiled_once(tokenizer_file):
    """The first schema pays for the tables, the second only for itself, a known one for neither."""
    grammars = Grammars(tokenizer_file, VOCAB_SIZE, {STOP_ID})
    first, second, again = (grammars.compile(schema) for schema in ('{"type":"null"}', "{}", '{"type":"null"}'))
    assert first.tables_ns > 0
    assert second.tables_ns == again.tables_ns == 0
    assert [first.is_cached, second.is_cached, again.is_cached] == [False, False, True]
    assert first.grammar is not again.grammar


def test_two_replies_under_one_schema_do_not_disturb_each_other(grammars, table):
    """Each goes its own way through its own copy."""
    one, two = (grammars.compile('{"enum":["ab","cd"]}').grammar for _ in range(2))
    for letter in '"ab':
        assert not one.accept(table.index(letter.encode()))
    allowed = torch.isfinite(two.mask(torch.zeros(VOCAB_SIZE))).nonzero().flatten().tolist()
    assert [table[token_id] for token_id in allowed] == [b'"']


def test_the_cache_of_schemas_is_bounded(tokenizer_file):
    """The schema that was not asked for longest is the one that is forgotten."""
    grammars = Grammars(tokenizer_file, VOCAB_SIZE, {STOP_ID})
    schemas = [json.dumps({"const": index}) for index in range(grammar_module.MAX_CACHED + 1)]
    for schema in schemas[:-1]:
        grammars.compile(schema)
    assert grammars.compile(schemas[0]).is_cached
    grammars.compile(schemas[-1])
    assert grammars.compile(schemas[0]).is_cached
    assert not grammars.compile(schemas[1]).is_cached


def nested(depth: int) -> dict:
    """Return objects in objects."""
    return {"type": "object", "properties": {"a": nested(depth - 1)}, "required": ["a"]} if depth else {"type": "null"}


HOSTILE = {
    "not JSON": "{",
    "no schema": json.dumps({"type": "banana"}),
    "wrong kinds": json.dumps({"properties": [1], "required": 3}),
    "half a surrogate": '{"const": "\\ud800"}',
    "unsupported": json.dumps({"not": {}}),
    "another file": json.dumps({"$ref": "file:///etc/passwd"}),
    "another host": json.dumps({"$ref": "http://127.0.0.1:9/x.json"}),
    "nothing allowed": json.dumps({"type": "integer", "minimum": 5, "maximum": 2}),
    "a circle": json.dumps({"$ref": "#"}),
    "a longer circle": json.dumps(
        {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}
    ),
    "products": json.dumps(
        {"allOf": [{"anyOf": [{"properties": {f"p{i}{j}": {}}} for j in range(3)]} for i in range(14)]}
    ),
    "a broken pattern": json.dumps({"type": "string", "pattern": "((("}),
    "a number beyond all": json.dumps({"type": "integer", "minimum": 10**300}),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_schema_that_cannot_be_followed_is_refused(grammars, name):
    """Each is told in one bounded line, and the next schema compiles as if nothing had been."""
    with pytest.raises(SchemaError) as refused:
        grammars.compile(HOSTILE[name])
    assert "\n" not in str(refused.value)
    assert 10 < len(str(refused.value)) < 300
    grammars.compile('{"type": "null"}')


@pytest.mark.parametrize(
    "schema",
    [
        nested(30), {"type": "string", "maxLength": 10**9}, {"type": "array", "minItems": 10**6},
        {"type": "string", "pattern": "^((a|b){1,500}){1,500}$"}, {"type": "string", "pattern": "(x+x+)+y"},
        {"enum": [f"value {index}" for index in range(1000)]}, {"properties": {f"p{i}": {} for i in range(500)}},
    ],
    ids=lambda schema: str(schema)[:30],
)  # fmt: skip
def test_a_large_schema_is_compiled_or_refused(grammars, schema):
    """What looks dangerous comes to an end, and what compiles has a first mask."""
    try:
        compiled = grammars.compile(json.dumps(schema))
    except SchemaError:
        return
    assert torch.isfinite(compiled.grammar.mask(torch.zeros(VOCAB_SIZE))).any()


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.text(max_size=5), values, max_size=3),
    max_leaves=12,
)
KEYWORDS = st.sampled_from([
    "type", "properties", "required", "items", "anyOf", "oneOf", "allOf", "not", "enum", "const", "$ref", "$defs",
    "pattern", "minLength", "maxItems", "minimum", "maximum", "additionalProperties", "format", "if", "then",
    "patternProperties", "prefixItems", "uniqueItems",
])  # fmt: skip
SCHEMA_LIKE = st.recursive(
    st.dictionaries(KEYWORDS, JSON_VALUES, max_size=4),
    lambda schemas: st.dictionaries(KEYWORDS, schemas | st.lists(schemas, max_size=3), max_size=4),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None)
@given(SCHEMA_LIKE)
def test_no_schema_does_more_than_be_refused(grammars, schema):
    """Any arrangement of keywords and values is compiled or refused, and nothing else is raised."""
    with contextlib.suppress(SchemaError):
        grammars.compile(json.dumps(schema))


def test_without_the_library_it_says_so(tokenizer_file, monkeypatch):
    """A machine that lacks the package serves everything else."""
    monkeypatch.setitem(sys.modules, "llguidance", None)
    with pytest.raises(SchemaError, match="not available here"):
        Grammars(tokenizer_file, VOCAB_SIZE, {STOP_ID}).compile("{}")
