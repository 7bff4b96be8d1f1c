"""The rows of lag: the lag of a group, or of a part of it, and their order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, Final, NamedTuple

from kafka_groups.admin.api import IsolationLevel
from kafka_groups.groups.lag.time_lag import TIME_NOTES

BEYOND_END: Final = "beyond_end"
DATA_LOSS: Final = "data_loss"
INCOMPLETE: Final = "incomplete"
UNKNOWN_ASSIGNMENT: Final = "unknown_assignment"
# All words that a note may have.
NOTES: Final = (DATA_LOSS, BEYOND_END, INCOMPLETE, UNKNOWN_ASSIGNMENT, *TIME_NOTES)
# The names of isolation levels, as in Kafka's isolation.level.
ISOLATION_LEVELS: Final = {IsolationLevel.READ_UNCOMMITTED: "uncommitted", IsolationLevel.READ_COMMITTED: "committed"}


class LagKey(StrEnum):
    """What one row of lag is for."""

    GROUP = "group"
    TOPIC = "topic"
    MEMBER = "member"
    PARTITION = "partition"


class LagRow(NamedTuple):
    """The lag of a group, or of a part of it; what does not apply, or is unknown, is None.

    `lag` is the number of messages between the commits and the log ends, of the partitions where both are known;
    `readable_lag` is the part of it that retention has not deleted. `messages_lost` were deleted before the group read
    them; if a log start is unknown, only a number above 0 is known, of the other partitions. `retention_margin` is the
    number of messages between the log start and the commit, the smallest of the partitions that still have messages
    to read; `retention_margin_percent` is the smallest share of a log of these. `uncommitted_partitions` is None if a
    member may own partitions that are unknown. `note` has some of these words: `data_loss` (a commit below the log
    start), `beyond_end` (a commit above the log end), `incomplete` (a log end or log start is unknown),
    `unknown_assignment` (partitions of a member are unknown), and those of `time_lag`. The time lag is None unless it
    was measured. `isolation` is the level of the log ends: that of consumers that read uncommitted messages, or only
    committed ones. The coordinator of a share group computes its lag, always to the log end. `partitions_behind` is
    None if no lag of a share group is known. `type` is that of the group.
    """

    group: str
    state: str | None
    members: int | None
    topic: str | None
    partition: int | None
    member_id: str | None
    host: str | None
    client_id: str | None
    committed_offset: int | None
    log_start_offset: int | None
    log_end_offset: int | None
    lag: int | None
    partitions_behind: int | None
    uncommitted_partitions: int | None
    messages_lost: int | None
    retention_margin: int | None
    retention_margin_percent: float | None
    note: tuple[str, ...]
    isolation: str = "uncommitted"
    consume_rate: float | None = None
    produce_rate: float | None = None
    trend: int | None = None
    catch_up_ms: int | None = None
    verdict: str | None = None
    rule: str | None = None
    verdict_since: int | None = None
    lags: tuple[int, ...] = ()
    at: str | None = None
    time_lag_ms: int | None = None
    time_lag_quality: str | None = None
    readable_lag: int | None = None
    type: str | None = None

    @property
    def time_lag_s(self) -> float | None:
        """Return the time lag in seconds."""
        return None if self.time_lag_ms is None else self.time_lag_ms / 1000

    def condition_values(self) -> Mapping[str, Any]:
        """Return the values that a condition compares, by field."""
        return {**self._asdict(), "time_lag": self.time_lag_ms}


def sort_worst_first(rows: Iterable[LagRow]) -> list[LagRow]:
    """Return rows by lag, the largest first and unknown ones last; then by group, topic, partition and member."""
    return sorted(rows, key=order_of)


def order_of(row: LagRow) -> tuple[object, ...]:
    """Return the key by which rows are sorted, those that are furthest behind first."""
    is_unknown = row.lag is None
    names = (row.group, row.topic or "", -1 if row.partition is None else row.partition, row.member_id or "")
    return (is_unknown, -(row.lag or 0), -(row.uncommitted_partitions or 0), *names)
