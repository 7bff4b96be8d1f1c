"""The file that --html names: whole or as it was before, and whatever it is, a link, a pipe, our own stdout."""

from __future__ import annotations

import os
import secrets
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from kafka_groups.errors import PipelineError
from kafka_groups.history import History
from kafka_groups.rendering.history import check_charts, write_page

_STDOUT = 1


def check_page(path: Path) -> None:
    """PipelineError if no page can be written there, or none drawn: to be told before hours of work, and not after."""
    check_charts()
    try:
        found = _look(path)
        if _is_replaced(found):
            draft = _draft_beside(path)
            os.close(_new(draft))
            draft.unlink()
        elif not os.access(path, os.W_OK):
            _open_as_it_is(path, found).close()
    except OSError as error:
        raise _refusal(path, error) from error


def write_page_to(path: Path, history: History, *, shown: int) -> None:
    """Puts the page there. What is a file changes at once, so a reader never opens half of it; else it is written to.

    A link stays, and so do the permissions of a file that is replaced. PipelineError if it cannot be written.
    """
    try:
        found = _look(path)
        if _is_replaced(found):
            _replace(path, found, history, shown)
        else:
            with _open_as_it_is(path, found) as out:
                write_page(history, out, shown=shown)
    except OSError as error:
        raise _refusal(path, error) from error


def _look(path: Path) -> os.stat_result | None:
    """What is there, behind all links; None if nothing is."""
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def _is_replaced(found: os.stat_result | None) -> bool:
    return found is None or (stat.S_ISREG(found.st_mode) and not _is_stdout(found))


def _is_stdout(found: os.stat_result) -> bool:
    with suppress(OSError):
        return os.path.samestat(found, os.fstat(_STDOUT))
    return False


def _open_as_it_is(path: Path, found: os.stat_result | None) -> TextIO:
    """A pipe, a terminal, a device. What stdout is already is not opened anew: the two would overwrite each other."""
    if found is None or not _is_stdout(found):
        return path.open("w", encoding="utf-8")
    sys.stdout.flush()
    return os.fdopen(os.dup(_STDOUT), "w", encoding="utf-8")


def _replace(path: Path, found: os.stat_result | None, history: History, shown: int) -> None:
    draft = _draft_beside(path)
    try:
        with os.fdopen(_new(draft), "w", encoding="utf-8") as out:
            if found is not None:
                os.fchmod(out.fileno(), stat.S_IMODE(found.st_mode))
            write_page(history, out, shown=shown)
        draft.replace(_behind_links(path))
    finally:
        draft.unlink(missing_ok=True)


def _draft_beside(path: Path) -> Path:
    return _behind_links(path).with_name(f".kafka-groups-{secrets.token_hex(6)}.part")


def _behind_links(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _new(draft: Path) -> int:
    """A file that was not there, with the permissions that the user gives to new ones."""
    return os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)


def _refusal(path: Path, error: OSError) -> PipelineError:
    why = error.strerror or type(error).__name__
    return PipelineError(f"the page cannot be written: {why}: {path}; name another file with --html")
