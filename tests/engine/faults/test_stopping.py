"""Asked to stop: open requests may end, new ones are refused, and whoever asks twice does not wait."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import urllib.error
from dataclasses import replace

import pytest

from demo_engine.api.errors import ApiError
from demo_engine.api.seats import Seats
from engine_server import chat_body, open_stream, start_server


def test_seats_are_given_until_all_are_taken_and_given_again():
    """One too many is told when to come again."""
    seats = Seats(2)
    with seats.taken(), seats.taken():
        with pytest.raises(ApiError) as refused, seats.taken():
            pass
        assert (refused.value.status, refused.value.code, refused.value.retry_s) == (429, "queue_full", 1)
    with seats.taken():
        pass


def test_closed_seats_are_given_to_nobody_and_waited_for():
    """Closing waits for those that are taken; new requests get 503 meanwhile, though there is room."""

    async def main():
        seats = Seats(2)
        with seats.taken():
            closing = asyncio.create_task(seats.close())
            await asyncio.sleep(0)
            with pytest.raises(ApiError) as refused, seats.taken():
                pass
            assert (refused.value.status, refused.value.code) == (503, "shutting_down")
            assert not closing.done()
        await asyncio.wait_for(closing, 5)

    asyncio.run(main())


def test_closing_empty_seats_takes_no_time():
    """A server that does nothing ends at once."""

    async def main():
        await asyncio.wait_for(Seats(1).close(), 5)

    asyncio.run(main())


def wait_until_not_ready(server) -> None:
    """Wait until the server has seen a signal."""
    with contextlib.suppress(urllib.error.HTTPError):
        while True:
            server.get("/readyz")


@pytest.mark.slow
@pytest.mark.engine
@pytest.mark.parametrize(
    ("numbers", "exit_code"),
    [((signal.SIGTERM, signal.SIGTERM), 143), ((signal.SIGINT, signal.SIGINT), 130), ((signal.SIGTERM,), 0)],
)
def test_a_second_signal_cuts_requests_off(numbers, exit_code, folder):
    """The stream ends with one error either way; the exit code says that somebody was in a hurry."""
    drain_s = "600" if len(numbers) > 1 else "0"
    server = replace(start_server("--model", str(folder), "--drain-s", drain_s), model=folder.name)
    with open_stream(server, chat_body(server, max_tokens=4000, ignore_eos=True, stream=True)) as connection:
        server.process.send_signal(numbers[0])
        for number in numbers[1:]:
            wait_until_not_ready(server)
            server.process.send_signal(number)
        connection.settimeout(20)
        text = b""
        while not text.endswith(b"0\r\n\r\n"):
            text += connection.recv(65536)
    assert server.process.wait(20) == exit_code
    server.process.stdout.close()
    assert text.count(b'"error"') == text.count(b"data: [DONE]") == 1
