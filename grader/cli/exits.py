"""Exit codes, and the two errors that carry one."""

from __future__ import annotations

import enum


class Exit(enum.IntEnum):
    """What the exit code says."""

    PASSED = 0
    NOT_YET = 1
    USAGE = 2
    OUR_FAULT = 3
    INTERRUPTED = 130
    """Ctrl-C: 128 + SIGINT."""
    PIPE = 141
    """whoever read our output went away: 128 + SIGPIPE."""


class UsageError(Exception):
    """The command was given something it cannot use. The message says what to give instead."""


class FaultError(Exception):
    """We failed, not the learner. The message names the remedy."""
