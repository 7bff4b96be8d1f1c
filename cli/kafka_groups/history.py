"""What the pipeline's tables tell of the past, as frozen answers. Times are milliseconds since 1970, UTC."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol, TypeVar


class LagPoint(NamedTuple):
    """A group's lag at one time: the sum over its partitions, and the longest time lag of them."""

    at_ms: int
    lag: int | None
    time_lag_ms: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Rebalance:
    """One rebalance. `duration_quality` is exact, bound (no longer than that), overtaken (until the next) or open.

    An open one had not ended by the end of the day after it began (UTC), from when on nothing is looked at. Where not
    even that is known, the quality is unknown. `joined` and `left` count members; None where that is not known.
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
    """One group: how it stands at the end of the period, and how it came there; points and rebalances ascend in time.

    `verdict` is OK, WARN, STOP, STALL or REWIND, `rule` the rule that gave it; without commits to judge it is OK, by
    `no_commits`. Both are None without a lag: where no log end is known of what it committed on, or where all that it
    committed was removed. `lag_quality` is exact, lower_bound (the log ends of some partitions are not known), outdated
    (its coordinator did not answer: the commits are from before) or unknown (no lag). `evaluated_ms` is the time that
    they and the lag are of (None without them). A group with `removed_ms` was removed then (with `removed_is_bound` at
    some time before: the first sample that missed it is of then) and not seen since. Rates are records a second.
    `time_lag_quality` is one of the contract's names. With `lagging_since_is_bound` the lag is older than what is known
    of the period, or begins with it. `rebalances` are None where they are not known: no record of the cluster was read
    in the period, or the group's kind tells none.
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
    """Something that deserves a look: `kind` is idle_group, orphaned_commit, unread_topic, skew or retention_risk."""

    kind: str
    cluster_id: str
    group: str | None
    topic: str | None
    message: str


@dataclass(frozen=True, kw_only=True, slots=True)
class History:
    """A report: the worst groups first, what was found, and what the tables do not hold.

    `groups_in_all` counts those that were left out, too; `unknown` are ids that were asked for and that no table tells
    of in the period. `evaluated_ms` is the newest time that any lag is of. `missing` are whole sentences
    ("no end offsets were sampled before …"), `gaps` too ("partition 3 of __consumer_offsets: 120 offsets …").
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

    def within(self, cut: Cut) -> History:
        """The same with fewer groups."""
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
    """How many groups a report has: the first `most` of those that are there, and as many of those that were removed.

    None is all of them. Groups whose ids are `spared` are kept besides, and count for nothing.
    """

    most: int | None = None
    spared: frozenset[str] = frozenset()

    def of(self, groups: Iterable[_R]) -> list[_R]:
        """Those that are kept, in their order."""
        taken: Counter[bool] = Counter()
        kept = []
        for one in groups:
            if one.group not in self.spared:
                is_removed = one.removed_ms is not None
                taken[is_removed] += 1
                if self.most is not None and taken[is_removed] > self.most:
                    continue
            kept.append(one)
        return kept
