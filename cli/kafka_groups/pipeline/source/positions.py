"""How far the records of a cluster were read: transactions in the logs of the tables, one for each source partition.

The application of a transaction is the cluster, the topic id and the partition; its version is the next offset. Each
batch is a commit of each table, with or without rows, so a table always says by itself which records it has. A table
that is older than the others, after a kill between two commits or a backup, gets what it lacks with the next batch.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from kafka_groups.errors import SourceError
from kafka_groups.pipeline.schemas import (
    GROUP_EVENTS,
    INGEST_GAPS,
    OFFSET_COMMITS,
    OFFSETS_TOPIC,
    STORED,
    UNKNOWN_RECORDS,
    Table,
)
from kafka_groups.pipeline.source.plan import Log, Offsets
from kafka_groups.pipeline.storage import NewFile, Storage

_TABLES: Final = (GROUP_EVENTS, INGEST_GAPS, UNKNOWN_RECORDS, OFFSET_COMMITS)
# Brokers before 2.8 return no topic ids.
_NO_ID: Final = "-"


class Stored(NamedTuple):
    """The position of each table: its offsets and their leader epochs, under the topic id that brokers returned then.

    `batches` has the number of each table's last batch, None before its first one.
    """

    tables: Mapping[str, Log]
    batches: Mapping[str, int | None]

    def start(self) -> Log:
        """Return where the next batch begins, so that no table lacks a record; a partition of no table is left out."""
        known = {partition for log in self.tables.values() for partition in log.ends}
        oldest = {
            partition: min(self.tables.values(), key=lambda log: log.ends.get(partition, 0))
            for partition in sorted(known)
        }
        offsets = {partition: log.ends.get(partition, 0) for partition, log in oldest.items()}
        epochs = {partition: log.epochs[partition] for partition, log in oldest.items() if partition in log.epochs}
        topic_ids = {log.topic_id for log in self.tables.values()}
        return Log(topic_ids.pop() if len(topic_ids) == 1 else None, offsets, epochs)

    def ahead(self) -> dict[str, dict[int, int]]:
        """Return the tables that have records beyond the start, with the next offset of each such partition.

        Without the table of gaps: a gap that another table missed has to be a row, even if it is one already.
        """
        starts = self.start().ends
        ahead = {
            table: {partition: offset for partition, offset in log.ends.items() if offset > starts[partition]}
            for table, log in self.tables.items()
            if table != INGEST_GAPS.name
        }
        return {table: offsets for table, offsets in ahead.items() if offsets}


def was_read(storage: Storage, cluster_id: str) -> bool:
    """Return whether records of the cluster were read."""
    return any(number is not None for number in read_batches(storage, cluster_id).values())


def read_batches(storage: Storage, cluster_id: str) -> dict[str, int | None]:
    """Return the number of the last batch of each table, None before its first one."""
    application = _batch_application(cluster_id)
    return {table.name: storage.versions_of(table, [application]).get(application) for table in _TABLES}


def read_position(storage: Storage, cluster_id: str, topic_id: str | None, partitions: Iterable[int]) -> Stored | None:
    """Return the position of each table, of these partitions; None if no records of the cluster were read.

    Raises SourceError if the records that were read are those of a topic that was deleted since: their history and
    that of the new topic have to be kept apart, because the events of a group are sorted by offset.
    """
    wanted = list(partitions)
    batches = read_batches(storage, cluster_id)
    # Each transaction takes milliseconds to read, and tables with the same last batch have the same position.
    found: dict[int, Log] = {}
    for table, batch in batches.items():
        if batch is not None and batch not in found:
            found[batch] = _read(storage, STORED[table], cluster_id, topic_id, wanted)
    if not found:
        return None
    tables = {table: Log(None, {}) if batch is None else found[batch] for table, batch in batches.items()}
    return Stored(tables, batches)


def commit_batch(
    storage: Storage,
    files: Sequence[NewFile],
    cluster_id: str,
    batches: Mapping[str, int | None],
    before: Log,
    end: Log,
) -> dict[str, int | None]:
    """Add the files of a batch to the tables, with the offsets where it ended; return the batch numbers of the tables.

    `batches` are the numbers before it, and `before` is the position that all tables have. Raises StorageError if
    another program has added a batch meanwhile.
    """
    name = end.topic_id or _NO_ID
    if before.topic_id != end.topic_id:  # brokers return another id since an upgrade: under that one nothing is known
        before = Log(None, {})
    moved = {each: offset for each, offset in end.ends.items() if before.ends.get(each) != offset}
    changed = {each: epoch for each, epoch in end.epochs.items() if before.epochs.get(each) != epoch}
    number = secrets.randbits(62)
    # The first two are in every commit, so that of two commits at once one is refused.
    transactions = {_batch_application(cluster_id): number, _topic_application(cluster_id): _number(name)}
    transactions |= {_application(cluster_id, name, each): offset for each, offset in moved.items()}
    transactions |= {_epoch_application(cluster_id, name, each): epoch for each, epoch in changed.items()}
    expected = {table: {_batch_application(cluster_id): batch} for table, batch in batches.items()}
    storage.append(files, transactions, expected=expected, tables=_TABLES)
    return {table.name: number for table in _TABLES}


def limits_of(ahead: Mapping[str, Mapping[int, int]], ends: Offsets) -> dict[int, int]:
    """Return where a batch has to end at least, so that no table is ahead of it afterwards."""
    least: dict[int, int] = {}
    for offsets in ahead.values():
        for partition, offset in offsets.items():
            least[partition] = max(offset, least.get(partition, 0))
    return {partition: max(end, least.get(partition, end)) for partition, end in ends.items()}


def _read(storage: Storage, table: Table, cluster_id: str, topic_id: str | None, partitions: Sequence[int]) -> Log:
    topic = _topic_application(cluster_id)
    number = storage.versions_of(table, [topic])[topic]
    names = {_number(each): each for each in (_NO_ID, topic_id) if each is not None}
    if number not in names:
        now = "does not exist any more" if topic_id is None else f"was recreated: its topic id is {topic_id} now"
        msg = f"{OFFSETS_TOPIC} was read, and {now}, so the old offsets do not apply; use a new directory (--data-dir)"
        raise SourceError(msg)
    name = names[number]
    offsets = {_application(cluster_id, name, each): each for each in partitions}
    epochs = {_epoch_application(cluster_id, name, each): each for each in partitions}
    found = storage.versions_of(table, [*offsets, *epochs])
    return Log(
        None if name == _NO_ID else name,
        {offsets[application]: version for application, version in found.items() if application in offsets},
        {epochs[application]: version for application, version in found.items() if application in epochs},
    )


def _batch_application(cluster_id: str) -> str:
    return f"{cluster_id}/batch"


def _topic_application(cluster_id: str) -> str:
    return f"{cluster_id}/topic"


def _application(cluster_id: str, topic: str, partition: int) -> str:
    return f"{cluster_id}/{topic}/{partition}"


def _epoch_application(cluster_id: str, topic: str, partition: int) -> str:
    return f"{_application(cluster_id, topic, partition)}/epoch"


def _number(topic: str) -> int:
    """Return a topic id as the version of a transaction, which is a number of at most 63 bits."""
    return int.from_bytes(hashlib.sha256(topic.encode()).digest()[:7])
