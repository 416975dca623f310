"""Which class draws which clip; a clip's module is imported only when it is drawn."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from scenes.render.errors import RenderInputError

if TYPE_CHECKING:
    from scenes.render.scene import ClipScene

CLIPS: dict[str, str] = {
    "a00": "scenes.clips.a00_grey_bar:GreyBar",
    "a18": "scenes.clips.a18_recap:Recap",
}
"""``module:class`` by clip id."""


def clip_class(clip_id: str) -> type[ClipScene]:
    """Return the class of a clip.

    Raises:
        RenderInputError: There is no such clip.
    """
    if clip_id not in CLIPS:
        raise RenderInputError(f"no clip {clip_id!r}; clips: {', '.join(CLIPS) or 'none'}")
    module, _, name = CLIPS[clip_id].partition(":")
    found: type[ClipScene] = getattr(import_module(module), name)
    return found
