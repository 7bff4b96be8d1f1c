"""Files of facts and of states as rows of the stages, and the summary of the facts: each file is read once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import groupby
from operator import attrgetter
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kafka_groups.pipeline.build.fact_summary import FactSummaries, SummaryParts
from kafka_groups.pipeline.build.kernels.segments import DAY_US
from kafka_groups.pipeline.build.stage_rows import (
    PARTITION_KEY,
    RowKind,
    make_result_rows,
    make_rows,
    pack_commits,
    pack_events,
    pack_observations,
)
from kafka_groups.pipeline.frames.arrays import to_flags
from kafka_groups.pipeline.frames.batches import make_batch
from kafka_groups.pipeline.store import DataFile
from kafka_groups.pipeline.store.root_directory import as_storage_error, open_file
from kafka_groups.pipeline.tables import (
    GROUP_EVENTS,
    GROUP_STATE,
    OFFSET_COMMITS,
    OFFSETS_TOPIC,
    PARTITION_OFFSETS,
    PARTITION_STATE,
    STORED_TABLES,
    Table,
)

_ROWS_PER_BATCH: Final = 65_536
_ID_BYTES: Final = 8


@dataclass(frozen=True, slots=True)
class _TableReader:
    """How the rows of a table become rows of a stage and parts of the summary.

    `convert` takes rows with the columns `names`, and the day of their file (days since 1970); `pack` takes the record
    batches that it returns. `summarise` returns parts of the summary.
    """

    names: Sequence[str]
    convert: Callable[[Any, int], Any]
    pack: Callable[[Iterator[Any]], Iterator[Any]]
    summarise: Callable[[Any, int], list[Any]]


def read_facts(files: Iterable[DataFile]) -> Iterator[Any]:
    """Yield record batches of StageRows from files of facts and states: packed rows, and parts of the summary.

    The paths of the files are those of `RootDirectory.address`. Raises StorageError.
    """
    parts = SummaryParts()
    for name, same_table in groupby(sorted(files, key=attrgetter("table")), attrgetter("table")):
        reader = _READERS[STORED_TABLES[name]]
        yield from reader.pack(_convert_files(same_table, reader, parts))
    for summed in parts.to_batches():
        yield make_result_rows("summary", summed)


def _convert_files(files: Iterable[DataFile], reader: _TableReader, parts: SummaryParts) -> Iterator[Any]:
    """Yield the converted rows of files of one table, and add their parts of the summary to `parts`."""
    for file in files:
        day = day_number(date.fromisoformat(file.date))
        for rows in read_columns(file.path, reader.names):
            for part in reader.summarise(rows, day):
                parts.add(part)
            yield reader.convert(rows, day)


def read_columns(path: str, columns: Sequence[str]) -> Iterator[Any]:
    """Yield record batches of some columns of a Parquet file, by its path or URI. Raises StorageError."""
    with as_storage_error("read the tables", path), open_file(path) as file:
        for rows in pq.ParquetFile(file).iter_batches(_ROWS_PER_BATCH, columns=list(columns)):
            yield rows.select(columns)


def day_number(day: date) -> int:
    """Return the days since 1970."""
    return (day - date(1970, 1, 1)).days


def _convert_commits(rows: Any, day: int) -> Any:
    offset = rows["committed_offset"]
    # Brokers accept -1 for an offset, and return none for it.
    is_removal = pa.array(to_flags(rows["tombstone"]) | ~to_flags(pc.greater_equal(offset, 0)))
    return _add_columns(
        rows.select([*PARTITION_KEY, "group", "source_offset"]),
        {
            "day": _repeat_day(day, rows),
            "at_us": _times_within(rows["commit_time"], day),
            "is_record": pc.equal(rows["origin"], "topic"),
            "is_removal": is_removal,
            "committed_offset": pc.if_else(is_removal, None, offset),
        },
    )


def _convert_observations(rows: Any, day: int) -> Any:
    return _add_columns(
        rows.select(PARTITION_KEY),
        {
            "day": _repeat_day(day, rows),
            "at_us": _to_microseconds(rows["observed_at"]),
            "is_sample": pc.equal(rows["origin"], "sample"),
            "log_start": rows["log_start_offset"],
            "log_end": rows["log_end_offset"],
            "last_stable": rows["last_stable_offset"],
            "point_offset": rows["point_offset"],
            "point_ms": pc.divide(_to_microseconds(rows["point_time"]), 1_000),
            "topic_id": _number_ids(rows["topic_id"]),
        },
    )


def _convert_events(rows: Any, day: int) -> Any:
    is_expression = pc.starts_with(rows["event_type"], "regex")
    details = pc.if_else(is_expression, rows["details"], None).to_pylist()
    expressions = [None if text is None else json.loads(text).get("regular_expression") for text in details]
    return _add_columns(
        rows.drop_columns(["record_time", "state_time", "details"]),
        {
            "day": _repeat_day(day, rows),
            "at_us": _times_within(rows["record_time"], day),
            "state_us": _to_microseconds(rows["state_time"]),
            "expression": pa.array(expressions, pa.string()),
        },
    )


def _convert_partition_states(rows: Any, day: int) -> Any:
    kind = pc.if_else(pc.is_null(rows["group"]), int(RowKind.LOG_STATE), int(RowKind.KEY_STATE))
    columns = {"kind": kind.cast(pa.int8()), "day": _repeat_day(day, rows), "payload": rows["state"]}
    return _add_columns(rows.select([*PARTITION_KEY, "group"]), columns)


def _convert_group_states(rows: Any, day: int) -> Any:
    columns = {"day": _repeat_day(day, rows), "payload": rows["state"].cast(pa.binary())}
    return _add_columns(rows.select(["cluster_id", "group"]), columns)


def _pack_partition_states(batches: Iterator[Any]) -> Iterator[Any]:
    """Yield StageRows of states, which are packed already."""
    for rows in batches:
        for kind in (RowKind.LOG_STATE, RowKind.KEY_STATE):
            of_kind = rows.filter(pc.equal(rows["kind"], int(kind)))
            yield make_rows(kind, {name: of_kind[name] for name in of_kind.schema.names})


def _pack_group_states(batches: Iterator[Any]) -> Iterator[Any]:
    for rows in batches:
        yield make_rows(RowKind.GROUP_STATE, {name: rows[name] for name in rows.schema.names})


def _summarise_commits(rows: Any, day: int) -> list[Any]:
    return [_summarise_groups(OFFSET_COMMITS, rows, rows["commit_time"], day)]


def _summarise_events(rows: Any, day: int) -> list[Any]:
    return [_summarise_groups(GROUP_EVENTS, rows, rows["record_time"], day)]


def _summarise_groups(table: Table, rows: Any, times: Any, day: int) -> Any:
    """Return the parts of facts of groups: the time of each fact, with its group if a sample saw it."""
    sampled_group = pc.if_else(pc.equal(rows["origin"], "topic"), None, rows["group"])
    return _make_part(
        table,
        day,
        {
            "origin": rows["origin"],
            "cluster_id": rows["cluster_id"],
            "group": sampled_group,
            "latest_us": _times_within(times, day),
        },
    )


def _summarise_observations(rows: Any, day: int) -> list[Any]:
    """Return the parts of log ends: of each sample or backfill, and of each partition."""
    at_us = _times_within(rows["observed_at"], day)
    log_end = rows["log_end_offset"]
    is_known = pc.is_valid(log_end)
    samples = {
        "origin": rows["origin"],
        "cluster_id": rows["cluster_id"],
        "topic": pc.if_else(pc.equal(rows["topic"], OFFSETS_TOPIC), rows["topic"], None),
        "sample_us": pc.if_else(pc.equal(rows["origin"], "sample"), at_us, None),
        "latest_us": at_us,
        "is_complete": is_known,
    }
    # The time of a log end that is unknown does not count.
    known_at_us = pc.if_else(is_known, at_us, None)
    partitions = {
        "cluster_id": rows["cluster_id"],
        "topic": rows["topic"],
        "partition": rows["partition"],
        "earliest_us": known_at_us,
        "latest_us": known_at_us,
        "least_end": log_end,
        "highest_end": log_end,
    }
    return [_make_part(PARTITION_OFFSETS, day, samples), _make_part(PARTITION_OFFSETS, day, partitions)]


def _summarise_nothing(_rows: Any, _day: int) -> list[Any]:
    """Return no parts: states are not facts."""
    return []


def _make_part(table: Table, day: int, columns: dict[str, Any]) -> Any:
    return make_batch(FactSummaries, {**columns, "table": table.name, "day": day}, fill_null=True)


def _times_within(times: Any, day: int) -> Any:
    """Return timestamps in µs since 1970, and midnight for those that are null or not on the day of their file.

    Such a time is impossible, and does not show until when the cluster was read.
    """
    at_us = _to_microseconds(times)
    midnight_us = day * DAY_US
    is_within = pc.and_(pc.greater_equal(at_us, midnight_us), pc.less(at_us, midnight_us + DAY_US))
    return pc.if_else(pa.array(to_flags(is_within)), at_us, midnight_us)


def _to_microseconds(times: Any) -> Any:
    return times.cast(pa.timestamp("us", "UTC")).view(pa.int64())


def _number_ids(ids: Any) -> Any:
    """Return a column of strings as positive numbers that stand for them in every file and on every day."""
    encoded = ids.dictionary_encode()
    numbers = []
    for text in encoded.dictionary.to_pylist():
        digest = hashlib.blake2b(text.encode(), digest_size=_ID_BYTES).digest()
        numbers.append(int.from_bytes(digest) >> 1)
    return pa.array(numbers, pa.int64()).take(encoded.indices)


def _repeat_day(day: int, rows: Any) -> Any:
    return pa.repeat(pa.scalar(day, pa.int32()), len(rows))


def _add_columns(rows: Any, columns: dict[str, Any]) -> Any:
    """Return a record batch with the columns of rows and some others."""
    named = {name: rows[name] for name in rows.schema.names} | columns
    return pa.RecordBatch.from_arrays(list(named.values()), list(named))


_EVENT_NAMES: Final = (
    "cluster_id",
    "group",
    "origin",
    "source_partition",
    "source_offset",
    "type",
    "event_type",
    "epoch",
    "previous_epoch",
    "member_id",
    "member_state",
    "topics",
    "members",
    "group_type",
    "state",
    "record_time",
    "state_time",
    "details",
)
_OBSERVATION_NAMES: Final = (
    *PARTITION_KEY,
    "origin",
    "topic_id",
    "observed_at",
    "log_start_offset",
    "log_end_offset",
    "last_stable_offset",
    "point_offset",
    "point_time",
)
_COMMIT_NAMES: Final = (
    *PARTITION_KEY,
    "group",
    "origin",
    "source_offset",
    "commit_time",
    "tombstone",
    "committed_offset",
)
_READERS: Final = {
    OFFSET_COMMITS: _TableReader(_COMMIT_NAMES, _convert_commits, pack_commits, _summarise_commits),
    PARTITION_OFFSETS: _TableReader(
        _OBSERVATION_NAMES, _convert_observations, pack_observations, _summarise_observations
    ),
    GROUP_EVENTS: _TableReader(_EVENT_NAMES, _convert_events, pack_events, _summarise_events),
    PARTITION_STATE: _TableReader(
        (*PARTITION_KEY, "group", "state"), _convert_partition_states, _pack_partition_states, _summarise_nothing
    ),
    GROUP_STATE: _TableReader(
        ("cluster_id", "group", "state"), _convert_group_states, _pack_group_states, _summarise_nothing
    ),
}
