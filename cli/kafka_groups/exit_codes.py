"""Exit codes of the command line: what each one means, and which of them a command returns.

This table is the source of the paragraph `Exit codes` in every help, of EXIT STATUS in the man pages, and of the table
in the README, which a test holds equal.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum, StrEnum
from types import MappingProxyType
from typing import Final, TypeAlias


class ExitCode(IntEnum):
    """An exit code of a command; a process that a signal ends has 128 plus the number of the signal."""

    OK = 0
    FAILED = 1
    USAGE = 2
    PARTIAL = 3
    CHECK_FAILED = 4
    INTERRUPTED = 130
    TERMINATED = 143


class ResultStatus(StrEnum):
    """The status of a result, as its JSON document has it."""

    COMPLETE = "complete"
    PARTIAL = "partial"
    FAILED = "failed"

    @property
    def exit_code(self) -> ExitCode:
        """Return the exit code of a command with this result."""
        return _EXIT_CODES[self]


_EXIT_CODES: Final = {
    ResultStatus.COMPLETE: ExitCode.OK,
    ResultStatus.PARTIAL: ExitCode.PARTIAL,
    ResultStatus.FAILED: ExitCode.FAILED,
}


# No meaning has a semicolon or a full stop, because they stand between two of them.
Meanings: TypeAlias = Mapping[ExitCode, str]

MEANINGS: Final[Meanings] = MappingProxyType(
    {
        ExitCode.OK: "all succeeded, or no group matches (a note on stderr)",
        ExitCode.FAILED: "all failed or was refused, the cluster cannot be reached, a file cannot be written, or a "
        "condition was not checked (no group matches)",
        ExitCode.USAGE: "usage: an option, a setting or a file cannot be used",
        ExitCode.PARTIAL: "some groups, partitions or brokers failed, or some changes were refused (the results of the "
        "others are on stdout)",
        ExitCode.CHECK_FAILED: "a check failed: the condition of --fail-if holds, or that of wait --until did not "
        "hold in time",
        ExitCode.INTERRUPTED: "interrupted (Ctrl-C)",
        ExitCode.TERMINATED: "terminated (SIGTERM, or SIGHUP of a closed terminal)",
    }
)
# Every command returns these, with the meanings above.
_SHARED: Final = (ExitCode.USAGE, ExitCode.INTERRUPTED, ExitCode.TERMINATED)


def _meanings(ok: str, failed: str, partial: str | None = None, check_failed: str | None = None) -> Meanings:
    """Return the meanings of the codes that a command returns; None for a code that it never returns."""
    own = {
        ExitCode.OK: ok,
        ExitCode.FAILED: failed,
        ExitCode.PARTIAL: partial,
        ExitCode.CHECK_FAILED: check_failed,
    }
    return MappingProxyType({code: meaning for code, meaning in own.items() if meaning is not None})


_SOME_FAILED: Final = "some groups, partitions or brokers failed"
_READ: Final = _meanings("all was read, or no group matches", "nothing could be read", _SOME_FAILED)
_CHANGE: Final = _meanings("all done, or planned", "nothing done", "some refused, failed or unknown")
_TABLES: Final = _meanings("all was done", "nothing was written", "a part failed, and another was written")
_PRINT: Final = _meanings("it was printed", "it could not be printed")
_OWN: Final[Mapping[str, Meanings]] = MappingProxyType(
    {
        "list": _READ,
        "describe": _READ,
        "offsets": _READ,
        "lag": _meanings(
            "all was read, and the condition of --fail-if holds for no row",
            "nothing could be read, no group matches and --fail-if checked nothing, or a file cannot be written",
            _SOME_FAILED,
            "the condition of --fail-if holds for a row, whatever else failed",
        ),
        "why": _meanings(
            "all was judged, and the condition of --fail-if holds for no finding",
            "nothing could be read, or no group matches and --fail-if checked nothing",
            _SOME_FAILED,
            "the condition of --fail-if holds for a finding that is trouble, whatever else failed",
        ),
        "wait": _meanings(
            "the condition holds for every group",
            "nothing was checked, because no group matches or the cluster cannot be reached",
            f"the condition holds for every group, but {_SOME_FAILED}",
            "the condition did not hold in time",
        ),
        "check": _meanings(
            "no check failed",
            "no server was reached, or all checks failed",
            "some servers, brokers, groups or topics failed",
        ),
        "orphans": _meanings(
            "all was read, or no group matches", "nothing could be read, or a file cannot be written", _SOME_FAILED
        ),
        "exporter": MappingProxyType({ExitCode.FAILED: "the address cannot be used"}),
        "reset": _CHANGE,
        "delete": _CHANGE,
        "delete-offsets": _CHANGE,
        "remove-members": _CHANGE,
        "undo": _CHANGE,
        "schema": _PRINT,
        "completion": _PRINT,
        "pipeline ingest": _TABLES,
        "pipeline sample": _TABLES,
        "pipeline backfill": _TABLES,
        "pipeline build": _TABLES,
        "pipeline report": _meanings("all was reported", "nothing was reported", "some groups have no data"),
        "pipeline tables": _meanings("all was printed", "nothing could be read"),
        "pipeline export": _TABLES,
        "pipeline compact": _TABLES,
        "pipeline doctor": _meanings("no check failed", "all checks failed", "some checks failed"),
        "sandbox up": _meanings("it is up", "it could not be started"),
        "sandbox down": _meanings("it is down", "it could not be stopped"),
        "sandbox status": _meanings("it is up", "it is not up, or one of its processes does not run"),
        "sandbox demo": _meanings("all commands succeeded", "a command failed"),
    }
)


def meanings_of(command: str) -> Meanings:
    """Return the codes that a command such as `pipeline ingest` returns, ascending, with their meanings.

    Groups of commands, and the root command, which is empty, have all codes.
    """
    own = _OWN.get(command)
    if own is None:
        return MEANINGS
    codes = {**own, **{code: MEANINGS[code] for code in _SHARED}}
    return {code: codes[code] for code in sorted(codes)}


def _paragraph(meanings: Meanings, end: str = "") -> str:
    return f"Exit codes: {'; '.join(f'{code:d} {meaning}' for code, meaning in meanings.items())}.{end}"


# The paragraph in the help of each command: its own codes, or all of them in the help of the root command.
PARAGRAPHS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "": _paragraph(MEANINGS),
        **{command: _paragraph(own, " See kafka-groups --help.") for command, own in _OWN.items()},
    }
)
