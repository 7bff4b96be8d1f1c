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
from kafka_groups.pipeline.schemas import GROUP_EVENTS, OFFSET_COMMITS, OFFSETS_TOPIC, PARTITION_OFFSETS, TABLES
from kafka_groups.pipeline.transform.columns import to_batch
from kafka_groups.pipeline.transform.facts import FactFile, from_batches, micros_within, read_columns
from kafka_groups.pipeline.transform.kernels.segments import NULL
from kafka_groups.pipeline.transform.partition_stage import ClusterDay, Context

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
class Summary(Context):
    """And numbers of quiet partitions by (cluster, topic, day); last times by (table, origin), then (cluster, day)."""

    quiet: Mapping[tuple[str, str, int], int]
    last_us: Mapping[tuple[str, str], Mapping[tuple[str, int], int]]


def summarise(engine: Engine, files: Sequence[FactFile]) -> Summary:
    """Return the summary of files of facts: tasks read them, and add up what is in them."""
    parts = _add_up(engine.collect(files, read_parts, PART))
    is_partition = pc.is_valid(parts["partition"])
    return _summary_of(parts.filter(pc.invert(is_partition)).to_pylist(), _count_quiet(parts.filter(is_partition)))


def read_parts(pieces: Iterator[Any]) -> Iterator[Any]:
    """Yield rows of PART from (table, day, path) of files, added up over all files."""
    parts = [PART.empty_table()]
    for file in from_batches(pieces):
        time = TIMES[TABLES[file.table]]
        names, read = _READERS[file.table]
        for rows in read_columns(file.path, ("cluster_id", "origin", *names, time)):
            at = micros_within(rows[time], file.day)
            same = {"table": file.table, "day": file.day, "cluster_id": rows["cluster_id"], "origin": rows["origin"]}
            for part in read(rows, at):
                found = to_batch(PART, same | {"least_at": at, "most_at": at} | part)
                parts.append(_add_up(pa.Table.from_batches([found])))
        if sum(map(len, parts)) > _MOST_ROWS:
            parts = [_add_up(pa.concat_tables(parts))]
    yield from _add_up(pa.concat_tables(parts)).to_batches()


def _add_up(parts: Any) -> Any:
    return parts.group_by([*_KEYS]).aggregate([*_SUMS]).rename_columns(PART.names)


def _read_groups(rows: Any, _at: Any) -> Iterator[dict[str, Any]]:
    yield {"name": pc.if_else(pc.equal(rows["origin"], "topic"), pa.scalar(None, pa.string()), rows["group"])}


def _read_log_ends(rows: Any, at: Any) -> Iterator[dict[str, Any]]:
    is_sample, is_coordinator = pc.equal(rows["origin"], "sample"), pc.equal(rows["topic"], OFFSETS_TOPIC)
    end, nothing = rows["log_end_offset"], pa.scalar(None, pa.int64())
    yield {
        "name": pc.if_else(is_coordinator, OFFSETS_TOPIC, pa.scalar(None, pa.string())),
        "run_us": pc.if_else(is_sample, at, nothing),
        "is_complete": pc.is_valid(end),
    }
    # Of a log end that is not known, the time does not count.
    ends, times = ("least_end", "most_end"), ("least_at", "most_at")
    known = dict.fromkeys(ends, end) | dict.fromkeys(times, pc.if_else(pc.is_valid(end), at, nothing))
    yield {"origin": None, "name": rows["topic"], "partition": rows["partition"], **known}


_READERS: Final = {
    OFFSET_COMMITS.name: (("group",), _read_groups),
    GROUP_EVENTS.name: (("group",), _read_groups),
    PARTITION_OFFSETS.name: (("topic", "partition", "log_end_offset"), _read_log_ends),
}


def _count_quiet(parts: Any) -> dict[tuple[str, str, int], int]:
    """Return how many partitions of each topic were observed more than once on the day, and did not grow."""
    is_quiet = pc.and_(pc.equal(parts["least_end"], parts["most_end"]), pc.less(parts["least_at"], parts["most_at"]))
    keys = ("cluster_id", "name", "day")
    found = parts.filter(is_quiet).group_by([*keys]).aggregate([([], "count_all")]).to_pylist()
    return {tuple(row[key] for key in keys): row["count_all"] for row in found}


def _summary_of(rows: Sequence[Mapping[str, Any]], quiet: Mapping[tuple[str, str, int], int]) -> Summary:
    last: dict[tuple[str, str], dict[tuple[str, int], int]] = defaultdict(dict)
    groups: dict[tuple[str, str, int], dict[str, int]] = defaultdict(dict)
    runs: dict[tuple[str, int], dict[int, dict[bool, bool]]] = defaultdict(lambda: defaultdict(dict))
    for row in rows:
        table, cluster, name, day, run_us = (row[key] for key in ("table", "cluster_id", "name", "day", "run_us"))
        times = last[table, row["origin"]]
        times[cluster, day] = max(row["most_at"], times.get((cluster, day), NULL))
        if run_us is not None:
            runs[cluster, day][run_us][name is not None] = row["is_complete"]
        elif name is not None and table != PARTITION_OFFSETS.name:
            groups[cluster, name, day][table] = row["most_at"]
    commits, events = (last[table.name, "topic"] for table in (OFFSET_COMMITS, GROUP_EVENTS))
    samples = last[PARTITION_OFFSETS.name, "sample"]
    clusters = {}
    for key in {key for times in last.values() for key in times}:
        # A sample is complete if all coordinators responded, or, where they were not sampled, all leaders.
        complete = [at for at, outcomes in runs[key].items() if outcomes.get(True, outcomes.get(False))]
        commit_us, sample_us = commits.get(key, NULL), samples.get(key, NULL)
        record_us, runs_us = max(commit_us, events.get(key, NULL)), np.array(sorted(complete), np.int64)
        clusters[key] = ClusterDay(commit_us, record_us, sample_us, runs_us)
    seen = {
        key: (times.get(GROUP_EVENTS.name, NULL), times.get(OFFSET_COMMITS.name, NULL)) for key, times in groups.items()
    }
    return Summary(clusters, seen, quiet, last)
