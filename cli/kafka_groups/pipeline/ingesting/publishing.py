"""What a run writes: each batch is published where Spark is, and counted in a note that we read."""

from __future__ import annotations

import uuid
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kafka_groups.pipeline.storage import Checkpoint, Storage, open_storage
from kafka_groups.pipeline.storage.staging import StagedFile
from kafka_groups.pipeline.tables import INGEST_GAPS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, kw_only=True)
class Ingested:
    """What one run brought in; `records` counts those of the topic, so not the rows of ingest_gaps."""

    cluster_id: str
    batches: int
    records: int
    rows: dict[str, int]  # by table


class Publisher:
    """What Spark calls with each batch's list of files. It may run in another process, so it holds names only."""

    def __init__(self, into: str, checkpoint: Checkpoint, tally: Tally) -> None:
        self.into = into
        self.writer = checkpoint.writer
        self.note = tally.name
        self.run = tally.run

    def __call__(self, manifest: DataFrame, number: int) -> None:
        """Publish a batch under its own name, so that a repeat of it takes its place."""
        files = [StagedFile(row["table"], row["date"], row["path"], row["rows"]) for row in manifest.collect()]
        storage = open_storage(self.into)
        storage.publish(f"{self.writer}-{number:08d}", files)
        self._add(storage, files, number)

    def _add(self, storage: Storage, files: list[StagedFile], number: int) -> None:
        before = storage.note(self.note)
        if before.get("run") != self.run:
            before = {"batches": 0, "rows": {}, "number": None}
        # A run that outlives an outage may have published its last batch before.
        if before["number"] == number:
            return
        rows = Counter(before["rows"])
        for file in files:
            rows[file.table] += file.rows
        told = {"run": self.run, "batches": before["batches"] + 1, "rows": dict(rows), "number": number}
        storage.save_note(self.note, told)


@dataclass(frozen=True, kw_only=True)
class Tally:
    """What this run has published, as told by the note that the publisher writes, wherever it runs."""

    storage: Storage
    cluster_id: str
    run: str = field(default_factory=lambda: uuid.uuid4().hex)

    @property
    def name(self) -> str:
        """Of the note."""
        return f"ingest-{self.cluster_id}"

    def total(self) -> Ingested:
        """All of it so far."""
        note = self._note()
        rows: dict[str, int] = note.get("rows", {})
        return Ingested(
            cluster_id=self.cluster_id,
            batches=note.get("batches", 0),
            records=sum(rows.values()) - rows.get(INGEST_GAPS.name, 0),
            rows=rows,
        )

    def last(self) -> int | None:
        """The number of the batch that was published last; None before the first one."""
        number: int | None = self._note().get("number")
        return number

    def _note(self) -> dict[str, Any]:
        note = self.storage.note(self.name)
        return note if note.get("run") == self.run else {}
