"""How far the records of a cluster were read: transactions in the logs of the tables, one for each source partition.

The application of a transaction is the cluster, the topic id and the partition; its version is the next offset. A
commit has the transactions of its batch beside the rows, so a table always says by itself which records it has. The
table of commits is committed last: what it says, all tables have.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from kafka_groups.errors import SourceError
from kafka_groups.pipeline.source.planning import Log, Offsets, Position, position_of
from kafka_groups.pipeline.storage import Storage
from kafka_groups.pipeline.storage.staging import StagedFile
from kafka_groups.pipeline.tables import GROUP_EVENTS, INGEST_GAPS, OFFSET_COMMITS, OFFSETS_TOPIC, UNKNOWN_RECORDS

_LAST: Final = OFFSET_COMMITS.name
_OTHERS: Final = (GROUP_EVENTS.name, INGEST_GAPS.name, UNKNOWN_RECORDS.name)
# Brokers before 2.8 tell no topic ids.
_NO_ID: Final = "-"


def was_read(storage: Storage, cluster_id: str) -> bool:
    """Return whether records of the cluster were read."""
    return bool(storage.tables.versions_of(_LAST, [_topic_application(cluster_id)]))


def read_position(
    storage: Storage, cluster_id: str, topic_id: str | None, partitions: Iterable[int]
) -> Position | None:
    """Return where the last batch ended, of these partitions; None if no records of the cluster were read.

    It has no topic id if the brokers told none at the time.

    Raises SourceError if the records that were read are those of a topic that was deleted since: their history and the
    new one's are best kept apart, because what happened to groups is told in the order of offsets.
    """
    application = _topic_application(cluster_id)
    known = storage.tables.versions_of(_LAST, [application]).get(application)
    if known is None:
        return None
    if known == _number(_NO_ID):
        name = _NO_ID
    elif topic_id is not None and known == _number(topic_id):
        name = topic_id
    else:
        now = "does not exist any more" if topic_id is None else f"was recreated: its topic id is {topic_id} now"
        msg = f"{OFFSETS_TOPIC} was read, and {now}, so the old offsets do not apply; use a new directory (--data-dir)"
        raise SourceError(msg)
    wanted = list(partitions)
    offsets = _versions(storage, _LAST, [_application(cluster_id, name, each) for each in wanted], wanted)
    epochs = _versions(storage, _LAST, [_epoch_application(cluster_id, name, each) for each in wanted], wanted)
    return position_of(cluster_id, offsets, Log(None if name == _NO_ID else name, {}, epochs))


def read_ahead(
    storage: Storage, cluster_id: str, topic_id: str | None, starts: Offsets, partitions: Iterable[int]
) -> dict[str, dict[int, int]]:
    """Return the tables that have records beyond the position, with the next offset of each such partition.

    A run that was killed between two tables leaves them so.
    """
    wanted = list(partitions)
    applications = [_application(cluster_id, topic_id or _NO_ID, each) for each in wanted]
    found = {table: _versions(storage, table, applications, wanted) for table in _OTHERS}
    ahead = {
        table: {partition: offset for partition, offset in offsets.items() if offset > starts.get(partition, 0)}
        for table, offsets in found.items()
    }
    return {table: offsets for table, offsets in ahead.items() if offsets}


def commit_batch(
    storage: Storage, batch: str, files: Sequence[StagedFile], cluster_id: str, before: Log, end: Log
) -> None:
    """Add the files of a batch to the tables, with the offsets where it ended; `before` is what the tables say now."""
    name = end.topic_id or _NO_ID
    moved = {each: offset for each, offset in end.ends.items() if before.ends.get(each) != offset}
    changed = {each: epoch for each, epoch in end.epochs.items() if before.epochs.get(each) != epoch}
    # The first one is in every commit, so that of two runs at once only one can commit.
    transactions = {_topic_application(cluster_id): _number(name)}
    transactions |= {_application(cluster_id, name, each): offset for each, offset in moved.items()}
    transactions |= {_epoch_application(cluster_id, name, each): epoch for each, epoch in changed.items()}
    storage.extend(batch, files, transactions, last=_LAST)


def _versions(storage: Storage, table: str, applications: Sequence[str], partitions: Sequence[int]) -> dict[int, int]:
    versions = storage.tables.versions_of(table, applications)
    by_partition = zip(partitions, applications, strict=True)
    return {partition: versions[each] for partition, each in by_partition if each in versions}


def _topic_application(cluster_id: str) -> str:
    return f"{cluster_id}/topic"


def _application(cluster_id: str, topic: str, partition: int) -> str:
    return f"{cluster_id}/{topic}/{partition}"


def _epoch_application(cluster_id: str, topic: str, partition: int) -> str:
    return f"{_application(cluster_id, topic, partition)}/epoch"


def _number(topic: str) -> int:
    """Return a topic id as the version of a transaction, which is a number of at most 63 bits."""
    return int.from_bytes(hashlib.sha256(topic.encode()).digest()[:7])


def limits_of(ahead: Mapping[str, Mapping[int, int]], ends: Offsets) -> dict[int, int]:
    """Return where a batch has to end at least, so that no table is ahead of it afterwards."""
    least: dict[int, int] = {}
    for offsets in ahead.values():
        for partition, offset in offsets.items():
            least[partition] = max(offset, least.get(partition, 0))
    return {partition: max(end, least.get(partition, end)) for partition, end in ends.items()}
