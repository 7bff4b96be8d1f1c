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
from kafka_groups.pipeline.transform.facts import FactFile, Readers, Rows, micros_within, read_facts
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
_LAST: Final = ((OFFSET_COMMITS.name, "topic"), (GROUP_EVENTS.name, "topic"), (PARTITION_OFFSETS.name, "sample"))


@dataclass(frozen=True, slots=True)
class Summary(Context):
    """And numbers of quiet partitions by (cluster, topic, day), last times by (table, origin, cluster, day)."""

    quiet: Mapping[tuple[str, str, int], int]
    last_us: Mapping[tuple[str, str, str, int], int]


def summarise(engine: Engine, files: Sequence[FactFile]) -> Summary:
    """Return the summary of files of facts: tasks read them, and add up what is in them."""
    parts = _add_up(engine.collect(files, read_parts, PART))
    is_partition = pc.is_valid(parts["partition"])
    return _summary_of(parts.filter(pc.invert(is_partition)).to_pylist(), _count_quiet(parts.filter(is_partition)))


def read_parts(pieces: Iterator[Any]) -> Iterator[Any]:
    """Yield rows of PART from record batches of FILE_SCHEMA, added up over all files."""
    parts = [PART.empty_table()]
    for part in read_facts(pieces, PART, _READERS):
        parts.append(_add_up(pa.Table.from_batches([part])))
        if sum(map(len, parts)) > _MOST_ROWS:
            parts = [_add_up(pa.concat_tables(parts))]
    yield from _add_up(pa.concat_tables(parts)).to_batches()


def _add_up(parts: Any) -> Any:
    return parts.group_by([*_KEYS]).aggregate([*_SUMS]).rename_columns(PART.names)


def _every_part(rows: Any, file: FactFile) -> dict[str, Any]:
    at = micros_within(rows[TIMES[TABLES[file.table]]], file.day)
    same = {"table": file.table, "cluster_id": rows["cluster_id"], "origin": rows["origin"]}
    return same | {"least_at": at, "most_at": at}


def _group_parts(rows: Any, file: FactFile) -> Rows:
    yield _every_part(rows, file) | {"name": pc.if_else(pc.equal(rows["origin"], "topic"), None, rows["group"])}


def _log_end_parts(rows: Any, file: FactFile) -> Rows:
    same, end = _every_part(rows, file), rows["log_end_offset"]
    is_known, at = pc.is_valid(end), same["most_at"]
    yield same | {
        "name": pc.if_else(pc.equal(rows["topic"], OFFSETS_TOPIC), rows["topic"], None),
        "run_us": pc.if_else(pc.equal(rows["origin"], "sample"), at, None),
        "is_complete": is_known,
    }
    # The time of a log end that is not known does not count.
    known = dict.fromkeys(("least_end", "most_end"), end)
    known |= dict.fromkeys(("least_at", "most_at"), pc.if_else(is_known, at, None))
    yield same | known | {"origin": None, "name": rows["topic"], "partition": rows["partition"]}


_COLUMNS: Final = ("cluster_id", "origin")
_READERS: Final[Readers] = {
    OFFSET_COMMITS.name: ((*_COLUMNS, "group", "commit_time"), _group_parts),
    GROUP_EVENTS.name: ((*_COLUMNS, "group", "record_time"), _group_parts),
    PARTITION_OFFSETS.name: ((*_COLUMNS, "topic", "partition", "log_end_offset", "observed_at"), _log_end_parts),
}


def _count_quiet(parts: Any) -> dict[tuple[str, str, int], int]:
    """Return how many partitions of each topic were observed more than once on the day, and did not grow."""
    is_quiet = pc.and_(pc.equal(parts["least_end"], parts["most_end"]), pc.less(parts["least_at"], parts["most_at"]))
    keys = ("cluster_id", "name", "day")
    found = parts.filter(is_quiet).group_by([*keys]).aggregate([([], "count_all")]).to_pylist()
    return {tuple(row[key] for key in keys): row["count_all"] for row in found}


def _summary_of(rows: Sequence[Mapping[str, Any]], quiet: Mapping[tuple[str, str, int], int]) -> Summary:
    last: dict[tuple[str, str, str, int], int] = {}
    groups: dict[tuple[str, str, int], dict[str, int]] = defaultdict(dict)
    runs: dict[tuple[str, int], dict[int, dict[bool, bool]]] = defaultdict(lambda: defaultdict(dict))
    for row in rows:
        table, origin, cluster, name, _, day, run_us = (row[key] for key in _KEYS)
        key = table, origin, cluster, day
        last[key] = max(row["most_at"], last.get(key, NULL))
        if run_us is not None:
            runs[cluster, day][run_us][name is not None] = row["is_complete"]
        elif name is not None and table != PARTITION_OFFSETS.name:
            groups[cluster, name, day][table] = row["most_at"]
    clusters = {}
    for cluster, day in {(cluster, day) for _, _, cluster, day in last}:
        # A sample is complete if all coordinators responded, or, where they were not sampled, all leaders.
        complete = [at for at, outcomes in runs[cluster, day].items() if outcomes.get(True, outcomes.get(False))]
        commit_us, event_us, sample_us = (last.get((*of, cluster, day), NULL) for of in _LAST)
        runs_us = np.array(sorted(complete), np.int64)
        clusters[cluster, day] = ClusterDay(commit_us, max(commit_us, event_us), sample_us, runs_us)
    seen = {
        key: (times.get(GROUP_EVENTS.name, NULL), times.get(OFFSET_COMMITS.name, NULL)) for key, times in groups.items()
    }
    return Summary(clusters, seen, quiet, last)
