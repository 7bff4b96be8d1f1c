"""Files that a command writes beside its output."""

from __future__ import annotations

from pathlib import Path

from kafka_groups.errors import ExportError
from kafka_groups.files import write_atomically


def export_text(name: str, text: str, *, what: str) -> None:
    """Write a file that the user named, in one step. Raises ExportError if it cannot be written."""
    try:
        write_atomically(Path(name), text)
    except OSError as error:
        msg = f"cannot write {what} to {name or repr(name)}: {error.strerror or error}"
        raise ExportError(msg) from error
