"""What can stop a render. The text is one or two lines for a user; the code is the process's exit code."""

from __future__ import annotations


class RenderError(Exception):
    """A clip that cannot be drawn as it is written."""

    exit_code = 1


class RenderInputError(RenderError):
    """The trace or a text holds something that cannot be drawn."""

    exit_code = 2


class RenderEnvironmentError(RenderError):
    """A font or a library is not here."""

    exit_code = 4
