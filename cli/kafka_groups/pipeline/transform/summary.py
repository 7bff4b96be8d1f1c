"""What has to be known of whole clusters, groups and topics before partitions are looked at one by one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka_groups.pipeline.coverage import TIMES
from kafka_groups.pipeline.schemas import GROUP_EVENTS, OFFSET_COMMITS, OFFSETS_TOPIC, PARTITION_OFFSETS, TABLES, Table
from kafka_groups.pipeline.transform.columns import to_batch
from kafka_groups.pipeline.transform.facts import FactFile, from_batches, micros_within, read_columns
from kafka_groups.pipeline.transform.kernels.segments import NULL
from kafka_groups.pipeline.transform.partition_day import ClusterDay
from kafka_groups.pipeline.transform.partition_stage import Context

if TYPE_CHECKING:
    from kafka_groups.pipeline.transform.engine import Engine

_KEYS: Final = ("table", "origin", "cluster_id", "name", "partition", "day", "run_us")
_SUMS: Final = (
    *(("least_at", "min"), ("most_at", "max"), ("least_end", "min"), ("most_end", "max")),
    ("is_complete", "min"),
)
# What tasks return. The name is that of a topic if there is a partition. Else it is that of a group that a sample saw
# (with the time of its state or commit), or of the topic of offsets in a sampling run, whose time is `run_us`.
PART: Final = pa.schema(
    [
        *((name, pa.string()) for name in _KEYS[:4]),
        *(("partition", pa.int32()), ("day", pa.int32())),
        *((name, pa.int64()) for name in ("run_us", "least_at", "most_at", "least_end", "most_end")),
        ("is_complete", pa.bool_()),
    ]
)
_MOST_ROWS: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class ReadDay:
    """What was read of a cluster on a day: its last record of any kind, and its last sample; NULL if there was none."""

    record_us: int
    sample_us: int


@dataclass(frozen=True, slots=True)
class Summary:
    """`context` is for the stage of partitions; days by (cluster, day); quiet partitions by (cluster, topic, day).

    `last_us` is by (table, origin), then by (cluster, day).
    """

    context: Context
    days: Mapping[tuple[str, int], ReadDay]
    quiet: Mapping[tuple[str, str, int], int]
    last_us: Mapping[tuple[str, str], Mapping[tuple[str, int], int]]


def summarise(engine: Engine, files: Sequence[FactFile]) -> Summary:
    """Return the summary of files of facts: tasks read them, and add up what is in them."""
    parts = _add_up(engine.collect(files, read_parts, PART))
    is_partition = pc.is_valid(parts["partition"])
    return _summary_of(parts.filter(pc.invert(is_partition)).to_pylist(), _count_quiet(parts.filter(is_partition)))


def read_parts(pieces: Iterator[Any]) -> Iterator[Any]:
    """Yield rows of PART from (table, day, path) of files, added up over all files."""
    parts: list[Any] = []
    for file in from_batches(pieces):
        table = TABLES[file.table]
        read = _read_observations if table == PARTITION_OFFSETS else _read_origins
        names = _OBSERVED if table == PARTITION_OFFSETS else ("cluster_id", "origin", "group")
        for rows in read_columns(file.path, (*names, TIMES[table])):
            at = micros_within(rows[TIMES[table]], file.day)
            for part in read(rows, at):
                columns = {"table": file.table, "day": file.day, "cluster_id": rows["cluster_id"], **part}
                found = to_batch(PART, rows.num_rows, {"least_at": at, "most_at": at, **columns})
                parts.append(_add_up(pa.Table.from_batches([found])))
        if sum(map(len, parts)) > _MOST_ROWS:
            parts = [_add_up(pa.concat_tables(parts))]
    if parts:
        yield from _add_up(pa.concat_tables(parts)).to_batches()


def _add_up(parts: Any) -> Any:
    return parts.group_by([*_KEYS]).aggregate([*_SUMS]).rename_columns(PART.names)


def _read_origins(rows: Any, _at: Any) -> Iterator[dict[str, Any]]:
    is_record = pc.equal(rows["origin"], "topic")
    yield {"origin": rows["origin"], "name": pc.if_else(is_record, pa.scalar(None, pa.string()), rows["group"])}


_OBSERVED: Final = ("cluster_id", "origin", "topic", "partition", "log_end_offset")


def _read_observations(rows: Any, at: Any) -> Iterator[dict[str, Any]]:
    is_sample, is_coordinator = pc.equal(rows["origin"], "sample"), pc.equal(rows["topic"], OFFSETS_TOPIC)
    end = rows["log_end_offset"]
    yield {
        "origin": rows["origin"],
        "name": pc.if_else(is_coordinator, OFFSETS_TOPIC, pa.scalar(None, pa.string())),
        "run_us": pc.if_else(is_sample, at, pa.scalar(None, pa.int64())),
        "is_complete": pc.is_valid(end),
    }
    # Of a log end that is not known, the times do not count.
    known = pc.if_else(pc.is_valid(end), at, pa.scalar(None, pa.int64()))
    yield {
        "name": rows["topic"],
        "partition": rows["partition"],
        **dict.fromkeys(("least_end", "most_end"), end),
        **dict.fromkeys(("least_at", "most_at"), known),
    }


def _count_quiet(parts: Any) -> dict[tuple[str, str, int], int]:
    """Return how many partitions of each topic were observed more than once on the day, and did not grow."""
    is_quiet = pc.and_(pc.equal(parts["least_end"], parts["most_end"]), pc.less(parts["least_at"], parts["most_at"]))
    keys = ("cluster_id", "name", "day")
    found = parts.filter(is_quiet).group_by([*keys]).aggregate([([], "count_all")]).to_pylist()
    return {tuple(row[key] for key in keys): row["count_all"] for row in found}


def _summary_of(rows: Sequence[Mapping[str, Any]], quiet: Mapping[tuple[str, str, int], int]) -> Summary:
    last: dict[tuple[str, str], dict[tuple[str, int], int]] = defaultdict(dict)
    groups: dict[Table, dict[tuple[str, str, int], int]] = {GROUP_EVENTS: {}, OFFSET_COMMITS: {}}
    runs: dict[tuple[str, int], dict[int, dict[bool, bool]]] = defaultdict(lambda: defaultdict(dict))
    for row in rows:
        table, cluster, name, day, run_us = (row[key] for key in ("table", "cluster_id", "name", "day", "run_us"))
        times = last[table, row["origin"]]
        times[cluster, day] = max(row["most_at"], times.get((cluster, day), NULL))
        if run_us is not None:
            runs[cluster, day][run_us][name is not None] = row["is_complete"]
        elif name is not None and TABLES[table] in groups:
            groups[TABLES[table]][cluster, name, day] = row["most_at"]

    def last_of(table: Table, origin: str, key: tuple[str, int]) -> int:
        return last.get((table.name, origin), {}).get(key, NULL)

    clusters, days = {}, {}
    for key in {key for times in last.values() for key in times}:
        # A sample is complete if all coordinators responded, or, where they were not sampled, all leaders.
        complete = [at for at, outcomes in runs.get(key, {}).items() if outcomes.get(True, outcomes.get(False))]
        commit_us, sample_us = last_of(OFFSET_COMMITS, "topic", key), last_of(PARTITION_OFFSETS, "sample", key)
        clusters[key] = ClusterDay(commit_us, sample_us, np.array(sorted(complete), np.int64))
        days[key] = ReadDay(max(commit_us, last_of(GROUP_EVENTS, "topic", key)), sample_us)
    seen = {
        key: (groups[GROUP_EVENTS].get(key, NULL), groups[OFFSET_COMMITS].get(key, NULL))
        for key in {*groups[GROUP_EVENTS], *groups[OFFSET_COMMITS]}
    }
    return Summary(Context(clusters, seen), days, quiet, last)
