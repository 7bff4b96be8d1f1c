"""The events of groups, by group and day: records as Python objects, samples as arrays."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kafka_groups.pipeline.transform.columns import to_codes, to_ints
from kafka_groups.pipeline.transform.kernels.segments import DAY_US, Ints, first_rows

CLASSIC: Final = "GroupMetadata"
CONSUMER: Final = "ConsumerGroupMetadata"
# A number of members: an event showed that it is not known any more, or no event says anything of it.
UNKNOWN: Final = -1
NOTHING: Final = -2
_WITHOUT_REBALANCES: Final = "^(Share|Streams)"


class Record(NamedTuple):
    """A record of a group in __consumer_offsets: columns of GROUP_INPUT, and what its lists say."""

    source_partition: int
    source_offset: int
    at_us: int
    type: str
    event_type: str
    epoch: int | None
    previous_epoch: int | None
    member_id: str | None
    member_state: str | None
    state_us: int | None
    expression: str | None
    ids: tuple[str, ...] | None  # of all members that the record lists, sorted
    join_timeout_ms: int | None  # the longest rebalance timeout of these; None if a static member may exceed it
    topics: tuple[str, ...]  # that the record and its members name


class Samples(NamedTuple):
    """The samples of a group on one day, in order of time."""

    times: Ints = np.zeros(0, np.int64)
    states: npt.NDArray[np.object_] = np.zeros(0, np.object_)  # None where a state is not known
    members: Ints = np.zeros(0, np.int64)  # NOTHING where the sample could not list the members
    topics: frozenset[str] = frozenset()  # assigned to members in the last sample of the day


class DayEvents(NamedTuple):
    """What happened to a group on one day. Records are in order of their log, each once."""

    records: Sequence[Record] = ()
    samples: Samples = Samples()
    has_no_rebalances: bool = False


def split_days(events: Any, group: Ints) -> dict[int, dict[int, DayEvents]]:
    """Return events by group and by days since 1970; `events` has columns of GROUP_INPUT, in any order of rows."""
    is_record = np.asarray(pc.equal(events["origin"], "topic"))
    days = to_ints(events["at_us"]) // DAY_US
    kinds = pc.coalesce(events["group_type"], events["type"])
    others = np.flatnonzero(np.asarray(pc.match_substring_regex(kinds, _WITHOUT_REBALANCES)))
    without_rebalances = set(zip(group[others].tolist(), days[others].tolist(), strict=True))
    records = _split_records(events, group, np.flatnonzero(is_record))
    samples = dict(_split_samples(events, group, np.flatnonzero(~is_record)))
    found: dict[int, dict[int, DayEvents]] = defaultdict(dict)
    for place in records.keys() | samples.keys():
        owner, day = place
        is_other = place in without_rebalances
        found[owner][day] = DayEvents(records.get(place, ()), samples.get(place, Samples()), is_other)
    return found


def _split_records(events: Any, group: Ints, rows: Ints) -> dict[tuple[int, int], list[Record]]:
    """Return each record once, however often it was read. A group has all its records in one partition."""
    owned = zip(group[rows].tolist(), _records(events.take(pa.array(rows))), strict=True)
    found: dict[tuple[int, int], list[Record]] = {}
    for owner, record in sorted(owned, key=lambda one: (one[0], one[1][:3])):
        records = found.setdefault((owner, record.at_us // DAY_US), [])
        if not records or record != records[-1]:
            records.append(record)
    return found


def _records(rows: Any) -> Iterator[Record]:
    ids, timeouts = _members(rows["members"])
    columns = (rows[name].to_pylist() for name in Record._fields[:-3])
    return map(Record, *columns, ids, timeouts, _topics(rows["topics"], rows["members"]))


def _members(lists: Any) -> tuple[list[tuple[str, ...] | None], list[int | None]]:
    """Return the members' ids and the longest rebalance timeout of each list; None where static ones may exceed it."""
    ids: list[tuple[str, ...] | None] = [() if is_list else None for is_list in lists.is_valid().to_pylist()]
    timeouts: list[int | None] = [None] * len(lists)
    each = lists.flatten()
    names = ("member_id", "group_instance_id", "rebalance_timeout_ms")
    members = pa.table([pc.list_parent_indices(lists), *map(each.field, names)], names=["row", *names])
    found = members.group_by("row").aggregate([*zip(names, ("list", "count", "max"), strict=True)])
    wanted = ("row", "member_id_list", "group_instance_id_count", "rebalance_timeout_ms_max")
    for row, listed, static, longest in zip(*(found[name].to_pylist() for name in wanted), strict=True):
        ids[row] = tuple(sorted(listed))
        timeouts[row] = None if static else longest
    return ids, timeouts


def _topics(own: Any, members: Any) -> list[tuple[str, ...]]:
    """Return the topics that each row names: its own, and those that its members subscribe to or have.

    A tombstone has no value, so it names none. Brokers that write ids of topics have no names.
    """
    each, owner = members.flatten(), pc.list_parent_indices(members)
    subscribed, assigned = each.field("topics"), each.field("assignment")
    rows = [pc.list_parent_indices(own), *(owner.take(pc.list_parent_indices(one)) for one in (subscribed, assigned))]
    names = [own.flatten(), subscribed.flatten(), assigned.flatten().field("topic")]
    pairs = pa.table({"row": pa.concat_arrays(rows), "topic": pa.concat_arrays(names)}).drop_null()
    found = pairs.group_by("row").aggregate([("topic", "distinct")])
    topics: list[tuple[str, ...]] = [()] * len(own)
    for row, named in zip(found["row"].to_pylist(), found["topic_distinct"].to_pylist(), strict=True):
        topics[row] = tuple(sorted(named))
    return topics


def _split_samples(events: Any, group: Ints, rows: Ints) -> Iterator[tuple[tuple[int, int], Samples]]:
    """Yield the samples of each group and day; of equal ones the first."""
    code, names = to_codes(events["state"].take(pa.array(rows)))
    owner, times = group[rows], to_ints(events["at_us"])[rows]
    states = np.array([*names, None], np.object_)[np.where(code >= 0, code, -1)]
    members = np.asarray(pc.fill_null(pc.list_value_length(events["members"]), NOTHING)).astype(np.int64)[rows]
    # A sample of a group that has no members has no list of them either.
    members[np.isin(code, [place for place, name in enumerate(names) if name in ("Empty", "Dead")])] = 0
    order = np.lexsort((members, code, times, owner))
    order = order[first_rows(owner[order], times[order], code[order], members[order])]
    begins = np.flatnonzero(first_rows(owner[order], times[order] // DAY_US))
    for mine in np.split(order, begins[1:]) if len(order) else ():
        newest = rows[mine[times[mine] == times[mine[-1]]]]
        topics = _assigned(events["members"].take(pa.array(newest)).to_pylist())
        place = int(owner[mine[0]]), int(times[mine[0]] // DAY_US)
        yield place, Samples(times[mine], states[mine], members[mine], frozenset(topics))


def _assigned(samples: Iterable[Any]) -> Iterator[str]:
    for member in (member for members in samples for member in members or ()):
        yield from member["topics"] or ()
        yield from (part["topic"] for part in member["assignment"] or () if part["topic"] is not None)
