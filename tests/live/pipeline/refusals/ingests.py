"""What an ingest reports, and which files it leaves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from kafka_groups.pipeline.store import Storage
from tests.fakes.command_line import Outcome

Ingest = Callable[..., tuple[Outcome, dict[str, Any]]]


def names_of(document: dict[str, Any]) -> list[str]:
    """What the errors of a document are called."""
    return [error["name"] for error in document["errors"]]


def files_of(storage: Storage) -> set[str]:
    """All files of tables."""
    return {str(path) for path in Path(storage.location).rglob("*.parquet")}
