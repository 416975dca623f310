"""A server under test, through raw HTTP, and the list of cases that it must pass."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

QUESTION = [{"role": "user", "content": "What is the capital of France?"}]
ANSWER = "The capital of France is Paris."


class Case(NamedTuple):
    """One check, and the public issues that it repeats."""

    family: str
    issues: str
    check: Callable[[Target], None]

    @property
    def name(self) -> str:
        """Return the case's name."""
        return f"{self.family}-{self.check.__name__}"


CASES: list[Case] = []


def case(family: str, issues: str):
    """Add the function below to the suite."""

    def add(check: Callable[[Target], None]):
        CASES.append(Case(family, issues, check))
        return check

    return add


class Reply(NamedTuple):
    """What came back."""

    status: int
    headers: dict[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)

    @property
    def error(self) -> dict[str, Any]:
        """Return the error object, which must be whole."""
        error = self.json["error"]
        assert set(error) == {"message", "type", "param", "code"}
        assert error["message"]
        return error

    @property
    def events(self) -> list[Any]:
        """Return a stream's events; each is one ``data:`` line, and an empty line ends it."""
        assert self.text.endswith("\n\n"), self.text[-80:]
        lines = [line for line in self.text[:-2].split("\n\n") if not line.startswith(":")]
        assert all(line.startswith("data: ") and "\n" not in line for line in lines), lines
        data = [line.removeprefix("data: ") for line in lines]
        assert data[-1] == "[DONE]"
        assert "[DONE]" not in data[:-1]
        return [json.loads(item) for item in data[:-1]]


class Answer(NamedTuple):
    """A completion, however it came."""

    text: str
    reason: str
    num_tokens: int
    raw: dict[str, Any]


@dataclass(frozen=True)
class Target:
    """Where the server is, and how to speak to it."""

    host: str
    token: str
    model: str
    patience_s: float = 30
    """How long to wait for something that must become true."""

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}

    def send(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Reply:
        """Send a request and read the whole reply."""
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        connection = http.client.HTTPConnection(self.host, timeout=120)
        try:
            connection.request(method, path, data, self.headers | (headers or {}))
            reply = connection.getresponse()
            text = reply.read().decode()
            return Reply(reply.status, {name.lower(): value for name, value in reply.getheaders()}, text)
        finally:
            connection.close()

    def post(self, path: str, body: Any, **headers: str) -> Reply:
        """Send a body."""
        return self.send("POST", path, body, headers)

    def chat_reply(self, **fields: Any) -> Reply:
        """Ask the question greedily, unless fields say otherwise."""
        return self.post("/v1/chat/completions", self.chat_body(**fields))

    def chat_body(self, **fields: Any) -> dict[str, Any]:
        """Return a short greedy chat request."""
        return {"model": self.model, "messages": QUESTION, "temperature": 0, "max_tokens": 12} | fields

    def chat(self, **fields: Any) -> Answer:
        """Ask, and expect an answer."""
        reply = self.chat_reply(**fields)
        assert reply.status == 200, reply.text
        (choice,) = reply.json["choices"]
        tokens = reply.json["usage"]["completion_tokens"]
        return Answer(choice["message"]["content"], choice["finish_reason"], tokens, reply.json)

    def completion_reply(self, prompt: str | list, **fields: Any) -> Reply:
        """Continue a text or ids greedily, four tokens unless fields say otherwise."""
        body = {"model": self.model, "prompt": prompt, "temperature": 0, "max_tokens": 4} | fields
        return self.post("/v1/completions", body)

    def complete(self, prompt: str | list, **fields: Any) -> Answer:
        """Continue, and expect an answer."""
        reply = self.completion_reply(prompt, **fields)
        assert reply.status == 200, reply.text
        (choice,) = reply.json["choices"]
        return Answer(choice["text"], choice["finish_reason"], reply.json["usage"]["completion_tokens"], reply.json)

    def stream(self, prompt: str | list, **fields: Any) -> list[str]:
        """Continue in a stream and return its pieces of text."""
        events = self.completion_reply(prompt, stream=True, **fields).events
        return [event["choices"][0]["text"] for event in events if event["choices"] and event["choices"][0]["text"]]

    def tokenize(self, text: str) -> list[int]:
        """Return a text's token ids."""
        return self.post("/tokenize", {"prompt": text}).json["tokens"]

    def metric(self, name: str) -> float:
        """Return the sum of a metric's lines."""
        lines = self.send("GET", "/metrics").text.splitlines()
        values = [float(line.split()[-1]) for line in lines if line.startswith((f"{name} ", f"{name}{{"))]
        assert values, name
        return sum(values)

    def cancelled(self) -> float:
        """Return how many requests have been cancelled."""
        return self.metric('spanreel_requests_total{replica="0",finish_reason="cancelled"}')

    def wait_until(self, holds: Callable[[], bool]) -> None:
        """Wait for something that must become true."""
        end = time.monotonic() + self.patience_s
        while not holds():
            assert time.monotonic() < end, "it did not happen"
            time.sleep(0.02)

    def wait_until_idle(self) -> None:
        """Wait until nothing runs or waits and every block is free."""
        names = ("running", "waiting", "kv_blocks_used")
        self.wait_until(lambda: all(self.metric(f"spanreel_{name}") == 0 for name in names))

    @contextlib.contextmanager
    def opened(self, body: dict[str, Any], path: str = "/v1/chat/completions") -> Iterator[socket.socket]:
        """Yield a raw socket on which a request was sent; leaving closes it."""
        host, port = self.host.split(":")
        data = json.dumps(body).encode()
        lines = [f"POST {path} HTTP/1.1", f"Host: {self.host}", f"Content-Length: {len(data)}"]
        lines += [f"{name}: {value}" for name, value in self.headers.items()]
        with socket.create_connection((host, int(port)), timeout=60) as connection:
            connection.sendall("\r\n".join([*lines, "", ""]).encode() + data)
            yield connection
