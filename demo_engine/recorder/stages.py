"""Where the stages of a request's path ended, outside the engine: as the client, the server and a proxy saw it."""

from __future__ import annotations

from typing import NamedTuple

from demo_engine.client.records import CallRecord
from demo_engine.network.config import EdgeConfig
from demo_engine.recorder.server_trace import BODY_NS, Attributes, ProxyTrace, ServerTrace


class StageEnd(NamedTuple):
    """Where a stage ended; it began where the one before it did."""

    name: str
    at_ns: int
    attributes: Attributes = {}  # noqa: RUF012 (never changed)


def stage_ends(client: CallRecord, server: ServerTrace, edge: EdgeConfig) -> list[StageEnd]:
    """Return the stages from the intended start to the last byte.

    The whole body travels on an emulated link; without one, a body that comes late is part of the server's first stage.
    """
    proxy, first = server.proxy, server.spans[0]
    ends = _connected(client, edge)
    if proxy is not None:
        ends += [_flight("request", "uplink", proxy.start_ns, edge), StageEnd("forward", first.start_ns)]
    elif edge.has_link:
        ends.append(_flight("request", "uplink", first.start_ns + int(first.attributes.get(BODY_NS, 0)), edge))
    else:
        ends.append(StageEnd("request", first.start_ns))
    ends += [StageEnd(span.name, span.start_ns + span.duration_ns, span.attributes) for span in server.spans]
    if proxy is not None:
        ends.append(StageEnd("relay", proxy.end_ns, _held(proxy)))
    return [*ends, _flight("response", "downlink", client.end_ns, edge)]


def failed_stage_ends(client: CallRecord, failure: str) -> list[StageEnd]:
    """Return the stages of a request that failed, as far as the client saw them; the last one says why."""
    ends = [end for end in _connected(client, EdgeConfig()) if end.at_ns]
    return [*ends, StageEnd("request", client.end_ns, {"failure": failure})]


def _connected(client: CallRecord, edge: EdgeConfig) -> list[StageEnd]:
    """Return the stages until there is a connection; a kept one is there at once."""
    ends = [StageEnd("prepare", client.connect_start_ns)]
    if client.tls_start_ns:
        ends.append(StageEnd("connect", client.tls_start_ns))
        ends.append(StageEnd("tls", client.connected_ns, {"link": edge.link_label}))
    elif client.connected_ns != client.connect_start_ns:
        ends.append(StageEnd("connect", client.connected_ns))
    return ends


def _flight(plain_name: str, link_name: str, at_ns: int, edge: EdgeConfig) -> StageEnd:
    """Return the end of a way through the network, which an emulated link gives another name."""
    return StageEnd(link_name, at_ns, {"link": edge.link_label}) if edge.has_link else StageEnd(plain_name, at_ns)


def _held(proxy: ProxyTrace) -> Attributes:
    """Return what the proxy did with the reply."""
    held_ns = proxy.first_write_ns - proxy.event_ns[0] if proxy.event_ns else 0
    return {
        "buffering": proxy.is_buffering, "held_ns": max(0, held_ns), "reads": proxy.num_reads,
        "writes": proxy.num_writes,
    }  # fmt: skip
