"""Exit codes of the command line, as the README documents them."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """An exit code of a command; a process that a signal ends has 128 plus the number of the signal."""

    OK = 0
    FAILED = 1
    USAGE = 2
    PARTIAL = 3
    CHECK_FAILED = 4
    INTERRUPTED = 130
    TERMINATED = 143
