"""Requests whose replies are judged: a stream has exactly one terminal event, a refusal says when to come again."""

from __future__ import annotations

import asyncio
import random
import time
from typing import Any, NamedTuple

import aiohttp
import msgspec

from demo_engine.faults.subject import Subject

COMPLETIONS = "/v1/completions"
ENDLESS = 4000
"""Tokens of a reply that is not meant to end by itself."""


class Reply(NamedTuple):
    """What came back; without any answer the status is 0."""

    status: int
    text: str
    request_id: str = ""
    retry_after: str = ""
    wall_ms: float = 0.0

    @property
    def ending(self) -> str:
        """How it ended: ``finished``, ``error``, ``refused``, or in words what is wrong with it."""
        if self.status in (429, 503):
            return "refused" if self.retry_after.isdecimal() and int(self.retry_after) else "refused for good"
        return ending_of(self.text) if self.status == 200 else f"status {self.status}: {self.text[:80]}"


def ending_of(stream: str) -> str:
    """Return how a stream of events ended: ``finished``, ``error``, or in words what is wrong with it."""
    data = [line.removeprefix("data: ") for line in stream.split("\n") if line.startswith("data: ")]
    if data.count("[DONE]") != 1 or data[-1] != "[DONE]":
        return f"{data.count('[DONE]')} times [DONE]"
    events = [msgspec.json.decode(line) for line in data[:-1]]
    num_errors = sum("error" in event for event in events)
    num_reasons = sum(choice["finish_reason"] is not None for event in events for choice in event.get("choices", ()))
    if num_errors + num_reasons != 1:
        return f"{num_errors} errors and {num_reasons} finish reasons"
    return "error" if num_errors else "finished"


def completion(
    server: Subject, max_tokens: int, prompt: str | list[int] = "One, two,", **fields: Any
) -> dict[str, Any]:
    """Return the body of a greedy, streamed completion of exactly this length."""
    body = {"model": server.model_id, "prompt": prompt, "max_tokens": max_tokens, "temperature": 0}
    return body | {"ignore_eos": True, "stream": True} | fields


def unlike_prompt(number: int, num_tokens: int) -> list[int]:
    """Return a prompt that is like no other one, valid for every vocabulary in use."""
    return random.Random(number).choices(range(270, 490), k=num_tokens)  # noqa: S311 (no secret)


async def ask(server: Subject, body: dict[str, Any], admitted: asyncio.Event | None = None) -> Reply:
    """Send a request and read the whole reply; the event is set when its headers are here."""
    start_s = time.perf_counter()
    try:
        async with server.session.post(f"{server.url}{COMPLETIONS}", json=body, headers=server.headers) as response:
            if admitted is not None:
                admitted.set()
            text, headers = await response.text(), response.headers
            wall_ms = (time.perf_counter() - start_s) * 1000
            retry_after = headers.get("Retry-After", "")
            return Reply(response.status, text, headers.get("X-Request-Id", ""), retry_after, wall_ms)
    except (aiohttp.ClientError, OSError) as error:
        return Reply(0, f"{type(error).__name__}: {error}")
