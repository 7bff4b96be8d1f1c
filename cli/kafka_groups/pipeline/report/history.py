"""A report of the pipeline as frozen data: groups with their history, and findings.

Times are milliseconds since 1970, UTC.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from kafka_groups.pipeline.report.limits import GroupLimit
from kafka_groups.pipeline.report.member_tasks import GroupTasks

_OLD_MS: Final = 600_000


class LagPoint(NamedTuple):
    """A group's lag at one time: the sum over its partitions, and their longest time lag."""

    at_ms: int
    lag: int | None
    time_lag_ms: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Rebalance:
    """A rebalance. Times are milliseconds since 1970.

    `duration_quality` is one of:
    - exact; bound: an upper bound; timeout: an upper bound derived from the members' rebalance timeout;
    - overtaken: the next rebalance began first, and the duration lasts until then;
    - open: the rebalance had not ended by the end (UTC) of the day after it began; later records are not read for it;
    - unknown: it is unknown whether the rebalance had ended by then.

    `joined` and `left` are numbers of members; None if unknown.
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

    - `verdict` is the worst verdict of a partition, `rule` the rule that gave it, and `verdict_since_ms` the time when
      it began on the first of the partitions that have it now (OK: on the last of all). All are None without a lag: no
      log end offset of a committed partition is known, or all commits were deleted.
    - `is_unused` is true if the group is empty and has committed nothing for a day. Unused groups follow the others.
    - `lag_quality` is exact, lower_bound (some log end offsets are unknown), outdated (the coordinator did not respond,
      so the commits are older) or unknown (no lag).
    - `evaluated_ms` is the time of lag and verdict; None without them.
    - `deleted_ms` is the time at which the group was deleted; None if it was not, or was seen again. With
      `deleted_is_bound`, it is an upper bound: the time of the first sample without the group.
    - Rates are records per second.
    - `time_lag_quality` is exact, interpolated, lower_bound, data_loss or unknown.
    - With `lagging_since_is_bound`, the lag began at that time or earlier.
    - `rebalancing_ms` is a lower bound of how long the open rebalance has lasted; None if no rebalance is open.
    - `rebalances` is None if unknown: no record of the cluster was read in the period.
    - `tasks` are what the members of a Connect or streams group run, or ran last before the period. None for other
      groups, and if no row shows it.
    """

    cluster_id: str
    group: str
    state: str | None
    member_count: int | None
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
    tasks: GroupTasks | None = None

    @property
    def longest_rebalance(self) -> Rebalance | None:
        """The longest rebalance whose duration the records show; None if there is none.

        A duration that only the members' rebalance timeout bounds does not count.
        """
        measured_rebalances = [
            rebalance
            for rebalance in self.rebalances or ()
            if rebalance.duration_ms is not None and rebalance.duration_quality != "timeout"
        ]
        return max(measured_rebalances, key=_duration_of, default=None)


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """A finding on a group, on a topic (`group` is None), or on a cluster (both are None).

    `kind` is retention_risk, clock_difference, orphaned_commit, idle_group, unread_topic, skew or known_reset.
    """

    kind: str
    cluster_id: str
    group: str | None
    topic: str | None
    message: str


@dataclass(frozen=True, kw_only=True, slots=True)
class History:
    """A report: groups, the worst first; findings; and missing data.

    - `groups` are the groups that the report shows; `selected` are all selected groups, without points and rebalances.
    - `unknown` are the requested ids without data in the period; `nearest` has a similar known id for some of them.
    - `evaluated_ms` is the time of the newest lag; None if no lag is known.
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
        """The number of selected groups, including those that the report does not show."""
        return len(self.selected)

    def limited_to(self, limit: GroupLimit) -> History:
        """Return the history with only the groups that the limit keeps; `groups_in_all` stays the same."""
        return replace(self, groups=tuple(limit.first(self.groups)))

    def has_old_row(self, group: GroupHistory) -> bool:
        """Return whether the group's last row is more than ten minutes older than the newest row of the report.

        Smaller differences are normal: brokers are sampled one after another, and a sample may be missed.
        """
        if group.evaluated_ms is None or self.evaluated_ms is None:
            return False
        return self.evaluated_ms - group.evaluated_ms > _OLD_MS
