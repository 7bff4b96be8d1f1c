"""The file of --html: a regular file, a symbolic link, a pipe, a device or standard output."""

from __future__ import annotations

import io
from pathlib import Path

import click

from kafka_groups.errors import PipelineError
from kafka_groups.files import check_writable, write_atomically
from kafka_groups.pipeline.report.history import History
from kafka_groups.pipeline.report.html.page import check_charts, write_page


def check_page_directory(path: str | None) -> None:
    """Raise UsageError if the directory of the page does not exist; None means that there is no page."""
    if path is not None and not (directory := Path(path).absolute().parent).is_dir():
        msg = f"--html {path}: there is no directory {directory}"
        raise click.UsageError(msg)


def check_page(path: str | None) -> None:
    """Raise PipelineError if the page cannot be drawn or written, so that it fails before hours of work.

    None means that there is no page.
    """
    if path is None:
        return
    check_charts()
    try:
        check_writable(path)
    except OSError as error:
        raise _to_pipeline_error(path, error) from error


def write_page_to(path: str, history: History, *, max_groups: int) -> None:
    """Write the page with the first `max_groups` groups. Raises PipelineError if it cannot be written."""
    page = io.StringIO()
    try:
        write_page(history, page, max_groups=max_groups)
        write_atomically(path, page.getvalue())
    except OSError as error:
        raise _to_pipeline_error(path, error) from error


def _to_pipeline_error(path: str, error: OSError) -> PipelineError:
    reason = error.strerror or type(error).__name__
    return PipelineError(f"cannot write the page {path}: {reason}; name another file with --html")
