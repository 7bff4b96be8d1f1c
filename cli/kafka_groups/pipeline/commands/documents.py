"""The documents of the pipeline's commands: what was done, and every error under a stable name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from kafka_groups.errors import (
    AdminError,
    KafkaGroupsError,
    PipelineError,
    SourceError,
    SparkMissingError,
    StorageError,
)
from kafka_groups.model import Failure
from kafka_groups.rendering.documents import failure_document
from kafka_groups.rendering.schemas import Document

# `errors[].name` of what is neither a broker's nor the network's; the most special first.
_NAMES: Final[tuple[tuple[type[KafkaGroupsError], str], ...]] = (
    (SparkMissingError, "SPARK_MISSING"),
    (SourceError, "SOURCE_FAILED"),
    (StorageError, "STORAGE_FAILED"),
    (PipelineError, "PIPELINE_FAILED"),
)
_OTHERWISE: Final = "PIPELINE_FAILED"
_NOWHERE: Final[Document] = dict.fromkeys(("group", "topic", "partition", "broker", "code"))
# What a document holds of a Ctrl-C or a SIGTERM that came before all was done.
INTERRUPTED: Final[Document] = {
    **_NOWHERE,
    "name": "INTERRUPTED",
    "message": "a signal ended the run early; the written rows stay, and the next run continues there",
}
PIPELINE_ERROR_NAMES: Final = tuple(name for _, name in _NAMES)


@dataclass(frozen=True, kw_only=True, slots=True)
class Summary:
    """What a command did: rows by table, and numbers of its own (`batches`, `dates`, …; None where not known).

    `settings` are those that the rows depend on, `missing` sentences on what is unknown, for commands that have such.
    """

    cluster_id: str | None = None
    rows: Mapping[str, int]
    numbers: Mapping[str, int | None] = field(default_factory=dict)
    seconds: float
    settings: Mapping[str, float] | None = None
    missing: Sequence[str] | None = None


def schema_name(command: str) -> str:
    """Return what stands first in the document of `pipeline COMMAND`."""
    return f"kafka-groups/pipeline-{command}/1"


def whole_document(command: str, status: str, content: Mapping[str, Any], errors: Iterable[Document] = ()) -> Document:
    """Return the document of a command, with what is its own between status and errors."""
    return {"schema": schema_name(command), "status": status, **content, "errors": list(errors)}


def summary_content(summary: Summary) -> Document:
    """Return what a summary adds to its document."""
    return {
        "cluster_id": summary.cluster_id,
        "tables": [{"table": table, "rows": rows} for table, rows in summary.rows.items()],
        **summary.numbers,
        **({} if summary.settings is None else {"settings": dict(summary.settings)}),
        **({} if summary.missing is None else {"missing": list(summary.missing)}),
        "seconds": round(summary.seconds, 3),
    }


def error_document(error: KafkaGroupsError) -> Document:
    """Return an entry of `errors` for what ended a command."""
    if isinstance(error, AdminError):
        return failure_document(Failure.of(error))
    name = next((name for kind, name in _NAMES if isinstance(error, kind)), _OTHERWISE)
    return {**_NOWHERE, "name": name, "message": str(error)}
