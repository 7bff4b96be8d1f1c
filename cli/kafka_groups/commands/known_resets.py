"""Resets of this tool, as evidence for verdicts: a commit that went back by a reset is no rewind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Final

from kafka_groups.changes.journal import ID_TIME
from kafka_groups.changes.journal_location import open_journal
from kafka_groups.changes.run_record import Run, read_record
from kafka_groups.changes.runs import list_ids
from kafka_groups.errors import AdminError, JournalError, SettingsError
from kafka_groups.groups.lag.polls import PartitionKey
from kafka_groups.model import TopicPartition

# A run changes its last commit within this time.
_LONGEST_RUN: Final = timedelta(minutes=15)


class KnownResets:
    """The resets in the user's journal. It is read only for a commit that went back, which is rare."""

    def __init__(self, find_cluster_id: Callable[[], str]) -> None:
        self._find_cluster_id = find_cluster_id

    def __call__(self, key: PartitionKey, since_ms: int, until_ms: int) -> bool:
        """Return whether a run may have changed the commit of a partition between two times, in ms since 1970.

        A journal that cannot be read knows of none.
        """
        group, topic, partition = key
        try:
            cluster_id = self._find_cluster_id()
            return any(
                change.group == group and change.key == TopicPartition(topic, partition)
                for run in _runs_between(_moment(since_ms) - _LONGEST_RUN, _moment(until_ms))
                if run.plan.cluster_id == cluster_id
                for change in run.changed()
            )
        except (AdminError, JournalError, SettingsError):
            return False


def _runs_between(since: datetime, until: datetime) -> Iterator[Run]:
    """Yield the runs of the user's journal that began between two times, the latest first."""
    journal = open_journal()
    for run_id in list_ids(journal):
        began_at = datetime.strptime(run_id.rpartition("-")[0], ID_TIME).replace(tzinfo=UTC)
        if began_at < since:
            return
        if began_at <= until:
            yield read_record(journal, run_id)


def _moment(at_ms: int) -> datetime:
    return datetime.fromtimestamp(at_ms / 1_000, UTC)
