"""Resets of this tool, as evidence for verdicts: a commit that went back by a reset is no rewind."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Final, TypeAlias

from kafka_groups.changes.journal import ID_TIME
from kafka_groups.changes.journal_location import JournalLocation, open_journal
from kafka_groups.changes.run_record import read_record
from kafka_groups.changes.runs import list_ids
from kafka_groups.errors import AdminError, JournalError, SettingsError
from kafka_groups.groups.lag.polls import PartitionKey

# A run changes its last commit within this time.
_LONGEST_RUN: Final = timedelta(minutes=15)
# The offsets that a run may have committed, by partition of a group.
Offsets: TypeAlias = Mapping[PartitionKey, int]


class KnownResets:
    """The resets in the user's journal. It is read only for a commit that went back, which is rare."""

    def __init__(self, find_cluster_id: Callable[[], str]) -> None:
        self._find_cluster_id = find_cluster_id
        # Of one poll: its times, and what its runs have committed.
        self._times: tuple[int, int] | None = None
        self._runs: list[Offsets] = []

    def __call__(self, key: PartitionKey, offset: int, since_ms: int, until_ms: int) -> bool:
        """Return whether a run may have reset a commit to an offset, or below it, between two times (ms since 1970).

        The group may have moved on from the offset of the reset. A journal that cannot be read knows of none.
        """
        if self._times != (since_ms, until_ms):
            self._times = (since_ms, until_ms)
            try:
                self._runs = [*_runs_between(self._find_cluster_id(), since_ms, until_ms)]
            except (AdminError, JournalError, SettingsError):
                self._runs = []
        return any(run[key] <= offset for run in self._runs if key in run)


def _runs_between(cluster_id: str, since_ms: int, until_ms: int) -> Iterator[Offsets]:
    """Yield what the runs on a cluster have committed that began between two times, or shortly before."""
    journal = open_journal()
    since = _moment(since_ms) - _LONGEST_RUN
    until = _moment(until_ms)
    for run_id in list_ids(journal):
        began_at = datetime.strptime(run_id.rpartition("-")[0], ID_TIME).replace(tzinfo=UTC)
        if began_at < since:
            return
        if began_at <= until:
            yield _read_offsets(journal, run_id, cluster_id)


def _read_offsets(journal: JournalLocation, run_id: str, cluster_id: str) -> Offsets:
    """Return what a run has committed on a cluster; nothing for a damaged record, and for a deletion."""
    try:
        run = read_record(journal, run_id)
    except JournalError:
        return {}
    if run.plan.cluster_id != cluster_id:
        return {}
    return {
        (change.group, change.key.topic, change.key.partition): change.after.offset
        for change in run.changed()
        if change.key is not None and change.after is not None
    }


def _moment(at_ms: int) -> datetime:
    return datetime.fromtimestamp(at_ms / 1_000, UTC)
