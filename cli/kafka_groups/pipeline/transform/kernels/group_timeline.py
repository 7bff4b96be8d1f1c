"""The state of a group, and how many members it has, over one date."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_groups.pipeline.transform.kernels.group_events import CLASSIC, CONSUMER, UNKNOWN, Record, Samples
from kafka_groups.pipeline.transform.kernels.memberships import LifeDay
from kafka_groups.pipeline.transform.kernels.segments import DAY_US

# The same batch has both records of an online upgrade.
_MOVES_WITHIN_US: Final = 60_000_000
_BEGINNING: Final = np.iinfo(np.int64).min
_EMPTY: Final = "Empty"
_STABLE: Final = "Stable"
_DEAD: Final = "Dead"


class Known(NamedTuple):
    """What is known of a group at a time; None and UNKNOWN if the last that was known no longer holds."""

    state: str | None = None
    members: int = UNKNOWN
    has_members: bool = False  # some event had a number of members, or that it is not known any more


class Removal(NamedTuple):
    """The removal of a group at the end of a date. If the other protocol's record follows, `otherwise` holds."""

    type: str
    time: int
    otherwise: Known


class Entry(NamedTuple):
    """What holds from a record on. At the same time the place in the log decides, and then the part."""

    time: int
    at: int
    part: int
    state: str | None
    members: int


@dataclass(frozen=True, slots=True, eq=False)
class Timeline:
    """What held from when on; the first entry of each array is what held when the date began.

    A sample that could not list the members has an entry in `times`, and none in `member_times`.
    """

    names: tuple[str | None, ...]
    times: npt.NDArray[np.int64]
    states: npt.NDArray[np.int8]  # indexes into `names`; the last name, -1, is None
    member_times: npt.NDArray[np.int64]
    members: npt.NDArray[np.int32]
    was_known: bool  # whether the first entry of `members` is one

    def at_times(self, times: npt.NDArray[np.int64]) -> tuple[pa.StringArray, pa.Int32Array]:
        """Return the state and the number of members at times of the date; null if they are not known."""
        states = self.states[np.searchsorted(self.times, times, side="right") - 1]
        members = self.members[np.searchsorted(self.member_times, times, side="right") - 1]
        names = pa.array(self.names[:-1], pa.string())
        coded = pa.DictionaryArray.from_arrays(pa.array(states, mask=states < 0), names)
        return coded.cast(pa.string()), pa.array(members, pa.int32(), mask=members == UNKNOWN)

    @property
    def members_max(self) -> int | None:
        """The most members of the date; None if their number was not known at some time of it."""
        counted = self._counted()
        return None if not counted.size or (counted == UNKNOWN).any() else int(counted.max())

    @property
    def has_members(self) -> bool:
        """Whether the group had members on the date, or may have had some; False if nothing is known of them."""
        return bool((self._counted() != 0).any())

    def last(self) -> Known:
        """Return what is known at the end of the date."""
        return Known(self.names[self.states[-1]], int(self.members[-1]), bool(self._counted().size))

    def _counted(self) -> npt.NDArray[np.int32]:
        return self.members if self.was_known else self.members[1:]


def build_timeline(before: Known, entries: Sequence[Entry], samples: Samples | None) -> Timeline:
    """Return the timeline of a date from what its records and its samples say."""
    sampled = () if samples is None else samples.names
    others = (before.state, _EMPTY, _STABLE, _DEAD)
    names = tuple(dict.fromkeys((*sampled, *(name for name in others if name is not None))))
    codes: dict[str | None, int] = {name: code for code, name in enumerate(names)} | {None: -1}
    ordered = sorted(entries, key=itemgetter(0, 1, 2))
    times = np.array([_BEGINNING, *(entry.time for entry in ordered)], np.int64)
    states = np.array([codes[before.state], *(codes[entry.state] for entry in ordered)], np.int8)
    members = np.array([before.members, *(entry.members for entry in ordered)], np.int32)
    has_members = np.ones(len(times), bool)
    if samples is not None:
        # Before records of the same time.
        times = np.concatenate([times[:1], samples.times, times[1:]])
        order = np.argsort(times, kind="stable")
        times = times[order]
        states = np.concatenate([states[:1], samples.states, states[1:]])[order]
        members = np.concatenate([members[:1], samples.members, members[1:]])[order]
        has_members = np.concatenate([has_members[:1], samples.members != UNKNOWN, has_members[1:]])[order]
    return Timeline((*names, None), times, states, times[has_members], members[has_members], before.has_members)


def entries_of(records: Sequence[Record], lives: Sequence[LifeDay]) -> Iterator[Entry]:
    """Return what the records of a date say, without removals."""
    for at, record in enumerate(records):
        if record.event_type == "generation":
            members = UNKNOWN if record.ids is None else len(record.ids)
            yield Entry(record.time, at, 1, _STABLE, members)
        elif record.event_type == "group_emptied":
            yield Entry(record.time, at, 1, _EMPTY, 0)
    for life in lives:
        yield from _member_entries(life)


def _member_entries(life: LifeDay) -> Iterator[Entry]:
    """Return the number of members after each join and leave.

    A join or a leave begins a rebalance; records do not have the state that it ends with, except if nobody remains.
    """
    members, known_from = len(life.before.members), life.known_from() if life.changes else None
    if life.there:
        members += len(life.there)
        first = next(at for at, record in enumerate(life.records) if record.type != CLASSIC)
        yield Entry(life.records[first].time, life.start + first, 0, None, members)
    for at, record, number in life.changes:
        members += number
        is_known = known_from is not None and known_from <= at
        state = _EMPTY if is_known and members == 0 else None
        yield Entry(record.time, life.start + at, 1, state, members if is_known else UNKNOWN)


def removals(records: Sequence[Record], last: Removal | None) -> tuple[list[Entry], bool, Removal | None]:
    """Return the deletions of a date, whether `last` was none but a move, and a removal that may be a move, too.

    A group moved to the other protocol if that one's record follows a removal at once.
    """
    placed = [(at, record) for at, record in enumerate(records) if record.type in {CLASSIC, CONSUMER}]
    following = [record for _, record in placed[1:]]
    has_moved = last is not None and bool(placed) and _moves(last.type, last.time, placed[0][1])
    deleted = [
        Entry(record.time, at, 1, _DEAD, 0)
        for (at, record), after in zip(placed, [*following, None], strict=False)
        if record.event_type == "group_removed" and (after is None or not _moves(record.type, record.time, after))
    ]
    if not placed or placed[-1][1].event_type != "group_removed":
        return deleted, has_moved, None
    end = placed[-1][1]
    is_late = (end.time // DAY_US + 1) * DAY_US - end.time <= _MOVES_WITHIN_US
    return deleted, has_moved, Removal(end.type, end.time, Known()) if is_late else None


def _moves(removed: str, time: int, following: Record) -> bool:
    is_other = following.type != removed and following.event_type != "group_removed"
    return is_other and following.time - time <= _MOVES_WITHIN_US
