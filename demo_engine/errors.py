"""Errors that a user can act on, each with its exit code: 1 failed, 2 usage or bad input, 3 mismatch, 4 environment."""

from __future__ import annotations


class EngineError(Exception):
    """A failure told in one or two lines: what failed, the value, the next step."""

    exit_code = 1


class UsageError(EngineError):
    """Something the user gave cannot be used."""

    exit_code = 2


class MismatchError(EngineError):
    """What was recorded does not come out again."""

    exit_code = 3


class EnvironmentLackError(EngineError):
    """A package, model or quiet machine that is needed is not here."""

    exit_code = 4
