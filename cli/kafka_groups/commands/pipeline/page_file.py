"""The file of --html: a regular file, a symbolic link, a pipe, a device or standard output."""

from __future__ import annotations

import io
import os
import stat
import sys
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TextIO

from kafka_groups.errors import PipelineError
from kafka_groups.files import write_atomically
from kafka_groups.history import History
from kafka_groups.rendering.history import check_charts, write_page

_STDOUT = 1


def check_page(path: Path) -> None:
    """Raise PipelineError if the page cannot be drawn or written, so that it fails before hours of work."""
    check_charts()
    try:
        status = _status_of(path)
        if _is_replaceable(status):
            _check_draft(path)
        elif not os.access(path, os.W_OK):
            _open_in_place(path, status).close()
    except OSError as error:
        raise _to_pipeline_error(path, error) from error


def write_page_to(path: Path, history: History, *, shown: int) -> None:
    """Write the page with the first `shown` groups. Raises PipelineError if it cannot be written.

    A regular file is replaced in one step, so that a reader never opens half of a page; it keeps its permissions,
    and a link to it stays a link. A pipe, a device and standard output are written to as they are.
    """
    try:
        status = _status_of(path)
        if _is_replaceable(status):
            page = io.StringIO()
            write_page(history, page, shown=shown)
            write_atomically(path, page.getvalue())
        else:
            with _open_in_place(path, status) as out:
                write_page(history, out, shown=shown)
    except OSError as error:
        raise _to_pipeline_error(path, error) from error


def _status_of(path: Path) -> os.stat_result | None:
    """Return the status of the file that the path and its links lead to; None if there is none."""
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def _is_replaceable(status: os.stat_result | None) -> bool:
    return status is None or (stat.S_ISREG(status.st_mode) and not _is_stdout(status))


def _is_stdout(status: os.stat_result) -> bool:
    with suppress(OSError):
        return os.path.samestat(status, os.fstat(_STDOUT))
    return False


def _check_draft(path: Path) -> None:
    """Create and delete a file beside the target, as write_atomically does."""
    target = path.resolve()
    with NamedTemporaryFile(dir=target.parent, prefix=".", suffix=".draft"):
        pass


def _open_in_place(path: Path, status: os.stat_result | None) -> TextIO:
    """Open a pipe, a terminal or a device for writing.

    Standard output is duplicated and not opened a second time, because two positions in one file overwrite each other.
    """
    if status is None or not _is_stdout(status):
        return path.open("w", encoding="utf-8")
    sys.stdout.flush()
    return os.fdopen(os.dup(_STDOUT), "w", encoding="utf-8")


def _to_pipeline_error(path: Path, error: OSError) -> PipelineError:
    reason = error.strerror or type(error).__name__
    return PipelineError(f"cannot write the page {path}: {reason}; name another file with --html")
