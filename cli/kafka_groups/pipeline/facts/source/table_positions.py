"""The position of an ingest: versions of applications in the Delta logs of the tables that it writes.

Each batch is one commit of each table, with the rows and the position. So the log of a table shows which records the
table has. After a kill between two commits, or with a table from a backup, some tables have more records than others.
The next batch then begins where the table with the fewest records ends, and tasks skip the rows that a table has.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple

from kafka_groups.pipeline.facts.source.continuity import topic_changed_error
from kafka_groups.pipeline.facts.source.position import Offsets, Position, topic_application
from kafka_groups.pipeline.store import NewFile, Storage
from kafka_groups.pipeline.tables import GROUP_EVENTS, INGEST_GAPS, OFFSET_COMMITS, UNKNOWN_RECORDS

# The tables that an ingest writes, in the order of their commits.
_TABLES: Final = (GROUP_EVENTS, INGEST_GAPS, UNKNOWN_RECORDS, OFFSET_COMMITS)
_NOTHING_READ: Final = Position(None, {})


class TablePosition(NamedTuple):
    """The records of a cluster that the tables have.

    - `start` is the position where the next batch begins, so that no table lacks a record. A partition without
      records in any table is absent.
    - `offsets_ahead` has, for each table that is past `start` in some partitions, the next offset of these partitions,
      by table name. ingest_gaps is never among these tables.
    - `batch_numbers` has the number of the last batch by table name; None before the first batch.
    """

    start: Position
    offsets_ahead: Mapping[str, Offsets]
    batch_numbers: Mapping[str, int | None]

    def extend_ends(self, ends: Offsets) -> dict[int, int]:
        """Return the ends of a batch; in each partition, at least the end of the table with the most records."""
        extended_ends = dict(ends)
        for offsets in self.offsets_ahead.values():
            for partition, end in ends.items():
                extended_ends[partition] = max(extended_ends[partition], offsets.get(partition, end))
        return extended_ends


NO_TABLE_POSITION: Final = TablePosition(_NOTHING_READ, {}, {})


def was_read(storage: Storage, cluster_id: str) -> bool:
    """Return whether a table has a batch of the cluster."""
    application = _batch_application(cluster_id)
    return any(application in storage.log(table).transactions() for table in _TABLES)


def read_position(
    storage: Storage, cluster_id: str, topic_id: str | None, partitions: Collection[int]
) -> TablePosition:
    """Return what the tables have of these partitions; `topic_id` is the id that brokers return now.

    Raises SourceError if a table has records of a topic with another id: groups' events are sorted by offset, so the
    records of two topics must not be mixed. Raises StorageError for a log that cannot be read.
    """
    positions: dict[str, Position] = {}
    batches: dict[str, int | None] = {}
    for table in _TABLES:
        versions = storage.log(table).transactions()
        batches[table.name] = versions.get(_batch_application(cluster_id))
        positions[table.name] = _NOTHING_READ
        if batches[table.name] is not None:
            position = Position.from_versions(versions, cluster_id, topic_id, partitions)
            if position is None:
                raise topic_changed_error(topic_id)
            positions[table.name] = position
    start = _find_lowest_position(list(positions.values()))
    return TablePosition(start, _find_offsets_ahead(positions, start), batches)


def _find_lowest_position(positions: Sequence[Position]) -> Position:
    """Return the lowest next offset of each partition, with its epoch; 0 if a position does not have the partition.

    The topic id is the one that all positions have, None if they differ.
    """
    next_offsets: dict[int, int] = {}
    leader_epochs: dict[int, int] = {}
    for partition in sorted({partition for position in positions for partition in position.next_offsets}):
        lowest_position = min(positions, key=lambda position: position.next_offsets.get(partition, 0))
        next_offsets[partition] = lowest_position.next_offsets.get(partition, 0)
        if partition in lowest_position.leader_epochs:
            leader_epochs[partition] = lowest_position.leader_epochs[partition]
    topic_ids = {position.topic_id for position in positions}
    return Position(topic_ids.pop() if len(topic_ids) == 1 else None, next_offsets, leader_epochs)


def _find_offsets_ahead(positions: Mapping[str, Position], start: Position) -> dict[str, Offsets]:
    """Return the next offsets that are past the start, by table and partition, without tables that have none."""
    ahead: dict[str, Offsets] = {}
    for table, position in positions.items():
        offsets = {
            partition: offset
            for partition, offset in position.next_offsets.items()
            if offset > start.next_offsets[partition]
        }
        # The gaps of a batch that is read again have to be rows again, even if ingest_gaps already has them.
        if offsets and table != INGEST_GAPS.name:
            ahead[table] = offsets
    return ahead


def commit_batch(
    storage: Storage, files: Sequence[NewFile], cluster_id: str, position_before: TablePosition, end: Position
) -> TablePosition:
    """Commit the files of a batch that ended at `end`, and return what the tables have then.

    Raises StorageError if another program has committed a batch since `position_before` was read.
    """
    batch_number = secrets.randbits(62)
    versions = end.to_versions(cluster_id)
    # All versions are written if the tables differ, or if brokers return another topic id since an upgrade.
    have_same_position = not position_before.offsets_ahead and position_before.start.topic_id == end.topic_id
    versions_before = position_before.start.to_versions(cluster_id) if have_same_position else {}
    # Each commit has these two, so Delta refuses one of two commits at the same time.
    application_of_batches = _batch_application(cluster_id)
    application_of_topic = topic_application(cluster_id)
    changed_versions = {name: version for name, version in versions.items() if versions_before.get(name) != version}
    transactions = {
        application_of_batches: batch_number,
        application_of_topic: versions[application_of_topic],
        **changed_versions,
    }
    expected = {
        table: {application_of_batches: last_batch} for table, last_batch in position_before.batch_numbers.items()
    }
    storage.append(files, transactions, expected_versions=expected, tables=_TABLES)
    return TablePosition(end, {}, {table.name: batch_number for table in _TABLES})


def _batch_application(cluster_id: str) -> str:
    return f"{cluster_id}/batch"
