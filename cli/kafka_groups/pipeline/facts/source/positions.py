"""How far the records of a cluster were read: transactions in the logs of the tables, one for each source partition.

The application is the cluster, the topic id and the partition; the version is the next offset. Each batch is a commit
of each table, so a table says by itself which records it has; one that is older than the others, after a kill between
two commits or a backup, gets what it lacks with the next batch.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple

from kafka_groups.pipeline import tables as schemas
from kafka_groups.pipeline.facts.source.plan import Log, Offsets, changed_topic
from kafka_groups.pipeline.store import NewFile, Storage

_TABLES: Final = (schemas.GROUP_EVENTS, schemas.INGEST_GAPS, schemas.UNKNOWN_RECORDS, schemas.OFFSET_COMMITS)
_NO_ID: Final = "-"  # brokers before 2.8 return no topic ids
_UNREAD: Final = Log(None, {})


class Stored(NamedTuple):
    """What the tables have of a cluster's records."""

    start: Log  # where the next batch begins, so that no table lacks a record; without partitions of no table
    ahead: Mapping[str, Offsets]  # by table, the next offset of each partition with records beyond the start
    batches: Mapping[str, int | None]  # by table, the number of its last batch, None before the first one

    def beyond(self, ends: Offsets) -> dict[int, int]:
        """Return where a batch with these ends has to end at least, so that no table is ahead of it afterwards."""
        ahead = self.ahead.values()
        return {each: max([end, *(offsets.get(each, end) for offsets in ahead)]) for each, end in ends.items()}


def was_read(storage: Storage, cluster_id: str) -> bool:
    """Return whether records of the cluster were read."""
    return any(number is not None for number in _batches(storage, cluster_id).values())


def read_position(storage: Storage, cluster_id: str, topic_id: str | None, partitions: Collection[int]) -> Stored:
    """Return what the tables have, of these partitions; SourceError if that is of a topic that was deleted since.

    The histories of two topics have to be kept apart, because the events of a group are sorted by offset.
    """
    batches = _batches(storage, cluster_id)
    # Each transaction takes milliseconds to read, and tables with the same last batch have the same position.
    read: dict[int | None, Log] = {None: _UNREAD}
    for table, batch in batches.items():
        if batch not in read:
            read[batch] = _read(storage, table, cluster_id, topic_id, partitions)
    logs = {table: read[batch] for table, batch in batches.items()}
    known = sorted({partition for log in logs.values() for partition in log.ends})
    oldest = {partition: min(logs.values(), key=lambda log: log.ends.get(partition, 0)) for partition in known}
    starts = {partition: log.ends.get(partition, 0) for partition, log in oldest.items()}
    epochs = {partition: log.epochs[partition] for partition, log in oldest.items() if partition in log.epochs}
    topic_ids = {log.topic_id for log in logs.values()}
    start = Log(topic_ids.pop() if len(topic_ids) == 1 else None, starts, epochs)
    # Without the table of gaps: a gap that another table missed has to be a row, even if it is one already.
    ahead = {
        table: {partition: offset for partition, offset in log.ends.items() if offset > starts[partition]}
        for table, log in logs.items()
        if table != schemas.INGEST_GAPS.name
    }
    return Stored(start, {table: offsets for table, offsets in ahead.items() if offsets}, batches)


def commit_batch(storage: Storage, files: Sequence[NewFile], cluster_id: str, stored: Stored, end: Log) -> Stored:
    """Add the files of a batch that ended there to the tables, and return what these have then.

    Raises StorageError if another program has added a batch since `stored` was read.
    """
    name = end.topic_id or _NO_ID
    # Tables that differ get all offsets, and all get them under another id, which brokers return since an upgrade.
    before = _UNREAD if stored.ahead or stored.start.topic_id != end.topic_id else stored.start
    number = secrets.randbits(62)
    # The first two are in every commit, so that of two commits at once one is refused.
    transactions = {f"{cluster_id}/batch": number, f"{cluster_id}/topic": _number(name)}
    for partition, offset in end.ends.items() - before.ends.items():
        transactions[f"{cluster_id}/{name}/{partition}"] = offset
    for partition, epoch in end.epochs.items() - before.epochs.items():
        transactions[f"{cluster_id}/{name}/{partition}/epoch"] = epoch
    expected = {table: {f"{cluster_id}/batch": batch} for table, batch in stored.batches.items()}
    storage.append(files, transactions, expected=expected, tables=_TABLES)
    return Stored(end, {}, {table.name: number for table in _TABLES})


def _batches(storage: Storage, cluster_id: str) -> dict[str, int | None]:
    application = f"{cluster_id}/batch"
    return {table.name: storage.versions_of(table, [application]).get(application) for table in _TABLES}


def _read(storage: Storage, table: str, cluster_id: str, topic_id: str | None, partitions: Collection[int]) -> Log:
    (number,) = storage.versions_of(schemas.STORED_TABLES[table], [f"{cluster_id}/topic"]).values()
    names = {_number(each): each for each in (_NO_ID, topic_id) if each is not None}
    if number not in names:
        raise changed_topic(topic_id)
    name = names[number]
    ends = {f"{cluster_id}/{name}/{partition}": partition for partition in partitions}
    epochs = {f"{application}/epoch": partition for application, partition in ends.items()}
    found = storage.versions_of(schemas.STORED_TABLES[table], [*ends, *epochs])
    return Log(
        None if name == _NO_ID else name,
        {partition: found[application] for application, partition in ends.items() if application in found},
        {partition: found[application] for application, partition in epochs.items() if application in found},
    )


def _number(topic: str) -> int:
    """Return a topic id as the version of a transaction, which is a number of at most 63 bits."""
    return int.from_bytes(hashlib.sha256(topic.encode()).digest()[:7])
