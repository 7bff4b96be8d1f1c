"""The events of one group: its records as Python objects, its samples as arrays, date by date."""

from __future__ import annotations

from collections.abc import Iterator
from operator import itemgetter
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

DAY_US: Final = 86_400_000_000
UNKNOWN: Final = -1  # in arrays of numbers of members: it is not known how many there are
# The columns of group_events that kernels read; `expression` is `$.regular_expression` of the column `details`.
COLUMNS: Final = (
    "origin",
    "source_partition",
    "source_offset",
    "record_time",
    "tombstone",
    "type",
    "meaning",
    "epoch",
    "previous_epoch",
    "member_id",
    "member_state",
    "state_time",
    "topics",
    "members",
    "group_type",
    "state",
    "expression",
)
# The fields of the structs in `members` that kernels read; of those in `assignment`, `topic` alone.
MEMBER_FIELDS: Final = ("member_id", "group_instance_id", "rebalance_timeout_ms", "topics", "assignment")
CLASSIC: Final = "GroupMetadata"
CONSUMER: Final = "ConsumerGroupMetadata"
_NOBODY: Final = ("Empty", "Dead")
_WITHOUT_REBALANCES: Final = ("Share", "Streams")


class Record(NamedTuple):
    """A record of the group in __consumer_offsets. Times are microseconds since 1970, UTC."""

    time: int
    partition: int
    offset: int
    type: str
    meaning: str
    epoch: int | None
    previous_epoch: int | None
    member_id: str | None
    member_state: str | None
    state_time: int | None
    expression: str | None
    ids: tuple[str, ...] | None  # of all members that the record lists, sorted
    join_timeout_ms: int | None  # the longest rebalance timeout of these; None if a static member may exceed it
    topics: tuple[str, ...]  # that the record and its members name


class Samples(NamedTuple):
    """The samples of a group on one date, in order of time."""

    times: npt.NDArray[np.int64]
    states: npt.NDArray[np.int8]  # indexes into `names`; -1: the state is not known
    names: tuple[str, ...]
    members: npt.NDArray[np.int32]  # UNKNOWN where the sample could not list the members
    topics: frozenset[str]  # assigned to members in the last sample of the date


class DayEvents(NamedTuple):
    """What happened to a group on one date. Records are in order of time, each once."""

    records: list[Record]
    samples: Samples | None
    has_no_rebalances: bool


