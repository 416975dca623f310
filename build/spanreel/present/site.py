"""The files that the server hands out: a fixed list held in memory. The file system is never asked for a name."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_START_FILE = Path(__file__).with_name("start.html")
_HTML = "text/html"
_ICON = b'<svg xmlns="http://www.w3.org/2000/svg"/>'


@dataclass(frozen=True)
class Asset:
    """One file."""

    data: bytes
    media_type: str
    policy: str
    """Its content security policy, besides the one that it may carry itself."""


def site(deck_page: bytes) -> Mapping[str, Asset]:
    """Return every path that is served, with what stands there.

    Args:
        deck_page: The built deck as one HTML file; it carries its own policy for scripts.
    """
    start_page = _START_FILE.read_bytes()
    return {
        "/": Asset(deck_page, _HTML, "frame-ancestors 'none'"),
        "/start": Asset(start_page, _HTML, _only_script_of(start_page)),
        "/favicon.ico": Asset(_ICON, "image/svg+xml", "default-src 'none'"),
    }


def _only_script_of(page: bytes) -> str:
    script = re.search(rb"<script>(.*?)</script>", page, re.DOTALL)
    sum_256 = base64.b64encode(hashlib.sha256(script[1] if script else b"").digest()).decode("ascii")
    return f"default-src 'none'; script-src 'sha256-{sum_256}'; base-uri 'none'; frame-ancestors 'none'"
