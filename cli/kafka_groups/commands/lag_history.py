"""The file of `lag --history`, read before a command and written after it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kafka_groups.admin import Deadline, GroupAdmin
from kafka_groups.commands.export import export_text
from kafka_groups.errors import HistoryFileError
from kafka_groups.files import SpecialFileError, read_regular
from kafka_groups.groups.lag_history import LagHistory
from kafka_groups.groups.lag_history_file import format_history, read_history


def load_history(admin: GroupAdmin, name: str, *, timeout: Deadline) -> LagHistory:
    """Return the history of a file that must exist. Raises HistoryFileError, as `open_history` does."""
    if not Path(name).exists():
        msg = f"there is no history {name}; lag --history {name} begins one"
        raise HistoryFileError(msg)
    return read_history(_read_text(name), name=name, cluster_id=admin.cluster_id(timeout=timeout))


@contextmanager
def open_history(admin: GroupAdmin, name: str | None, *, isolation: str, timeout: Deadline) -> Iterator[LagHistory]:
    """Yield the history of a file, which is written when the context ends; without a name an empty history.

    Raises HistoryFileError for a file that cannot be read, or that is of another kind, cluster or isolation level, and
    ExportError if the file cannot be written.
    """
    if name is None:
        yield LagHistory()
        return
    cluster_id = admin.cluster_id(timeout=timeout)
    history = read_history(_read_text(name), name=name, cluster_id=cluster_id, isolation=isolation)
    try:
        yield history
    finally:
        if history.partitions:
            export_text(name, format_history(history, cluster_id, isolation), what="the history", is_read_back=True)


def _read_text(name: str) -> str:
    try:
        return read_regular(name).decode("utf-8")
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError as error:
        msg = f"{name} is not a history of lag: it is not UTF-8; use another file"
        raise HistoryFileError(msg) from error
    except SpecialFileError as error:
        msg = f"cannot use {name} as a history: {error.strerror}"
        raise HistoryFileError(msg) from error
    except OSError as error:
        msg = f"cannot read {name}: {error.strerror}"
        raise HistoryFileError(msg) from error
