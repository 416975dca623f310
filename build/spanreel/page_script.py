"""Scripts and data of the HTML deck: inlined, escaped, and named by digest in its security policy."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable
from typing import Any

from markupsafe import Markup

from spanreel.page_style import PLAYER, shell_text

_PLAYER_ORDER = ("media.js", "films.js", "picture.js", "inspect.js", "speaker.js", "main.js")
_UNSAFE_IN_JSON = str.maketrans({character: f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"})
_ENDS_SCRIPT = re.compile(r"</script|<!--", re.IGNORECASE)


def scripts() -> list[Markup]:
    """Return the page's scripts in the order in which they run: reveal.js, the player, live panels.

    Raises:
        EnvironmentLackError: reveal.js is missing.
    """
    own = "\n".join(_player_text(name) for name in _PLAYER_ORDER)
    player = f'(() => {{\n"use strict";\n{own}}})();\n'
    live = sorted((file.name for file in PLAYER.glob("*.js") if file.name not in _PLAYER_ORDER), key=_live_order)
    shell = f"/*!\n{shell_text('LICENSE')}*/\n{shell_text('dist/reveal.js')}"
    return [_inline(text) for text in (shell, player, *map(_player_text, live))]


def json_block(value: Any) -> Markup:
    """Return a value as JSON that no text in it can break out of."""
    # Every character that could end or change the block is an escape by now.
    return Markup(json.dumps(value, ensure_ascii=False, sort_keys=True).translate(_UNSAFE_IN_JSON))  # noqa: S704


def security_policy(inline_scripts: Iterable[str]) -> str:
    """Return the page's content policy: these scripts, data that it carries, its own server, and nothing else."""
    digests = " ".join(f"'sha256-{_digest(script)}'" for script in inline_scripts)
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src {digests}",
            "style-src 'unsafe-inline'",
            "img-src data: blob:",
            "media-src blob:",
            "font-src data:",
            "connect-src 'self'",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def _inline(script: str) -> Markup:
    # A script ends at the first end tag, even inside a string; `\x3c` means the same there.
    return Markup(_ENDS_SCRIPT.sub(lambda match: "\\x3c" + match[0][1:], script))  # noqa: S704


def _player_text(name: str) -> str:
    return (PLAYER / name).read_text(encoding="utf-8")


def _live_order(name: str) -> tuple[bool, str]:
    return name == "live.js", name


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
