"""The JSON documents of the pipeline's commands: summaries, and every error under a stable name."""

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
from kafka_groups.rendering.clusters import Cluster
from kafka_groups.rendering.documents import failure_document
from kafka_groups.rendering.schemas import Document

# The names of errors that neither brokers nor the network cause. A subclass comes before its class.
_NAMES: Final[tuple[tuple[type[KafkaGroupsError], str], ...]] = (
    (SparkMissingError, "SPARK_MISSING"),
    (SourceError, "SOURCE_FAILED"),
    (StorageError, "STORAGE_FAILED"),
    (PipelineError, "PIPELINE_FAILED"),
)
_OTHER_NAME: Final = "PIPELINE_FAILED"
_NO_SUBJECT: Final[Document] = dict.fromkeys(("cluster", "group", "topic", "partition", "broker", "code"))
# The error of a run that Ctrl-C or SIGTERM ended early.
INTERRUPTED: Final[Document] = {
    **_NO_SUBJECT,
    "name": "INTERRUPTED",
    "message": "a signal ended the run early; the written rows stay, and the next run continues there",
}
PIPELINE_ERROR_NAMES: Final = tuple(name for _, name in _NAMES)


@dataclass(frozen=True, kw_only=True, slots=True)
class Summary:
    """The summary of a command: the number of rows that it wrote, by table, and other numbers (`batches`, `dates`, …).

    `rows_by_cluster` has the same rows for each cluster, for a command whose rows name it; with `has_several`, tables
    and CSV have the column CLUSTER. A number is None if it is not known. `settings` are those that the rows depend on,
    and `missing` are sentences on missing data; both are None for commands without them.
    """

    cluster_id: str | None = None
    rows: Mapping[str, int]
    rows_by_cluster: Mapping[Cluster, Mapping[str, int]] | None = None
    has_several: bool = False
    numbers: Mapping[str, int | None] = field(default_factory=dict)
    seconds: float
    settings: Mapping[str, float] | None = None
    missing: Sequence[str] | None = None


def schema_name(command: str) -> str:
    """Return the name of the document of `pipeline COMMAND`, which is its key `schema`."""
    return f"kafka-groups/pipeline-{command}/1"


def whole_document(command: str, status: str, content: Mapping[str, Any], errors: Iterable[Document] = ()) -> Document:
    """Return the complete document of a command, with its own content between status and errors."""
    return {"schema": schema_name(command), "status": status, **content, "errors": list(errors)}


def summary_content(summary: Summary) -> Document:
    """Return the content that a summary adds to its document."""
    return {
        "cluster_id": summary.cluster_id,
        "tables": table_documents(summary),
        **summary.numbers,
        **({} if summary.settings is None else {"settings": dict(summary.settings)}),
        **({} if summary.missing is None else {"missing": list(summary.missing)}),
        "seconds": round(summary.seconds, 3),
    }


def table_documents(summary: Summary) -> list[Document]:
    """Return the rows of `tables`: one for each table, or for each table of each cluster."""
    if summary.rows_by_cluster is None:
        return [{"table": table, "rows": rows} for table, rows in summary.rows.items()]
    return [
        {**cluster.document(), "table": table, "rows": rows}
        for cluster, rows_by_table in summary.rows_by_cluster.items()
        for table, rows in rows_by_table.items()
    ]


def error_document(error: KafkaGroupsError) -> Document:
    """Return the entry of `errors` for the error that ended a command."""
    if isinstance(error, AdminError):
        return failure_document(Failure.of(error))
    name = next((name for error_class, name in _NAMES if isinstance(error, error_class)), _OTHER_NAME)
    return {**_NO_SUBJECT, "name": name, "message": str(error)}
