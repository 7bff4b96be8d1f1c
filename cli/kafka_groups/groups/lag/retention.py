"""The retention of topics: after which age their records are deleted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from kafka_groups.admin.api import Admin, Deadline
from kafka_groups.groups.lag.time_lag import TimeLags
from kafka_groups.groups.notes import Note, NoteKind
from kafka_groups.model import Failure

RETENTION: Final = "retention.ms"
CLEANUP_POLICY: Final = "cleanup.policy"
_DELETE: Final = "delete"
# Notes on different errors of a poll.
_MAX_REASONS: Final = 3


class Retention(NamedTuple):
    """The retention of a topic, and how long it still keeps the record at a commit, in ms; None if unknown.

    `is_caught_up` says that no record is behind the commit, only markers of transactions or gaps of compaction.
    """

    topic_ms: int | None = None
    left_ms: int | None = None
    is_caught_up: bool = False


UNKNOWN_RETENTION: Final = Retention()


class Retentions(NamedTuple):
    """The retention of topics, in ms, and notes on why that of others is unknown.

    A topic is absent if its records are not deleted by age, or if its configuration could not be read.
    """

    by_topic: Mapping[str, int] = MappingProxyType({})
    notes: tuple[Note, ...] = ()


def read_retentions(admin: Admin, time_lags: TimeLags, *, deadline: Deadline | None = None) -> Retentions:
    """Return the retention of the topics with a record that is not processed.

    The configuration of a topic needs DESCRIBE_CONFIGS on it, and Kafka 1.1.
    """
    topics = dict.fromkeys(position.topic for position, time_lag in time_lags.items() if time_lag.ms)
    if not topics:
        return Retentions()
    read = admin.describe_topic_configs(topics, (RETENTION, CLEANUP_POLICY), timeout=deadline)
    retentions_ms = {topic: _retention_of(values) for topic, values in read.succeeded.items()}
    known_ms = {topic: retention_ms for topic, retention_ms in retentions_ms.items() if retention_ms is not None}
    return Retentions(known_ms, tuple(_note_failures(read.failed.values())))


def _note_failures(failures: Iterable[Failure]) -> list[Note]:
    """Return a note for each reason; a watch repeats no note, so that none has a number that changes."""
    reasons = dict.fromkeys(f"{failure.name}: {failure.message}" for failure in failures)
    text = "The retention of some topics is unknown, so no deletion of their records is forecast ({})."
    return [Note(NoteKind.RETENTION_UNKNOWN, None, text.format(reason)) for reason in [*reasons][:_MAX_REASONS]]


def _retention_of(values: Mapping[str, str | None]) -> int | None:
    """Return the retention of a topic in ms; None if its records are kept, or if it is unknown."""
    retention = values.get(RETENTION)
    if retention is None or _DELETE not in (values.get(CLEANUP_POLICY) or "").split(","):
        return None
    # -1 means that records are kept whatever their age is.
    return int(retention) if int(retention) >= 0 else None
