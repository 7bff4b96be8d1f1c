"""Commits that samples do not see any more: samples alone show no removals, so absence has to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from kafka_groups.pipeline.transform.kernels.segments import NULL, Flags, Ints, take

# What complete samples have not seen for longer was removed; one sample that misses it is a disturbance.
ABSENT_US: Final = 600_000_000
# The sample that saw a commit is the first of those since then: log ends are requested last.
_MISSED_BY: Final = 3
_FIRST_MISS: Final = 2


@dataclass(frozen=True, slots=True)
class Absence:
    """What each key's samples say: the last that saw it, the complete ones since (at most three), the second of them.

    The second one is the first that missed the commit. NULL: not known.
    """

    seen_us: Ints
    runs: Ints
    missed_us: Ints


@dataclass(frozen=True, slots=True)
class Evidence:
    """What else speaks for or against a removal, per key; times are NULL where nothing was read.

    `is_kept`: the key's last record is a commit. `read_us`: the last commit record of the cluster. `listed_us`: the
    last sample that listed the group; `answered_us`: the last that saw a commit of it.
    """

    is_kept: Flags
    read_us: Ints
    listed_us: Ints
    answered_us: Ints


def count_missed(carried: Absence, seen_us: Ints, runs_us: Ints) -> Absence:
    """Return the absence at the day's end: `seen_us` is each key's last sample of the day, NULL if there is none.

    `runs_us` are the times of the day's complete sampling runs of the cluster, ascending.
    """
    is_seen = seen_us != NULL
    seen = np.where(is_seen, seen_us, carried.seen_us)
    runs, missed = np.where(is_seen, 0, carried.runs), np.where(is_seen, NULL, carried.missed_us)
    first = np.searchsorted(runs_us, seen, "left")
    new = np.where(seen == NULL, 0, len(runs_us) - first)
    # The second run since: it is of the day if at most one was before.
    place = first + 1 - runs
    is_today = (missed == NULL) & (runs < _FIRST_MISS) & (runs + new >= _FIRST_MISS) & (new > 0)
    missed = np.where(is_today, take(runs_us, np.where(is_today, place, -1)), missed)
    return Absence(seen, np.minimum(runs + new, _MISSED_BY), missed)


def infer_deletions(absence: Absence, evidence: Evidence, last_run_us: int) -> Ints:
    """Return the time since which each commit is removed, NULL where it is not.

    Two complete runs have to miss a commit, the last of them (`last_run_us`) ten minutes after it was seen. Where
    records were read that are younger, they show what was removed. And a group that is still listed without any commit
    may be one that failed.
    """
    since = absence.missed_us
    is_absent = (absence.seen_us != NULL) & (absence.runs >= _MISSED_BY)
    is_absent &= last_run_us // 1_000 - absence.seen_us // 1_000 > ABSENT_US // 1_000
    is_read = evidence.is_kept & (evidence.read_us != NULL) & (evidence.read_us >= since)
    is_listed = (evidence.listed_us != NULL) & (evidence.listed_us >= since)
    is_answered = (evidence.answered_us != NULL) & (evidence.answered_us >= since)
    return np.where(is_absent & ~is_read & (~is_listed | is_answered), since, NULL)
