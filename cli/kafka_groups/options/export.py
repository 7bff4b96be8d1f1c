"""Files that a command writes beside its output."""

from __future__ import annotations

from kafka_groups.errors import ExportError
from kafka_groups.files import write_atomically


def export_text(name: str, text: str, *, what: str, is_read_back: bool = False) -> None:
    """Write a file that the user named, in one step if it is a regular file. Raises ExportError if that fails.

    A file that `is_read_back` by a later run has to be a regular one.
    """
    try:
        write_atomically(name, text, is_read_back=is_read_back)
    except OSError as error:
        msg = f"cannot write {what} to {name or repr(name)}: {error.strerror or error}"
        raise ExportError(msg) from error
