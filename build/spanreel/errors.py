"""Errors with an exit code. Each message is one or two lines: what failed, the value, the next step.

=====  =============================================
code   meaning
=====  =============================================
1      failed
2      usage or bad input
3      stale, or verify found a mismatch
4      the environment lacks something
130    interrupted
=====  =============================================
"""

from __future__ import annotations

import click


class SpanreelError(click.ClickException):
    """A failure that the user can read and act on."""

    exit_code = 1


class InputError(SpanreelError):
    """Something the user gave cannot be used."""

    exit_code = 2


class MismatchError(SpanreelError):
    """What was built is not what the trace says."""

    exit_code = 3


class EnvironmentLackError(SpanreelError):
    """A program, library, font, model or file that is needed is not here."""

    exit_code = 4