def split_days(events: pa.RecordBatch) -> dict[int, DayEvents]:
    """Return the events by date, as days since 1970, in order; `events` has COLUMNS, in any order of rows."""
    if not events.num_rows:
        return {}
    times = events.column("record_time").cast(pa.int64()).to_numpy()
    is_record = pc.equal(events.column("origin"), "topic").to_numpy(zero_copy_only=False)
    is_other_kind = _has_no_rebalances(events)
    records = _records_by_day(events.filter(pa.array(is_record)), times[is_record]) if is_record.any() else {}
    samples = {} if is_record.all() else _samples_by_day(events, times, ~is_record)
    others = {int(day) for day in np.unique(times[is_other_kind] // DAY_US)} if is_other_kind.any() else ()
    return {
        day: DayEvents(records.get(day, []), samples.get(day), day in others) for day in sorted({*records, *samples})
    }


def _has_no_rebalances(events: pa.RecordBatch) -> npt.NDArray[np.bool_]:
    """Return a mask of the events of share and streams groups: their records are kept, and no rebalances are found."""
    kind = pc.coalesce(events.column("group_type"), events.column("type"))
    share, streams = (pc.starts_with(kind, name) for name in _WITHOUT_REBALANCES)
    mask: npt.NDArray[np.bool_] = pc.fill_null(pc.or_(share, streams), fill_value=False).to_numpy(zero_copy_only=False)
    return mask


def _records_by_day(rows: pa.RecordBatch, times: npt.NDArray[np.int64]) -> dict[int, list[Record]]:
    """Return each record once, in order of time, however often it was read."""
    days: dict[int, list[Record]] = {}
    before = None
    for record in sorted(_records(rows, times), key=itemgetter(0, 1, 2)):
        if record != before:
            days.setdefault(record.time // DAY_US, []).append(record)
        before = record
    return days


def _records(rows: pa.RecordBatch, times: npt.NDArray[np.int64]) -> Iterator[Record]:
    named = ("source_partition", "source_offset", "type", "meaning", "epoch", "previous_epoch", "member_id")
    columns = [rows.column(name).to_pylist() for name in (*named, "member_state")]
    state_times = rows.column("state_time").cast(pa.int64()).to_pylist()
    meanings = columns[3]
    expressions = (
        text if meaning.startswith("regex") else None
        for text, meaning in zip(rows.column("expression").to_pylist(), meanings, strict=True)
    )
    lists = rows.column("members").to_pylist()
    topics = (
        () if is_removed else _topics(own, members)
        for is_removed, own, members in zip(
            rows.column("tombstone").to_pylist(), rows.column("topics").to_pylist(), lists, strict=True
        )
    )
    ids = (None if members is None else tuple(sorted(one["member_id"] for one in members)) for members in lists)
    timeouts = map(_join_timeout, lists)
    fields = zip(times.tolist(), *columns, state_times, expressions, ids, timeouts, topics, strict=True)
    return map(Record._make, fields)


def _join_timeout(members: list[dict[str, Any]] | None) -> int | None:
    """Return how long a rebalance of a classic group waits for these members; None where static ones may exceed it."""
    if not members or any(one["group_instance_id"] is not None for one in members):
        return None
    return max(
        (one["rebalance_timeout_ms"] for one in members if one["rebalance_timeout_ms"] is not None), default=None
    )


def _topics(own: list[str] | None, members: list[dict[str, Any]] | None) -> tuple[str, ...]:
    named: set[str | None] = set(own or ())
    for member in members or ():
        named.update(member["topics"] or ())
        named.update(part["topic"] for part in member["assignment"] or ())
    # Brokers that write ids of topics have no names.
    return tuple(sorted(name for name in named if name is not None))


def _once(
    times: npt.NDArray[np.int64], states: npt.NDArray[np.int8], members: npt.NDArray[np.int32]
) -> npt.NDArray[np.intp]:
    """Return the rows in order of time, of those that are equal the first one."""
    order = np.lexsort((members, states, times))
    is_other = np.ones(len(order), bool)
    is_other[1:] = np.logical_or.reduce([np.diff(column[order]) != 0 for column in (times, states, members)])
    return order[is_other]


def _samples_by_day(
    events: pa.RecordBatch, times: npt.NDArray[np.int64], is_sample: npt.NDArray[np.bool_]
) -> dict[int, Samples]:
    rows = np.flatnonzero(is_sample)
    encoded = events.column("state").dictionary_encode()
    names = tuple(encoded.dictionary.to_pylist())
    states = encoded.indices.fill_null(-1).to_numpy()[rows].astype(np.int8)
    lists = events.column("members")
    members = pc.list_value_length(lists).fill_null(UNKNOWN).to_numpy()[rows].astype(np.int32)
    # A sample of a group that has no members has no list of them either.
    members[np.isin(states, [place for place, name in enumerate(names) if name in _NOBODY])] = 0
    order = _once(times[rows], states, members)
    at = times[rows][order]
    days, starts = np.unique(at // DAY_US, return_index=True)
    found = {}
    for day, start, end in zip(days.tolist(), starts, [*starts[1:], len(at)], strict=True):
        own = order[start:end]
        last = rows[own][at[start:end] == at[end - 1]]
        topics = frozenset(topic for row in last for topic in _topics(None, lists[int(row)].as_py()))
        found[day] = Samples(at[start:end], states[own], names, members[own], topics)
    return found
