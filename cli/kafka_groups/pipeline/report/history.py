"""A report of the pipeline as frozen data: groups with their history, and findings.

Times are milliseconds since 1970, UTC.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol, TypeVar


class LagPoint(NamedTuple):
    """A group's lag at one time: the sum over its partitions, and their longest time lag."""

    at_ms: int
    lag: int | None
    time_lag_ms: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Rebalance:
    """A rebalance. `duration_quality` is exact, bound (an upper bound), overtaken (until the next), open or unknown.

    An open rebalance had not ended by the end (UTC) of the day after it began; later records are not read for it. The
    quality is unknown if it is not known whether the rebalance ended by then. `joined` and `left` are numbers of
    members, or None if unknown.
    """

    started_ms: int
    ended_ms: int | None
    duration_ms: int | None
    duration_quality: str
    generation: int
    joined: int | None
    left: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupHistory:
    """A group: its state at the end of the period, and its history. Points and rebalances ascend in time.

    - `verdict` is OK, WARN, STOP, STALL or REWIND, and `rule` the rule that gave it. Without commits to judge, the
      verdict is OK by the rule `no_commits`. Both are None without a lag: no log end offset of a committed partition is
      known, or all commits were removed.
    - `is_unused`: the group is empty, and has committed nothing for a day. Such groups come after the others.
    - `lag_quality` is exact, lower_bound (some log end offsets are unknown), outdated (the coordinator did not respond:
      the commits are older) or unknown (no lag).
    - `evaluated_ms` is the time of lag and verdict, None without them.
    - `removed_ms` is the time at which the group was removed, if it was not seen again. With `removed_is_bound` it is
      an upper bound: the time of the first sample without the group.
    - Rates are records per second.
    - `time_lag_quality` is exact, interpolated, compacted, lower_bound, data_loss or unknown.
    - With `lagging_since_is_bound`, the lag began at that time or earlier.
    - `rebalances` is None if unknown: no record of the cluster was read in the period, or the group's type has none.
    """

    cluster_id: str
    group: str
    state: str | None
    members: int | None
    verdict: str | None
    rule: str | None
    evaluated_ms: int | None
    removed_ms: int | None
    removed_is_bound: bool
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


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """A finding: `kind` is idle_group, orphaned_commit, unread_topic, skew or retention_risk."""

    kind: str
    cluster_id: str
    group: str | None
    topic: str | None
    message: str


@dataclass(frozen=True, kw_only=True, slots=True)
class History:
    """A report: groups, the worst first; findings; and missing data.

    - `groups_in_all` is the number of groups, including those that are not in `groups`.
    - `unknown` are the requested ids without data in the period, `nearest` the known ids that are near to them.
    - `evaluated_ms` is the time of the newest lag.
    - `missing` and `gaps` are whole sentences, such as "no end offsets were sampled before …" and "partition 3 of
      __consumer_offsets: 120 offsets …".
    """

    made_ms: int
    from_ms: int
    to_ms: int
    evaluated_ms: int | None
    clusters: tuple[str, ...]
    groups: tuple[GroupHistory, ...]
    groups_in_all: int
    unknown: tuple[str, ...]
    findings: tuple[Finding, ...]
    gaps: tuple[str, ...]
    missing: tuple[str, ...]
    nearest: Mapping[str, str] = field(default_factory=dict)

    def within(self, cut: Cut) -> History:
        """Return the history with only the groups that the cut keeps."""
        return replace(self, groups=tuple(cut.of(self.groups)))


class _Ranked(Protocol):
    """A group in the order of a report."""

    @property
    def group(self) -> str: ...

    @property
    def removed_ms(self) -> int | None: ...


_R = TypeVar("_R", bound=_Ranked)


@dataclass(frozen=True, slots=True)
class Cut:
    """A limit of groups: the first `most` existing groups, and the first `most` removed groups; None is no limit.

    Groups whose ids are in `spared` are kept in addition, and do not count.
    """

    most: int | None = None
    spared: frozenset[str] = frozenset()

    def of(self, groups: Iterable[_R]) -> list[_R]:
        """Return the groups that the cut keeps, in their order."""
        counts: Counter[bool] = Counter()
        kept = []
        for group in groups:
            if group.group not in self.spared:
                is_removed = group.removed_ms is not None
                counts[is_removed] += 1
                if self.most is not None and counts[is_removed] > self.most:
                    continue
            kept.append(group)
        return kept
