"""The server that a client speaks to."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from demo_engine.network.config import EdgeAddress


@dataclass(frozen=True)
class Endpoint:
    """The server that is measured, and the way to it."""

    url: str
    """Its own address, for comparing clocks."""
    token: str
    model: str
    edge: EdgeAddress | None = None
    """What the requests go through; None: nothing."""

    @property
    def way_url(self) -> str:
        """Where requests are sent."""
        return self.url if self.edge is None else self.edge.url

    @property
    def headers(self) -> dict[str, str]:
        """Return what every request carries; the server is named also where the way to it begins elsewhere."""
        headers = {"Authorization": f"Bearer {self.token}"}
        return headers if self.edge is None else headers | {"Host": urlsplit(self.url).netloc}
