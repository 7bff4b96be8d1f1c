"""The events of groups, by group and day: records as Python objects, samples as arrays."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kafka_groups.pipeline.transform.columns import to_codes, to_ints
from kafka_groups.pipeline.transform.kernels.segments import DAY_US, Ints, first_rows, highest

CLASSIC: Final = "GroupMetadata"
CONSUMER: Final = "ConsumerGroupMetadata"
REMOVED: Final = "group_removed"
# A number of members: an event showed that it is not known any more. It is NULL where no event says anything of it.
UNKNOWN: Final = -1
_Place = tuple[int, int]  # the number of a group, and a day


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


class Timeline(NamedTuple):
    """What held of a group from when on, on one day."""

    times: Ints = np.zeros(0, np.int64)
    states: npt.NDArray[np.object_] = np.zeros(0, np.object_)  # None where a state is not known
    members: Ints = np.zeros(0, np.int64)  # UNKNOWN, or NULL where nothing shows the members

    def at_times(self, times: Ints) -> tuple[Any, Ints]:
        """Return the state and the number of members at times of the day, none of them before the first entry."""
        place = np.searchsorted(self.times, times, side="right") - 1
        return self.states[place], self.members[place]

    @property
    def members_max(self) -> int:
        """The most members of the day; UNKNOWN if their number was not known at some time, NULL if it never was."""
        return UNKNOWN if (self.members == UNKNOWN).any() else int(self.members.max())


class DayEvents(NamedTuple):
    """What happened to a group on one day. Records are in order of their log, each once."""

    records: Sequence[Record] = ()
    samples: Timeline = Timeline()
    topics: frozenset[str] = frozenset()  # assigned to members in the last sample of the day
    has_no_rebalances: bool = False


def split_days(events: Any, group: Ints) -> dict[int, dict[int, DayEvents]]:
    """Return events by group and by days since 1970; `events` has columns of GROUP_INPUT, in any order of rows."""
    is_record = np.asarray(pc.equal(events["origin"], "topic"))
    days = to_ints(events["at_us"]) // DAY_US
    kinds = pc.coalesce(events["group_type"], events["type"])
    others = np.asarray(pc.match_substring_regex(kinds, "^(Share|Streams)"))
    without_rebalances = set(zip(group[others].tolist(), days[others].tolist(), strict=True))
    records = _split_records(events, group, np.flatnonzero(is_record))
    samples = dict(_split_samples(events, group, np.flatnonzero(~is_record)))
    found: dict[int, dict[int, DayEvents]] = defaultdict(dict)
    for place in records.keys() | samples.keys():
        sampled = samples.get(place, (Timeline(), frozenset()))
        found[place[0]][place[1]] = DayEvents(records.get(place, ()), *sampled, place in without_rebalances)
    return found


def _split_records(events: Any, group: Ints, rows: Ints) -> dict[_Place, list[Record]]:
    """Return each record once, however often it was read. A group has all its records in one partition."""
    taken = events.take(pa.array(rows))
    columns = (taken[name].to_pylist() for name in Record._fields[:-3])
    records = map(Record, *columns, *_read_members(taken["members"]), _read_topics(taken))
    owned = dict.fromkeys(zip(group[rows].tolist(), records, strict=True))
    found: dict[_Place, list[Record]] = defaultdict(list)
    for owner, record in sorted(owned, key=lambda one: (one[0], one[1][:3])):
        found[owner, record.at_us // DAY_US].append(record)
    return found


def _read_members(lists: Any) -> tuple[list[tuple[str, ...] | None], list[int | None]]:
    """Return the members' ids and the longest rebalance timeout of each list."""
    each = lists.flatten()
    names = ("member_id", "group_instance_id", "rebalance_timeout_ms")
    parts = (pa.ListArray.from_arrays(lists.offsets, each.field(name), mask=lists.is_null()) for name in names)
    ids, timeouts = list[tuple[str, ...] | None](), list[int | None]()
    for listed, instances, each_ms in zip(*(part.to_pylist() for part in parts), strict=True):
        ids.append(None if listed is None else tuple(sorted(listed)))
        is_known = listed is not None and instances.count(None) == len(instances)
        known_ms = [one for one in each_ms if one is not None] if is_known else []
        timeouts.append(max(known_ms, default=None if listed or listed is None else 0))
    return ids, timeouts


def _read_topics(rows: Any) -> list[tuple[str, ...]]:
    """Return the topics that each row names: its own, and those that its members subscribe to or have.

    A tombstone has no value, so it names none. Brokers that write ids of topics have no names.
    """
    own, members = rows["topics"], rows["members"]
    each, owner = members.flatten(), pc.list_parent_indices(members)
    subscribed, assigned = each.field("topics"), each.field("assignment")
    places = [pc.list_parent_indices(own), *(owner.take(pc.list_parent_indices(one)) for one in (subscribed, assigned))]
    names = [own.flatten(), subscribed.flatten(), assigned.flatten().field("topic")]
    pairs = pa.table({"row": pa.concat_arrays(places), "topic": pa.concat_arrays(names)}).drop_null()
    found = pairs.group_by("row").aggregate([("topic", "distinct")])
    topics = dict(zip(*(found[name].to_pylist() for name in ("row", "topic_distinct")), strict=True))
    return [tuple(sorted(topics.get(row, ()))) for row in range(len(rows))]


def _split_samples(events: Any, group: Ints, rows: Ints) -> Iterator[tuple[_Place, tuple[Timeline, frozenset[str]]]]:
    """Yield the samples of each group and day, of equal ones the first, and topics."""
    code, names = to_codes(events["state"].take(pa.array(rows)))
    owner, times = group[rows], to_ints(events["at_us"])[rows]
    states = np.array([*names, None], np.object_)[np.where(code >= 0, code, -1)]
    members = to_ints(pc.list_value_length(events["members"]))[rows]
    # A sample of a group that has no members has no list of them either.
    members[np.isin(states, ("Empty", "Dead"))] = 0
    order = np.lexsort((members, code, times, owner))
    order = order[first_rows(owner[order], times[order], code[order], members[order])]
    day = times[order] // DAY_US
    newest = order[times[order] == highest(times[order], owner[order], day)]
    topics: dict[_Place, set[str]] = defaultdict(set)
    for at, named in zip(newest.tolist(), _read_topics(events.take(pa.array(rows[newest]))), strict=True):
        topics[int(owner[at]), int(times[at] // DAY_US)].update(named)
    begins = np.flatnonzero(first_rows(owner[order], day))
    for mine in np.split(order, begins[1:]) if len(order) else ():
        place = int(owner[mine[0]]), int(times[mine[0]] // DAY_US)
        yield place, (Timeline(times[mine], states[mine], members[mine]), frozenset(topics[place]))
