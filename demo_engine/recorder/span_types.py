"""The span types of a request's path, in the order in which they follow one another."""

from __future__ import annotations

from traces.schema import Component, SpanType

EDGE = -1
"""Stands for the measured bracket between two processes of the serving side."""
CLIENT_EDGE = -2
"""Stands for the one between client and server."""

_TABLE = [
    SpanType("launch", "gateway", "cpu", "server process started", "API listens", "server", EDGE),
    SpanType("imports", "model", "cpu", "engine process started", "libraries imported", "server", EDGE),
    SpanType("load", "model", "cpu", "libraries imported", "model loaded", "server", 0),
    SpanType("ready", "router", "wait", "model loaded", "request sent", "client", EDGE),
    SpanType("prepare", "client", "cpu", "intended start", "connect called", "client", 0),
    SpanType("connect", "network", "network", "connect called", "connected", "client", 0),
    SpanType("tls", "network", "network", "connected", "TLS handshake done", "client", 0, "emulated"),
    SpanType("request", "network", "network", "connected", "headers read", "client", CLIENT_EDGE),
    SpanType("uplink", "network", "network", "connected", "request read", "client", CLIENT_EDGE, "emulated"),
    SpanType("forward", "gateway", "cpu", "request read by the proxy", "headers read", "server", EDGE),
    SpanType("receive", "gateway", "cpu", "headers read", "body accepted", "server", 0),
    SpanType("admit", "gateway", "cpu", "body accepted", "limits checked", "server", 0),
    SpanType("handoff", "tokenizer", "wait", "body accepted", "a worker began", "server", 0),
    SpanType("template", "tokenizer", "cpu", "body accepted", "prompt text ready", "server", 0),
    SpanType("encode", "tokenizer", "cpu", "prompt text ready", "token ids ready", "server", 0),
    SpanType("handback", "tokenizer", "wait", "token ids ready", "event loop went on", "server", 0),
    SpanType("route", "router", "cpu", "token ids ready", "replica chosen", "server", 0),
    SpanType("submit", "queue", "wait", "replica chosen", "engine read the message", "server", EDGE),
    SpanType("lost", "router", "wait", "replica chosen or message read", "replica found lost", "server", 0),
    SpanType("grammar", "tokenizer", "cpu", "engine read the message", "grammar ready", "server", 0),
    SpanType("engine", "model", "cpu", "request queued", "last token handed out", "server", 0),
    SpanType("queue", "queue", "wait", "request queued", "first step begins", "server", 0),
    SpanType("plan", "queue", "cpu", "step begins", "batch ready", "server", 0),
    SpanType("prefill", "model", "cpu", "batch ready", "logits ready", "server", 0),
    SpanType("decode", "model", "cpu", "batch ready", "logits ready", "server", 0),
    SpanType("sample", "sampler", "cpu", "logits ready", "token ids known", "server", 0),
    SpanType("emit", "queue", "cpu", "token ids known", "step ends", "server", 0),
    SpanType("loop", "queue", "wait", "step ends", "next step begins", "server", 0),
    SpanType("preempted", "queue", "wait", "step ends", "next own step begins", "server", 0),
    SpanType("deliver", "stream", "wait", "last token handed out", "API process read it", "server", EDGE),
    SpanType("detokenize", "stream", "cpu", "API process read it", "text ready", "server", 0),
    SpanType("write", "stream", "cpu", "text ready", "last chunk handed to the socket", "server", 0),
    SpanType("relay", "gateway", "wait", "last chunk handed to the socket", "proxy handed it on", "server", EDGE),
    SpanType("response", "network", "network", "last chunk handed on", "last byte read", "client", CLIENT_EDGE),
    SpanType(
        "downlink", "network", "network", "last chunk handed on", "last byte read", "client", CLIENT_EDGE, "emulated"
    ),
]

COMPONENTS: dict[str, Component] = {span_type.name: span_type.component for span_type in _TABLE} | {"token": "stream"}
"""Lane of each span name."""


def span_types(bracket_ns: int, client_bracket_ns: int | None = None) -> list[SpanType]:
    """Return the table with the measured uncertainty of edges between two processes.

    Args:
        bracket_ns: Of two processes of the serving side.
        client_bracket_ns: Of client and server; None: the same.
    """
    edges = {EDGE: bracket_ns, CLIENT_EDGE: bracket_ns if client_bracket_ns is None else client_bracket_ns}
    return [
        SpanType(
            t.name, t.component, t.kind, t.start_event, t.end_event, t.clock,
            edges.get(t.uncertainty_ns, t.uncertainty_ns), t.evidence,
        )
        for t in _TABLE
    ]  # fmt: skip
