"""The last record of each key of group_events, which retention keeps, as compaction of a topic does.

Records are states: a stable group, a member that joined a year ago and the topics of a share group are written once.
Without the last record, no row would show that such a group or member exists. Rows of samples are not records, and
count on their own day only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Final, NamedTuple, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from kafka_groups.pipeline.store.data_files import DataFile
from kafka_groups.pipeline.store.datasets import open_dataset
from kafka_groups.pipeline.store.root_directory import RootDirectory, as_storage_error
from kafka_groups.pipeline.tables import LARGEST_CLOCK_DIFFERENCE_US
from kafka_groups.pipeline.tables.event_details import read_expression, select_details

# The id of the cluster, the group, the record's type, the member, and the text of a resolved regular expression.
Key: TypeAlias = tuple[str, str, str, str | None, str | None]


class _Event(NamedTuple):
    """The columns of group_events that are read, from a record or a sample.

    `at_us` is the time of the record in microseconds since 1970, 0 if it has none. `details` is the record as JSON,
    None for other types than regular expressions.
    """

    cluster_id: str
    group: str
    record_name: str
    member_id: str | None
    origin: str
    is_tombstone: bool | None
    source_offset: int
    at_us: int
    details: str | None

    @property
    def key(self) -> Key:
        """The key of a record: regular expressions of one group have different keys."""
        return self.cluster_id, self.group, self.record_name, self.member_id, read_expression(self.details)


# The values of the fields of _Event, as expressions on the columns of group_events.
_EXPRESSIONS: Final = {
    **{name: ds.field(name) for name in _Event._fields if name not in {"at_us", "details"}},
    "at_us": pc.coalesce(ds.field("record_time").cast(pa.timestamp("us", "UTC")).cast(pa.int64()), pa.scalar(0)),
    "details": select_details(ds.field("record_name"), ds.field("details")),
}


class _Record(NamedTuple):
    """A record of a key, with its date (YYYY-MM-DD) and its index among all rows of that date.

    `offset` is the offset in `__consumer_offsets`; all records of a key are in one partition. `at_us` is the time in
    microseconds since 1970, 0 if the record has none.
    """

    is_tombstone: bool
    offset: int
    at_us: int
    date: str
    row: int

    def is_before(self, other: _Record) -> bool:
        """Return whether the other record of the same key was written later.

        The record with the greater offset is later. If the times differ by more than clocks do, the times decide: the
        topic was recreated in between, and its offsets began again with 0.
        """
        if abs(self.at_us - other.at_us) > LARGEST_CLOCK_DIFFERENCE_US:
            return self.at_us < other.at_us
        return self.offset < other.offset


def find_last_records(
    directory: RootDirectory, files_by_date: Mapping[str, Sequence[DataFile]]
) -> dict[str, list[int]]:
    """Return by date which rows are the last record of their key, as indexes into all rows of the date's files.

    `files_by_date` has the files of group_events of some dates (YYYY-MM-DD), in ascending order of the dates. The
    result has a list for each of these dates, which may be empty. Indexes of a date have no order, and also count the
    rows of samples. A key whose last record is a tombstone has no index.

    Records of later dates are not read, because the following days are built from the state at the end of these dates.
    Raises StorageError if a file cannot be read.
    """
    last_records: dict[Key, _Record] = {}
    for day, files in files_by_date.items():
        for key, record in _read_records(directory, day, files):
            if key not in last_records or last_records[key].is_before(record):
                last_records[key] = record
        last_records = _without_old_tombstones(last_records, day)
    indexes_by_date: dict[str, list[int]] = {day: [] for day in files_by_date}
    for record in last_records.values():
        if not record.is_tombstone:
            indexes_by_date[record.date].append(record.row)
    return indexes_by_date


def _without_old_tombstones(records: Mapping[Key, _Record], day: str) -> dict[Key, _Record]:
    """Return the records without tombstones that were written before the day (YYYY-MM-DD).

    A tombstone must exclude older records of its key that are read after it. Such records have about the same time,
    because they exist only where clocks differ around midnight. So tombstones are remembered for a day.
    """
    midnight_us = (date.fromisoformat(day) - date(1970, 1, 1)).days * 86_400_000_000
    return {key: record for key, record in records.items() if not record.is_tombstone or record.at_us >= midnight_us}


def _read_records(directory: RootDirectory, day: str, files: Sequence[DataFile]) -> Iterator[tuple[Key, _Record]]:
    """Yield the records of `__consumer_offsets` in all files of a date, in their order, each with its key."""
    for row_index, event in enumerate(_read_events(directory, files)):
        if event.origin == "topic":
            record = _Record(bool(event.is_tombstone), event.source_offset, event.at_us, day, row_index)
            yield event.key, record


def _read_events(directory: RootDirectory, files: Sequence[DataFile]) -> Iterator[_Event]:
    """Yield the rows of the files of group_events, in the order of the files. Raises StorageError."""
    dataset = open_dataset(directory, files)
    with as_storage_error("read the tables", directory.location):
        for batch in dataset.to_batches(columns=_EXPRESSIONS):
            columns = [batch[name].to_pylist() for name in _Event._fields]
            for event_values in zip(*columns, strict=True):
                yield _Event._make(event_values)
