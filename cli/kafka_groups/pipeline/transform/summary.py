"""What has to be known of whole clusters, groups and topics before partitions are looked at one by one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka_groups.pipeline.schemas import GROUP_EVENTS, OFFSET_COMMITS, OFFSETS_TOPIC, PARTITION_OFFSETS
from kafka_groups.pipeline.transform.columns import to_ints
from kafka_groups.pipeline.transform.facts import FactFile, from_batches, micros_within, read_columns
from kafka_groups.pipeline.transform.kernels.segments import NULL
from kafka_groups.pipeline.transform.partition_stage import ClusterDay, Context

if TYPE_CHECKING:
    from kafka_groups.pipeline.transform.engine import Engine

# What tasks return: `at` is the last time of the rows that are added up, or the time of a sampling run.
PART: Final = pa.schema(
    [
        ("what", pa.string()),
        ("cluster_id", pa.string()),
        ("name", pa.string()),
        ("partition", pa.int32()),
        ("day", pa.int32()),
        ("at", pa.int64()),
        ("is_complete", pa.bool_()),
        ("is_coordinator", pa.bool_()),
        ("least_end", pa.int64()),
        ("most_end", pa.int64()),
        ("least_at", pa.int64()),
        ("most_at", pa.int64()),
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
    """`context` is for the stage of partitions; days by (cluster, day); quiet partitions by (cluster, topic, day)."""

    context: Context
    days: Mapping[tuple[str, int], ReadDay]
    quiet: Mapping[tuple[str, str, int], int]


def summarise(engine: Engine, files: Sequence[FactFile]) -> Summary:
    """Return the summary of files of facts: tasks read them, and add up what is in them."""
    parts = engine.collect(files, read_parts, PART)
    quiet = _add_up(parts.filter(pc.equal(parts["what"], "partition")))
    return _summary_of(parts.filter(pc.not_equal(parts["what"], "partition")), _count_quiet(quiet))


def read_parts(pieces: Iterator[Any]) -> Iterator[Any]:
    """Yield rows of PART from (table, day, path) of files; those of partitions are added up over all files."""
    partitions: list[Any] = []
    rows = 0
    for file in from_batches(pieces):
        for what, part in _READERS[file.table](file.path, file.day):
            made = pa.Table.from_arrays([_column(part, field, what, file.day) for field in PART], schema=PART)
            if what == "partition":
                partitions.append(made)
                rows += made.num_rows
            else:
                yield from made.to_batches()
        if rows > _MOST_ROWS:
            partitions = [_add_up(pa.concat_tables(partitions))]
            rows = partitions[0].num_rows
    if partitions:
        yield from _add_up(pa.concat_tables(partitions)).to_batches()


def _column(part: Mapping[str, Any], field: Any, what: str, day: int) -> Any:
    size = len(part["cluster_id"])
    if field.name in part:
        return part[field.name].cast(field.type)
    constant = {"what": what, "day": day}.get(field.name)
    return pa.repeat(pa.scalar(constant, field.type), size)


def _read(path: str, columns: Sequence[str]) -> Any:
    return pa.Table.from_batches(read_columns(path, columns))


def _last(rows: Any, keys: Sequence[str], time: str, day: int) -> dict[str, Any]:
    named = {name: rows[name] for name in keys}
    micros = micros_within(rows[time].combine_chunks(), day)
    found = pa.table(named | {"at": micros}).group_by(list(keys)).aggregate([("at", "max")])
    return {"cluster_id": found["cluster_id"], "at": found["at_max"].combine_chunks()} | (
        {"name": found["group"]} if "group" in keys else {}
    )


def _read_commits(path: str, day: int) -> Iterator[tuple[str, dict[str, Any]]]:
    rows = _read(path, ("cluster_id", "origin", "group", "commit_time"))
    is_record = pc.equal(rows["origin"], "topic")
    yield "commit", _last(rows.filter(is_record), ("cluster_id",), "commit_time", day)
    yield "answered", _last(rows.filter(pc.invert(is_record)), ("cluster_id", "group"), "commit_time", day)


def _read_events(path: str, day: int) -> Iterator[tuple[str, dict[str, Any]]]:
    rows = _read(path, ("cluster_id", "origin", "group", "event_type", "record_time"))
    is_record = pc.equal(rows["origin"], "topic")
    is_seen = pc.and_(pc.invert(is_record), pc.equal(rows["event_type"], "state_seen"))
    yield "event", _last(rows.filter(is_record), ("cluster_id",), "record_time", day)
    yield "listed", _last(rows.filter(is_seen), ("cluster_id", "group"), "record_time", day)


def _read_observations(path: str, _day: int) -> Iterator[tuple[str, dict[str, Any]]]:
    rows = _read(path, ("cluster_id", "origin", "topic", "partition", "observed_at", "log_end_offset"))
    at = rows["observed_at"].combine_chunks().cast(pa.timestamp("us", "UTC")).view(pa.int64())
    known = pc.is_valid(rows["log_end_offset"])
    table = pa.table(
        {
            "cluster_id": rows["cluster_id"],
            "name": rows["topic"],
            "partition": rows["partition"],
            "is_sample": pc.equal(rows["origin"], "sample"),
            "is_coordinator": pc.equal(rows["topic"], OFFSETS_TOPIC),
            "at": at,
            "is_complete": known,
            "end": rows["log_end_offset"],
        }
    )
    keys = ["cluster_id", "is_sample", "is_coordinator", "at"]
    runs = table.group_by(keys).aggregate([("is_complete", "min")]).rename_columns([*keys, "is_complete"])
    for what, chosen in (("run", runs["is_sample"]), ("backfill", pc.invert(runs["is_sample"]))):
        mine = runs.filter(chosen)
        yield what, {name: mine[name] for name in ("cluster_id", "at", "is_complete", "is_coordinator")}
    ended = table.filter(known)
    both = {f"{edge}_{name}": ended[name] for edge in ("least", "most") for name in ("end", "at")}
    yield "partition", {name: ended[name] for name in ("cluster_id", "name", "partition", "at")} | both


def _add_up(rows: Any) -> Any:
    """Return rows of partitions, one for each partition and day: its least and its largest log end, and their times."""
    keys = ["what", "cluster_id", "name", "partition", "day"]
    edges = [("least_end", "min"), ("most_end", "max"), ("least_at", "min"), ("most_at", "max")]
    found = rows.group_by(keys).aggregate(edges).rename_columns([*keys, *(name for name, _ in edges)])
    columns = [
        found[field.name] if field.name in found.column_names else pa.nulls(len(found), field.type) for field in PART
    ]
    return pa.Table.from_arrays(columns, schema=PART)


def _count_quiet(rows: Any) -> dict[tuple[str, str, int], int]:
    """Return how many partitions of each topic were observed more than once on the day, and did not grow."""
    is_quiet = pc.and_(pc.equal(rows["least_end"], rows["most_end"]), pc.less(rows["least_at"], rows["most_at"]))
    mine = rows.filter(is_quiet).group_by(["cluster_id", "name", "day"]).aggregate([([], "count_all")])
    columns = (mine[name].to_pylist() for name in ("cluster_id", "name", "day", "count_all"))
    return {(cluster, topic, day): count for cluster, topic, day, count in zip(*columns, strict=True)}


_READERS: Final = {
    OFFSET_COMMITS.name: _read_commits,
    PARTITION_OFFSETS.name: _read_observations,
    GROUP_EVENTS.name: _read_events,
}


def _summary_of(table: Any, quiet: dict[tuple[str, str, int], int]) -> Summary:
    words, clusters, names = (table[name].to_pylist() for name in ("what", "cluster_id", "name"))
    numbers = (to_ints(table[name].combine_chunks()).tolist() for name in ("day", "at"))
    flags = (table[name].to_pylist() for name in ("is_complete", "is_coordinator"))
    last: dict[str, dict[Any, int]] = defaultdict(dict)
    runs: dict[tuple[str, int], dict[int, dict[bool, bool]]] = defaultdict(lambda: defaultdict(dict))
    for word, cluster, name, day, at, is_complete, is_coordinator in zip(
        words, clusters, names, *numbers, *flags, strict=True
    ):
        of_cluster = last[word]
        of_cluster[cluster, day] = max(at, of_cluster.get((cluster, day), NULL))
        if word in {"listed", "answered"}:
            of_group = last[f"group-{word}"]
            of_group[cluster, name, day] = max(at, of_group.get((cluster, name, day), NULL))
        if word == "run":
            outcomes = runs[cluster, day][at]
            outcomes[is_coordinator] = outcomes.get(is_coordinator, True) and is_complete
    keys = {key for word in ("commit", "answered", "run", "backfill", "event", "listed") for key in last[word]}
    complete = {
        key: [at for at, outcomes in found.items() if outcomes.get(True, outcomes.get(False))]
        for key, found in runs.items()
    }
    context = Context(
        {
            key: ClusterDay(
                last["commit"].get(key, NULL),
                last["run"].get(key, NULL),
                np.array(sorted(complete.get(key, [])), np.int64),
            )
            for key in keys
        },
        {
            key: (last["group-listed"].get(key, NULL), last["group-answered"].get(key, NULL))
            for key in {*last["group-listed"], *last["group-answered"]}
        },
    )
    days = {
        key: ReadDay(max(last[word].get(key, NULL) for word in ("commit", "event")), last["run"].get(key, NULL))
        for key in keys
    }
    return Summary(context, days, quiet)
