"""How well the client's clock and the server's are known to agree.

On one host both are the same clock, and this is the proof: a stamp of the server between two of the client.
"""

from __future__ import annotations

import http.client
import statistics
import time
from urllib.parse import urlsplit

import msgspec

from demo_engine.client.endpoint import Endpoint
from demo_engine.errors import EngineError

NUM_PINGS = 50


def measure_bracket(endpoint: Endpoint) -> int:
    """Exchange pings with the server itself; return half the median round trip, which bounds an edge's error.

    Raises:
        EngineError: A stamp of the server lies outside its bracket, or the server does not answer.
    """
    place = urlsplit(endpoint.url)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=10)
    headers = {"Authorization": f"Bearer {endpoint.token}"}
    halves = []
    try:
        for _ in range(NUM_PINGS):
            sent_ns = time.perf_counter_ns()
            connection.request("GET", "/v1/clock", headers=headers)
            body = connection.getresponse().read()
            received_ns = time.perf_counter_ns()
            read_ns = msgspec.json.decode(body)["perf_counter_ns"]
            if not sent_ns <= read_ns <= received_ns:
                raise EngineError("client and server do not share one clock; their spans cannot be joined")
            halves.append((received_ns - sent_ns) // 2)
    except (http.client.HTTPException, KeyError, msgspec.DecodeError) as error:
        raise EngineError(f"the server at {endpoint.url} did not tell its clock: {error!r}") from error
    finally:
        connection.close()
    return int(statistics.median(halves[1:]))  # the first of them opened the connection
