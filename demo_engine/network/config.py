"""The settings of the way from the client to the server: each is one line here, a flag, and in the trace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from demo_engine.core.config import option


@dataclass(frozen=True, slots=True)
class EdgeConfig:
    """What stands between client and server; by default nothing does."""

    link_delay_ms: int = option(0, "emulated one-way delay of the link; 0: none")
    link_kbit_per_s: int = option(0, "emulated bandwidth of the link, each way; 0: as it comes")
    link_tls: bool = option(False, "TLS 1.3 across the link, with a certificate that is thrown away")
    proxy: Literal["none", "pass", "buffer"] = option(
        "none", "a reverse proxy that passes a reply on as it comes, or holds it until it is whole"
    )

    @property
    def has_link(self) -> bool:
        """Whether there is a link to emulate."""
        return bool(self.link_delay_ms or self.link_kbit_per_s or self.link_tls)

    @property
    def is_direct(self) -> bool:
        """Whether the client speaks to the server itself."""
        return not self.has_link and self.proxy == "none"

    @property
    def link_label(self) -> str:
        """The link's settings in words, such as ``20 ms each way, TLS 1.3``."""
        parts = [f"{self.link_delay_ms} ms each way"]
        parts += [f"{self.link_kbit_per_s} kbit/s"] if self.link_kbit_per_s else []
        parts += ["TLS 1.3"] if self.link_tls else []
        return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class EdgeAddress:
    """Where the way to the server begins."""

    url: str
    certificate: str | None
    """File with the certificate that the link's far end shows; None without TLS."""
    config: EdgeConfig
