"""The state of a group and the number of its members over one day.

The state at a time is the state in the newest record, that is, in the last record in the log. If the clocks of two
coordinators differ, a record may have an earlier time than the previous record in the log. It applies from its own
time on, so the previous record never takes effect.

Example: generation 6 has an earlier time than generation 5, because the broker that wrote 5 is ten seconds ahead.

>>> entries = [TimelineEntry(10, 0, "Stable", 4), TimelineEntry(30, 1, "Stable", 5), TimelineEntry(25, 2, "Stable", 6)]
>>> entries.append(TimelineEntry(40, 3, "Empty", 0))
>>> timeline = build_timeline((None, 9), entries, Timeline())
>>> timeline.times[1:].tolist(), timeline.member_counts.tolist()
([10, 25, 40], [9, 4, 6, 0])
>>> states, member_counts = timeline.at_times(np.array([5, 30]))
>>> states.tolist(), member_counts.tolist()
([None, 'Stable'], [9, 6])
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any, Final, NamedTuple

import numpy as np

from kafka_groups.pipeline.frames.arrays import LARGEST, NULL, Array, Ints

# The number of members after an event that changed it, if the number before the event was unknown.
UNKNOWN_COUNT: Final = -1


class TimelineEntry(NamedTuple):
    """The state of a group and its number of members from a record on."""

    at_us: int  # time of the record, in microseconds since 1970
    record_index: int  # index of the record among those that were read, in the order of the log
    state: str | None  # None if the record does not show it
    member_count: int  # number of members; UNKNOWN_COUNT, or NULL if the record does not show it


class Timeline(NamedTuple):
    """The states of a group on one day and its numbers of members, in the order of their times.

    All arrays have one length. If `build_timeline` returned it, the first state, with the time NULL, is that of earlier
    days. A timeline of samples has only the states that samples saw.
    """

    times: Ints = np.zeros(0, np.int64)  # microseconds since 1970
    states: Array = np.zeros(0, np.object_)  # None where a state is not known
    member_counts: Ints = np.zeros(0, np.int64)  # UNKNOWN_COUNT, or NULL where no event has shown a number yet

    def at_times(self, times: Ints) -> tuple[Any, Ints]:
        """Return the states and the numbers of members at times of the day, in microseconds since 1970."""
        indices = np.searchsorted(self.times, times, side="right") - 1
        return self.states[indices], self.member_counts[indices]

    @property
    def max_members(self) -> int:
        """The highest number of members; UNKNOWN_COUNT if it was unknown at any time, NULL if no event has shown it."""
        return UNKNOWN_COUNT if (self.member_counts == UNKNOWN_COUNT).any() else int(self.member_counts.max())

    @property
    def last(self) -> tuple[str | None, int]:
        """The state and the number of members at the end of the day."""
        return self.states[-1], int(self.member_counts[-1])


def build_timeline(
    state_before: tuple[str | None, int], entries: Sequence[TimelineEntry], samples: Timeline
) -> Timeline:
    """Return the timeline of a day from the state and the number of members before it, entries of records, and samples.

    Entries may be in any order. A sample comes before an entry with the same time. If an entry or a sample does not
    show the number of members, the previous number stays.
    """
    valid_entries = sorted(drop_superseded(entries), key=attrgetter("at_us", "record_index"))
    all_entries = [TimelineEntry(NULL, 0, *state_before), *valid_entries]
    times = np.concatenate([samples.times, [entry.at_us for entry in all_entries]])
    states = np.concatenate([samples.states, np.array([entry.state for entry in all_entries], np.object_)])
    member_counts = np.concatenate([samples.member_counts, [entry.member_count for entry in all_entries]])
    order = np.argsort(times, kind="stable")
    member_counts = member_counts[order]
    last_shown = np.maximum.accumulate(np.where(member_counts != NULL, np.arange(len(member_counts)), 0))
    return Timeline(times[order], states[order], member_counts[last_shown])


def drop_superseded(entries: Sequence[TimelineEntry]) -> list[TimelineEntry]:
    """Return the entries in the order of the log, without those that have a later time than a following entry.

    `entries` may be in any order; entries of one record keep their order.
    """
    valid_entries = list[TimelineEntry]()
    earliest_us = LARGEST
    entries_in_log_order = sorted(entries, key=attrgetter("record_index"))
    for entry in reversed(entries_in_log_order):
        if entry.at_us <= earliest_us:
            valid_entries.append(entry)
            earliest_us = entry.at_us
    return valid_entries[::-1]
