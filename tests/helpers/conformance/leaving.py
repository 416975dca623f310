"""Clients that leave: in the queue, in prefill, in decode, streamed and not. Nothing goes on without them."""

from __future__ import annotations

import socket
from contextlib import ExitStack

from conformance.target import Target, case

LONG = [{"role": "user", "content": "sea " * 500}]
MANY = 400


def leave_when(target: Target, gauge: str, body: dict) -> None:
    """Send a request, close its socket when ``gauge`` rises, and see it cancelled and everything free."""
    before = target.cancelled()
    with target.opened(body):
        target.wait_until(lambda: target.metric(f"spanreel_{gauge}") > 0)
    target.wait_until(lambda: target.cancelled() == before + 1)
    target.wait_until_idle()


@case("leaving", "llama.cpp 24496, ik_llama 1020")
def in_prefill_with_a_stream(target: Target) -> None:
    """A long prompt is given up, not computed for nobody."""
    leave_when(target, "running", target.chat_body(messages=LONG, stream=True, max_tokens=8))


@case("leaving", "ik_llama 1020, ROCm/ATOM PR 1562")
def in_prefill_without_a_stream(target: Target) -> None:
    """The same where the client waits for one whole reply."""
    leave_when(target, "running", target.chat_body(messages=LONG, max_tokens=8))


@case("leaving", "vllm 50425")
def a_prefill_is_given_up_in_its_own_step(target: Target) -> None:
    """The step in which the client left is the last: no token, and no second step for it."""
    steps, tokens = target.metric("spanreel_num_steps"), target.metric("spanreel_output_tokens_total")
    leave_when(target, "running", target.chat_body(messages=LONG, max_tokens=8, stream=True))
    assert target.metric("spanreel_num_steps") == steps + 1
    assert target.metric("spanreel_output_tokens_total") == tokens


@case("leaving", "llama.cpp 11720, 13262")
def in_decode_with_a_stream(target: Target) -> None:
    """After its first tokens."""
    before = target.cancelled()
    with target.opened(target.chat_body(stream=True, max_tokens=MANY, ignore_eos=True)) as connection:
        while b"content" not in connection.recv(4096):
            pass
    target.wait_until(lambda: target.cancelled() == before + 1)
    target.wait_until_idle()


@case("leaving", "ROCm/ATOM PR 1562")
def in_decode_without_a_stream(target: Target) -> None:
    """A handler that is not streaming notices too."""
    before, steps = target.cancelled(), target.metric("spanreel_num_steps")
    with target.opened(target.chat_body(max_tokens=MANY, ignore_eos=True)):
        target.wait_until(lambda: target.metric("spanreel_num_steps") > steps + 2)
    target.wait_until(lambda: target.cancelled() == before + 1)
    target.wait_until_idle()


@case("leaving", "llama.cpp 13262")
def in_the_queue(target: Target) -> None:
    """Those who wait can leave, and those who run go on."""
    before = target.cancelled()
    body = target.chat_body(max_tokens=MANY, ignore_eos=True, stream=True)
    with ExitStack() as running:
        for _ in range(8):
            running.enter_context(target.opened(body))
        target.wait_until(lambda: target.metric("spanreel_running") == 8)
        with ExitStack() as waiting:
            for _ in range(2):
                waiting.enter_context(target.opened(body))
            target.wait_until(lambda: target.metric("spanreel_waiting") == 2)
        target.wait_until(lambda: target.cancelled() == before + 2)
        target.wait_until(lambda: target.metric("spanreel_waiting") == 0)
    target.wait_until(lambda: target.cancelled() == before + 10)
    target.wait_until_idle()


@case("leaving", "mlx-openai-server 269")
def in_the_middle_of_the_body(target: Target) -> None:
    """A body that never ends because its client is gone costs nothing."""
    host, port = target.host.split(":")
    with socket.create_connection((host, int(port))) as connection:
        lines = ["POST /v1/completions HTTP/1.1", f"Host: {target.host}", "Content-Length: 500"]
        lines += [f"{name}: {value}" for name, value in target.headers.items()]
        connection.sendall("\r\n".join([*lines, "", "{"]).encode())
    target.wait_until_idle()
    assert target.complete("One, two,", max_tokens=1).num_tokens == 1


@case("leaving", "vllm 54947")
def with_a_reset(target: Target) -> None:
    """A socket that is reset instead of closed is noticed just as well."""
    before = target.cancelled()
    with target.opened(target.chat_body(stream=True, max_tokens=MANY, ignore_eos=True)) as connection:
        connection.recv(1)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
    target.wait_until(lambda: target.cancelled() == before + 1)
    target.wait_until_idle()
