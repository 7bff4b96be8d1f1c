"""The events of one group: its records as Python objects, its samples as arrays, date by date."""

from __future__ import annotations

from collections.abc import Iterator
from operator import itemgetter
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kafka_groups.pipeline.transform.kernels.segments import DAY_US

UNKNOWN: Final = -1  # in arrays of numbers of members: it is not known how many there are
# The columns of group_events that kernels read; `expression` is `$.regular_expression` of the column `details`.
COLUMNS: Final = (
    "origin",
    "source_partition",
    "source_offset",
    "record_time",
    "type",
    "event_type",
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
    event_type: str
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
    has_samples = not is_record.all()
    records = {}
    if is_record.any():
        rows = events.filter(pa.array(is_record)) if has_samples else events
        records = _records_by_day(rows, times[is_record])
    samples = _samples_by_day(events, times, np.flatnonzero(~is_record)) if has_samples else {}
    others = _days_without_rebalances(events, times)
    return {
        day: DayEvents(records.get(day, []), samples.get(day), day in others) for day in sorted({*records, *samples})
    }


def _days_without_rebalances(events: pa.RecordBatch, times: npt.NDArray[np.int64]) -> set[int]:
    """Return the days with events of a share or streams group."""
    columns = events.column("group_type"), events.column("type")
    kinds = {kind for column in columns for kind in column.unique().to_pylist() if kind is not None}
    others = [kind for kind in kinds if kind.startswith(_WITHOUT_REBALANCES)]
    if not others:
        return set()
    is_other = pc.is_in(pc.coalesce(*columns), pa.array(others)).to_numpy(zero_copy_only=False)
    return set((times[is_other] // DAY_US).tolist())


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
    named = ("source_partition", "source_offset", "type", "event_type", "epoch", "previous_epoch", "member_id")
    columns = [rows.column(name).to_pylist() for name in (*named, "member_state")]
    state_times = rows.column("state_time").cast(pa.int64()).to_pylist()
    expressions = (
        text if event_type.startswith("regex") else None
        for text, event_type in zip(rows.column("expression").to_pylist(), columns[3], strict=True)
    )
    ids, timeouts = _members(rows.column("members"))
    fields = zip(times.tolist(), *columns, state_times, expressions, ids, timeouts, _topics(rows), strict=True)
    return map(Record._make, fields)


def _members(lists: pa.ListArray) -> tuple[list[tuple[str, ...] | None], list[int | None]]:
    """Return the members' ids and the longest rebalance timeout of each list; None where static ones may exceed it."""
    lengths = pc.list_value_length(lists).to_pylist()
    ids: list[tuple[str, ...] | None] = [None if length is None else () for length in lengths]
    timeouts: list[int | None] = [None] * len(lengths)
    if not any(lengths):
        return ids, timeouts
    flat = lists.flatten()
    names, instances, waits = (pc.struct_field(flat, name).to_pylist() for name in MEMBER_FIELDS[:3])
    start = 0
    for row, length in enumerate(lengths):
        if length:
            end = start + length
            ids[row] = tuple(sorted(names[start:end]))
            if instances[start:end].count(None) == length:
                timeouts[row] = max((wait for wait in waits[start:end] if wait is not None), default=None)
            start = end
    return ids, timeouts


def _topics(rows: pa.RecordBatch) -> list[tuple[str, ...]]:
    """Return the topics that each row names: its own, and those that its members subscribe to or have.

    A tombstone has no value, so it names none.
    """
    own, lists = rows.column("topics"), rows.column("members")
    flat = lists.flatten()
    if not len(flat):
        return [tuple(sorted(set(topics or ()))) for topics in own.to_pylist()]
    places = np.arange(rows.num_rows)
    members = _repeat(places, lists)
    subscribed, assigned = (pc.struct_field(flat, name) for name in MEMBER_FIELDS[3:])
    # Brokers that write ids of topics have no names.
    parts = pc.struct_field(assigned.flatten(), "topic")
    names = pa.concat_arrays([own.flatten(), subscribed.flatten(), parts]).dictionary_encode()
    found = np.concatenate([_repeat(places, own), _repeat(members, subscribed), _repeat(members, assigned)])
    is_kept = names.is_valid().to_numpy(zero_copy_only=False)
    known = names.dictionary.to_pylist()
    pairs = np.unique(found[is_kept] * len(known) + names.indices.fill_null(0).to_numpy()[is_kept])
    topics: list[tuple[str, ...]] = [()] * rows.num_rows
    for place, name in zip((pairs // len(known)).tolist(), (pairs % len(known)).tolist(), strict=True):
        topics[place] = (*topics[place], known[name])
    return [tuple(sorted(each)) for each in topics]


def _repeat(places: npt.NDArray[np.int64], lists: pa.ListArray) -> npt.NDArray[np.int64]:
    """Return the place of each list for each of its elements."""
    return np.repeat(places, pc.list_value_length(lists).fill_null(0).to_numpy())


def _samples_by_day(
    events: pa.RecordBatch, times: npt.NDArray[np.int64], rows: npt.NDArray[np.intp]
) -> dict[int, Samples]:
    encoded = events.column("state").dictionary_encode()
    names = tuple(encoded.dictionary.to_pylist())
    lists = events.column("members")
    states = encoded.indices.fill_null(-1).to_numpy().astype(np.int8)
    members = pc.list_value_length(lists).fill_null(UNKNOWN).to_numpy()
    # A sample of a group that has no members has no list of them either.
    empty = [place for place, name in enumerate(names) if name in _NOBODY]
    if empty:
        members = np.where(np.isin(states, empty), 0, members)
    rows = _once(rows, times, states, members)
    at = times[rows]
    first, last = int(at[0]) // DAY_US, int(at[-1]) // DAY_US
    found = {}
    ends = np.searchsorted(at, [day * DAY_US for day in range(first, last + 2)]).tolist()
    for day, start, end in zip(range(first, last + 1), ends, ends[1:], strict=False):
        if start < end:
            own = rows[start:end]
            newest = own[int(np.searchsorted(at[start:end], at[end - 1])) :]
            topics = (topic for row in newest for topic in _assigned(lists[int(row)]))
            found[day] = Samples(at[start:end], states[own], names, members[own], frozenset(topics))
    return found


def _assigned(members: pa.ListScalar) -> Iterator[str]:
    """Return the topics of the members of one sample."""
    for member in members.as_py() or ():
        yield from member["topics"] or ()
        yield from (part["topic"] for part in member["assignment"] or () if part["topic"] is not None)


def _once(
    rows: npt.NDArray[np.intp],
    times: npt.NDArray[np.int64],
    states: npt.NDArray[np.int8],
    members: npt.NDArray[np.int32],
) -> npt.NDArray[np.intp]:
    """Return the rows in order of time, of equal ones the first."""
    if (np.diff(times[rows]) > 0).all():
        return rows
    rows = rows[np.lexsort((members[rows], states[rows], times[rows]))]
    is_other = np.ones(len(rows), bool)
    is_other[1:] = np.logical_or.reduce([np.diff(column[rows]) != 0 for column in (times, states, members)])
    return rows[is_other]
