"""A report of the pipeline as frozen data: groups with their history, and findings.

Times are milliseconds since 1970, UTC.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from kafka_groups.pipeline.report.limits import GroupLimit

_OLD_MS: Final = 600_000


class LagPoint(NamedTuple):
    """A group's lag at one time: the sum over its partitions, and their longest time lag."""

    at_ms: int
    lag: int | None
    time_lag_ms: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Rebalance:
    """A rebalance. Times are milliseconds since 1970.

    `duration_quality` is exact, bound (an upper bound), timeout (an upper bound that follows only from the members'
    timeout), overtaken (until the next rebalance began), open or unknown. An open rebalance had not ended by the end
    (UTC) of the day after it began; later records are not read for it. The quality is unknown if it is not known
    whether the rebalance ended by then. `joined` and `left` are numbers of members, or None if unknown.
    """

    started_ms: int
    ended_ms: int | None
    duration_ms: int | None
    duration_quality: str
    generation: int
    joined: int | None
    left: int | None


def _duration_of(rebalance: Rebalance) -> int:
    return rebalance.duration_ms or 0


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupHistory:
    """A group: its state at the end of the period, and its history. Points and rebalances ascend in time.

    - `verdict` is the worst one of the partitions, `rule` the rule that gave it, and `verdict_since_ms` the time since
      which it has been given. All are None without a lag: no log end offset of a committed partition is known, or all
      commits were deleted.
    - `is_unused`: the group is empty, and has committed nothing for a day. These groups come after the others.
    - `lag_quality` is exact, lower_bound (some log end offsets are unknown), outdated (the coordinator did not respond:
      the commits are older) or unknown (no lag).
    - `evaluated_ms` is the time of lag and verdict, None without them.
    - `deleted_ms` is the time at which the group was deleted, if it was not seen again. With `deleted_is_bound` it is
      an upper bound: the time of the first sample without the group.
    - Rates are records per second.
    - `time_lag_quality` is exact, interpolated, lower_bound, data_loss or unknown.
    - With `lagging_since_is_bound`, the lag began at that time or earlier.
    - `rebalancing_ms` is how long the rebalance in progress has lasted at least; None if none is known to be.
    - `rebalances` is None if unknown: no record of the cluster was read in the period, or the group's type has none.
    """

    cluster_id: str
    group: str
    state: str | None
    members: int | None
    verdict: str | None
    rule: str | None
    verdict_since_ms: int | None
    evaluated_ms: int | None
    deleted_ms: int | None
    deleted_is_bound: bool
    is_unused: bool = False
    lag: int | None
    lag_quality: str
    time_lag_ms: int | None
    time_lag_quality: str
    consume_rate: float | None
    produce_rate: float | None
    catch_up_ms: int | None
    lagging_since_ms: int | None
    lagging_since_is_bound: bool
    points: tuple[LagPoint, ...]
    rebalances: tuple[Rebalance, ...] | None
    rebalancing_ms: int | None = None

    @property
    def longest_rebalance(self) -> Rebalance | None:
        """The rebalance that took longest, of those whose duration the records show; None without any.

        A members' timeout as an upper bound says nothing about the duration.
        """
        known = [each for each in self.rebalances or () if each.duration_ms is not None]
        return max((each for each in known if each.duration_quality != "timeout"), key=_duration_of, default=None)


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """A finding on a group, on a topic (`group` is None), or on a cluster (both are None).

    `kind` is retention_risk, clock_difference, orphaned_commit, idle_group, unread_topic or skew.
    """

    kind: str
    cluster_id: str
    group: str | None
    topic: str | None
    message: str


@dataclass(frozen=True, kw_only=True, slots=True)
class History:
    """A report: groups, the worst first; findings; and missing data.

    - `selected` are all selected groups, also those that are not in `groups`, without points and rebalances.
    - `unknown` are the requested ids without data in the period, `nearest` the known ids that are near to them.
    - `evaluated_ms` is the time of the newest lag.
    - `missing` and `gaps` are complete sentences, such as "No log end offsets are known before …" and "Partition 3 of
      __consumer_offsets: 120 offsets …".
    """

    made_ms: int
    from_ms: int
    to_ms: int
    evaluated_ms: int | None
    clusters: tuple[str, ...]
    groups: tuple[GroupHistory, ...]
    selected: tuple[GroupHistory, ...]
    unknown: tuple[str, ...]
    findings: tuple[Finding, ...]
    gaps: tuple[str, ...]
    missing: tuple[str, ...]
    nearest: Mapping[str, str] = field(default_factory=dict)

    @property
    def groups_in_all(self) -> int:
        """The number of selected groups, also those that are not in `groups`."""
        return len(self.selected)

    def limited_to(self, limit: GroupLimit) -> History:
        """Return the history with only those groups that the limit keeps; it still counts all groups."""
        return replace(self, groups=tuple(limit.first(self.groups)))

    def has_old_row(self, group: GroupHistory) -> bool:
        """Return whether the row of the group is more than ten minutes older than the newest of the report.

        Brokers are sampled one after the other, and a sample may be missed. Such a row is not old.
        """
        if group.evaluated_ms is None or self.evaluated_ms is None:
            return False
        return self.evaluated_ms - group.evaluated_ms > _OLD_MS
