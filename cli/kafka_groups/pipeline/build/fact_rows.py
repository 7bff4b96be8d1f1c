"""Files of facts and states as rows of the stages, and what has to be known of whole clusters before them."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kafka_groups.pipeline import tables as schemas
from kafka_groups.pipeline.build import partition_batch as partitions
from kafka_groups.pipeline.build.arrays import to_batch, to_flags
from kafka_groups.pipeline.build.group_rows import EVENT, EVENT_COLUMNS, STATE
from kafka_groups.pipeline.build.kernels.segments import DAY_US, NULL
from kafka_groups.pipeline.build.partition_stage import ClusterDay, Context
from kafka_groups.pipeline.store import DataFile
from kafka_groups.pipeline.store.root_directory import as_storage_error, open_file

_BATCH_ROWS: Final = 65_536
Rows = Iterator[dict[str, Any]]
# By table: the columns that are read, and what makes other columns of rows of them and of the file's day.
Readers = Mapping[schemas.Table, tuple[Sequence[str], Callable[[Any, int], Rows]]]


def read_columns(path: str, columns: Sequence[str]) -> Iterator[Any]:
    """Yield record batches of some columns of a Parquet file, by its path or URI. Raises StorageError."""
    with as_storage_error("read the tables", path), open_file(path) as file:
        for rows in pq.ParquetFile(file).iter_batches(_BATCH_ROWS, columns=list(columns)):
            yield rows.select(columns)


def micros_within(times: Any, day: int) -> Any:
    """Return times in microseconds, and midnight for those that are null or not on the day of their file.

    Such a time cannot be, and does not show until when the cluster was read.
    """
    micros, first = _micros(times), day * DAY_US
    is_within = pc.and_(pc.greater_equal(micros, first), pc.less(micros, first + DAY_US))
    return pc.if_else(pa.array(to_flags(is_within)), micros, first)


def _micros(times: Any) -> Any:
    return times.cast(pa.timestamp("us", "UTC")).view(pa.int64())


def _commits(rows: Any, day: int) -> Rows:
    offset = rows["committed_offset"]
    # Brokers take -1 for an offset, and report none.
    is_removal = pa.array(to_flags(rows["tombstone"]) | ~to_flags(pc.greater_equal(offset, 0)))
    yield {
        "kind": partitions.COMMIT,
        "at_us": micros_within(rows["commit_time"], day),
        "is_record": pc.equal(rows["origin"], "topic"),
        "is_removal": is_removal,
        "committed_offset": pc.if_else(is_removal, None, offset),
    }


def _observations(rows: Any, _day: int) -> Rows:
    yield {
        "kind": partitions.OBSERVATION,
        "at_us": _micros(rows["observed_at"]),
        "is_record": pc.equal(rows["origin"], "sample"),
        "point_ms": pc.divide(_micros(rows["point_time"]), 1_000),
    }


def _partition_states(rows: Any, _day: int) -> Rows:
    yield {"kind": pc.if_else(pc.is_null(rows["group"]), partitions.LOG_STATE, partitions.KEY_STATE), "at_us": 0}


def _events(rows: Any, day: int) -> Rows:
    has_expression = pc.starts_with(rows["event_type"], "regex")
    details = pc.if_else(has_expression, rows["details"], None).to_pylist()
    expressions = [None if text is None else json.loads(text).get("regular_expression") for text in details]
    yield {
        "name": rows["group"],
        "kind": EVENT,
        "at_us": micros_within(rows["record_time"], day),
        "state_us": _micros(rows["state_time"]),
        "expression": pa.array(expressions, pa.string()),
    }


def _group_states(rows: Any, _day: int) -> Rows:
    yield {"name": rows["group"], "kind": STATE, "payload": rows["state"], "state": None}


_COMMIT: Final = ("group", "origin", "source_offset", "commit_time", "tombstone", "committed_offset")
_OBSERVATION: Final = ("topic_id", "origin", "observed_at", "point_time")
_EVENT: Final = ("cluster_id", "group", "record_time", "state_time", "members", "details")
_READERS: Final[Readers] = {
    schemas.OFFSET_COMMITS: ((*partitions.PARTITION, *_COMMIT), _commits),
    schemas.PARTITION_OFFSETS: ((*partitions.PARTITION, *partitions.OFFSETS, *_OBSERVATION), _observations),
    schemas.PARTITION_STATE: ((*partitions.PARTITION, "group", "state"), _partition_states),
    schemas.GROUP_EVENTS: ((*EVENT_COLUMNS, *_EVENT), _events),
    schemas.GROUP_STATE: (("cluster_id", "group", "state"), _group_states),
}


def read_facts(files: Iterable[DataFile], schema: Any, readers: Readers = _READERS) -> Iterator[Any]:
    """Yield record batches of the schema: columns that readers make, or that are read and have a name of the schema.

    The paths of the files are those of `RootDirectory.address`.
    """
    for file in files:
        (names, convert), day = readers[schemas.STORED_TABLES[file.table]], day_number(date.fromisoformat(file.date))
        for rows in read_columns(file.path, names):
            same = {"table": file.table, "day": day, **dict(zip(names, rows.columns, strict=True))}
            for columns in convert(rows, day):
                yield to_batch(schema, same | columns)


def day_number(day: date) -> int:
    """Return the days since 1970."""
    return (day - date(1970, 1, 1)).days


# The name is that of a topic if there is a partition, else of a group that a sample saw (with the time of its state or
# commit), or of the topic of offsets in a sampling run, whose time is `run_us`.
PART: Final = pa.schema(
    [
        *((name, pa.string()) for name in ("table", "origin", "cluster_id", "name")),
        *(("partition", pa.int32()), ("day", pa.int32())),
        *((name, pa.int64()) for name in ("run_us", "least_at", "most_at", "least_end", "most_end")),
        ("is_complete", pa.bool_()),
    ]
)
_PART_KEYS: Final = PART.names[:7]
_SUMS: Final = [(name, "max" if name.startswith("most") else "min") for name in PART.names[7:]]
_MOST_ROWS: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Summary(Context):
    """And numbers of quiet partitions by (cluster, topic, day), last times by (table, origin, cluster, day)."""

    quiet: Mapping[tuple[str, str, int], int]
    last_us: Mapping[tuple[str, str, str, int], int]


def read_parts(files: Iterable[DataFile]) -> Iterator[Any]:
    """Yield rows of PART, added up over all files."""
    parts = [PART.empty_table()]
    for part in read_facts(files, PART, _PART_READERS):
        parts.append(_add_up(pa.Table.from_batches([part])))
        if sum(map(len, parts)) > _MOST_ROWS:
            parts = [_add_up(pa.concat_tables(parts))]
    yield from _add_up(pa.concat_tables(parts)).to_batches()


def _add_up(parts: Any) -> Any:
    return parts.group_by(_PART_KEYS).aggregate(_SUMS).rename_columns(PART.names)


def _group_parts(rows: Any, day: int) -> Rows:
    name = pc.if_else(pc.equal(rows["origin"], "topic"), None, rows["group"])
    yield {"name": name, "most_at": micros_within(rows.columns[-1], day)}


def _log_end_parts(rows: Any, day: int) -> Rows:
    at, end = micros_within(rows.columns[-1], day), rows["log_end_offset"]
    is_known = pc.is_valid(end)
    name = pc.if_else(pc.equal(rows["topic"], schemas.OFFSETS_TOPIC), rows["topic"], None)
    run_us = pc.if_else(pc.equal(rows["origin"], "sample"), at, None)
    yield {"name": name, "partition": None, "run_us": run_us, "most_at": at, "is_complete": is_known}
    # The time of a log end that is not known does not count.
    at = pc.if_else(is_known, at, None)
    yield {"origin": None, "name": rows["topic"], "least_end": end, "most_end": end, "least_at": at, "most_at": at}


_PART_READERS: Final[Readers] = {
    schemas.OFFSET_COMMITS: (("cluster_id", "origin", "group", "commit_time"), _group_parts),
    schemas.GROUP_EVENTS: (("cluster_id", "origin", "group", "record_time"), _group_parts),
    schemas.PARTITION_OFFSETS: ((*partitions.PARTITION, "origin", "log_end_offset", "observed_at"), _log_end_parts),
}


def summarise(parts: Any) -> Summary:
    """Return the summary of a table of PART."""
    whole = _add_up(parts)
    is_partition = pc.is_valid(whole["partition"])
    of_partitions = whole.filter(is_partition)
    # These partitions were observed more than once on the day, and did not grow.
    is_constant = pc.equal(of_partitions["least_end"], of_partitions["most_end"])
    is_quiet = pc.and_(is_constant, pc.less(of_partitions["least_at"], of_partitions["most_at"]))
    of_topics = of_partitions.filter(is_quiet).group_by(["cluster_id", "name", "day"]).aggregate([([], "count_all")])
    quiet = {(row["cluster_id"], row["name"], row["day"]): row["count_all"] for row in of_topics.to_pylist()}
    last: dict[tuple[str, str, str, int], int] = {}
    groups: dict[tuple[str, str, int], dict[str, int]] = defaultdict(dict)
    runs: dict[tuple[str, int], dict[int, dict[bool, bool]]] = defaultdict(lambda: defaultdict(dict))
    for row in whole.filter(pc.invert(is_partition)).to_pylist():
        table, origin, cluster, name, _, day, run_us = (row[key] for key in _PART_KEYS)
        of = table, origin, cluster, day
        last[of] = max(row["most_at"], last.get(of, NULL))
        if run_us is not None:
            runs[cluster, day][run_us][name is not None] = row["is_complete"]
        elif name is not None and table != schemas.PARTITION_OFFSETS.name:
            groups[cluster, name, day][table] = row["most_at"]
    clusters = {}
    for key in {each[2:] for each in last}:
        # A sample is complete if all coordinators responded, or, where they were not sampled, all leaders.
        complete = [at for at, outcomes in runs[key].items() if outcomes.get(True, outcomes.get(False))]
        commit_us = last.get((schemas.OFFSET_COMMITS.name, "topic", *key), NULL)
        event_us = last.get((schemas.GROUP_EVENTS.name, "topic", *key), NULL)
        sample_us = last.get((schemas.PARTITION_OFFSETS.name, "sample", *key), NULL)
        clusters[key] = ClusterDay(commit_us, max(commit_us, event_us), sample_us, np.array(sorted(complete), np.int64))
    tables = schemas.GROUP_EVENTS.name, schemas.OFFSET_COMMITS.name
    seen = {key: (times.get(tables[0], NULL), times.get(tables[1], NULL)) for key, times in groups.items()}
    return Summary(clusters, seen, quiet, last)
