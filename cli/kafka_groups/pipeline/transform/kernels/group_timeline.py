"""The state of a group, and how many members it has, over one day."""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter
from typing import Any, Final, NamedTuple

import numpy as np

from kafka_groups.pipeline.transform.kernels.group_events import NOTHING, UNKNOWN, Samples
from kafka_groups.pipeline.transform.kernels.segments import Ints

EMPTY: Final = "Empty"
_BEGINNING: Final = int(np.iinfo(np.int64).min)


class Known(NamedTuple):
    """What is known of a group at a time: its state or None, its number of members, UNKNOWN, or NOTHING so far."""

    state: str | None = None
    members: int = NOTHING


class Entry(NamedTuple):
    """What holds from a record on. At the same time the place in the log decides."""

    time: int
    at: int
    state: str | None
    members: int


class Timeline(NamedTuple):
    """What held from when on; the first entry of each array is what held when the day began."""

    times: Ints
    states: Any
    members: Ints

    def at_times(self, times: Ints) -> tuple[Any, Ints]:
        """Return the state, or None, and the number of members, negative if not known, at times of the day."""
        place = np.searchsorted(self.times, times, side="right") - 1
        return self.states[place], self.members[place]

    @property
    def members_max(self) -> int | None:
        """The most members of the day; None if their number was not known at some time of it."""
        counted = self._counted()
        return None if not counted.size or (counted == UNKNOWN).any() else int(counted.max())

    @property
    def has_members(self) -> bool:
        """Whether the group had members on the day, or may have had some; False if nothing is known of them."""
        return bool((self._counted() != 0).any())

    def last(self) -> Known:
        """Return what is known at the end of the day."""
        return Known(self.states[-1], int(self.members[-1]))

    def _counted(self) -> Any:
        return self.members[self.members != NOTHING]


def build_timeline(before: Known, entries: Iterable[Entry], samples: Samples) -> Timeline:
    """Return the timeline of a day from what its records and its samples say; samples are before records of a time."""
    ordered = [Entry(_BEGINNING, 0, *before), *sorted(entries, key=itemgetter(0, 1))]
    times, _, states, members = (np.array(column) for column in zip(*ordered, strict=True))
    times, members = np.concatenate([samples.times, times]), np.concatenate([samples.members, members])
    order = np.argsort(times, kind="stable")
    # What says nothing of the members leaves their number as it was.
    said = np.maximum.accumulate(np.where(members[order] != NOTHING, np.arange(len(members)), 0))
    return Timeline(times[order], np.concatenate([samples.states, states])[order], members[order][said])
