"""Polls of lag: what they saw of each partition, as much of it as verdicts and rates need."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

from kafka_groups.groups.lag.progress import Observation, Progress, evidence_of, observe
from kafka_groups.groups.lag.resets import KnownReset
from kafka_groups.groups.lag.retention import UNKNOWN_RETENTION, Retention
from kafka_groups.model import OffsetRow
from kafka_groups.verdicts import VERDICT_OF, Limits, Verdict, judge, judge_group

PartitionKey: TypeAlias = tuple[str, str, int]

# Points of a group's lag for the trend and the sparkline.
LAG_POINTS: Final = 30
# Two runs at once may end in another order; a time that is further ahead is that of a clock that was set back since.
_CLOCK_TOLERANCE_MS: Final = 60_000
_LAG_UNKNOWN: Final = Verdict(VERDICT_OF["lag_unknown"], "lag_unknown")
# Rates are over the time since the first of this number of moves.
_MOVES: Final = 12


class PartitionPolls(NamedTuple):
    """What polls saw of a partition: the first observation of each of the last offsets, and the last one.

    `progress` and `verdict` are those at the last observation. `fallen` is a later one with a lower log end, which is
    in none of the others: the answer of a broker that was no longer the leader, or the first one of another log.
    """

    moves: tuple[Observation, ...]
    last: Observation
    progress: Progress
    verdict: Verdict
    fallen: Observation | None = None


class GroupPace(NamedTuple):
    """What the polls of a group show: verdict, rates in messages a second, and when the lag is gone.

    A rate is None after one poll. `catch_up_ms` is None unless the group reads faster than producers write.
    `trend` is the change of the lag over the kept points.
    """

    verdict: Verdict
    consume_rate: float | None
    produce_rate: float | None
    catch_up_ms: int | None
    trend: int | None
    lags: tuple[int, ...]


def _know_no_retention(_row: OffsetRow) -> Retention:
    return UNKNOWN_RETENTION


def _know_no_run(_key: PartitionKey, _offset: int, _since_ms: int, _until_ms: int) -> str | None:
    return None


@dataclass
class Polls:
    """The polls of a cluster: what they saw of each group."""

    partitions: dict[PartitionKey, PartitionPolls] = field(default_factory=dict)
    lags: dict[str, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits, compare=False)
    # Return the id of a run that reset the commit of a partition to an offset, or below it, between two times (ms since
    # 1970); None if the caller knows of none.
    find_reset_run: Callable[[PartitionKey, int, int, int], str | None] = field(
        default=_know_no_run, repr=False, compare=False
    )
    # The number of polls that ended since the file was read.
    ended: int = field(default=0, compare=False)
    # The known resets that the last ended poll was the first one to see.
    resets: tuple[KnownReset, ...] = field(default=(), compare=False)
    # The verdicts of the last ended poll, and of the current one, on groups whose progress no offset shows.
    _judged: dict[str, Verdict] = field(default_factory=dict, repr=False, compare=False)
    _judging: dict[str, Verdict] = field(default_factory=dict, repr=False, compare=False)
    # The groups of the partitions.
    _groups: set[str] = field(init=False, repr=False, compare=False)
    # The partitions with a commit in the current poll, and the known resets that it has seen until now.
    _committed: set[PartitionKey] = field(default_factory=set, repr=False, compare=False)
    _seen_resets: list[KnownReset] = field(default_factory=list, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Collect the groups of the partitions."""
        self._groups = {group for group, _, _ in self.partitions}

    def observe(
        self,
        rows: Iterable[OffsetRow],
        at_ms: int,
        members: int | None = None,
        retention: Callable[[OffsetRow], Retention] = _know_no_retention,
    ) -> None:
        """Add what a poll saw at a time; a time before the last one is ignored, unless the clock was set back.

        `members` is the number of members of the group of these rows, None if unknown, and `retention` returns what is
        known of the retention of a row. A group with a log end that is unknown, or lower than before, has no lag in
        total.
        """
        totals: dict[str, int] = {}
        incomplete: set[str] = set()
        for row in rows:
            if row.committed_offset is None:
                continue
            key = (row.group, row.topic, row.partition)
            self._committed.add(key)
            if row.log_end_offset is None:
                incomplete.add(row.group)
                self._forget_verdict(key, at_ms)
                continue
            totals[row.group] = totals.get(row.group, 0) + max(0, row.log_end_offset - row.committed_offset)
            start = row.log_start_offset
            if start is None:
                start = _last_start(self.partitions.get(key), row.log_end_offset)
            deleted_until = start if start > row.committed_offset else 0
            observation = Observation(
                row.committed_offset, row.log_end_offset, at_ms, deleted_until, members, retention=retention(row)
            )
            before = self.partitions.get(key)
            if reset := self._find_reset(key, _previous(before, observation), observation):
                self._seen_resets.append(reset)
                observation = observation._replace(is_reset=True)
            self.partitions[key] = seen = _add(before, observation, self.limits)
            if seen.fallen is not None:
                incomplete.add(row.group)
        for group, lag in totals.items():
            if group not in self._groups:
                # Lags that it has already are those of a share group with this id.
                self._groups.add(group)
                self.lags.pop(group, None)
            self._add_lag(group, None if group in incomplete else lag, at_ms)

    def observe_judged(self, group: str, lag: int | None, at_ms: int, verdict: Verdict) -> None:
        """Add the lag of a group whose progress no offset shows, None if unknown, and the verdict on it."""
        self._judging[group] = verdict
        if group in self._groups:
            # A group with committed offsets had this id.
            self._groups.remove(group)
            self.partitions = {key: found for key, found in self.partitions.items() if key[0] != group}
            self.lags.pop(group, None)
        self._add_lag(group, lag, at_ms)

    def _add_lag(self, group: str, lag: int | None, at_ms: int) -> None:
        points = self.lags.get(group, ())
        if points and _is_from_the_future(points[-1][0], at_ms):
            points = ()
        if lag is not None and (not points or points[-1][0] < at_ms):
            self.lags[group] = (*points, (at_ms, lag))[-LAG_POINTS:]

    def _find_reset(self, key: PartitionKey, previous: Observation | None, seen: Observation) -> KnownReset | None:
        """Return the known reset between two observations; None if no offset fell, or a member may have done it."""
        if previous is None or seen.offset >= previous.offset:
            return None
        run_id = self.find_reset_run(key, seen.offset, previous.at_ms, seen.at_ms)
        if run_id is None and 0 not in (seen.members, previous.members):
            return None
        return KnownReset(*key, previous.offset, seen.offset, previous.at_ms, seen.at_ms, run_id)

    def _forget_verdict(self, key: PartitionKey, at_ms: int) -> None:
        """Give a partition whose log end is unknown now the verdict of an unknown lag."""
        polls = self.partitions.get(key)
        if polls is not None and polls.last.at_ms < at_ms:
            is_same = polls.verdict.verdict == _LAG_UNKNOWN.verdict
            since_ms = polls.verdict.since_ms if is_same else at_ms
            self.partitions[key] = polls._replace(verdict=_LAG_UNKNOWN._replace(since_ms=since_ms))

    def end_poll(self, groups: Iterable[str], *, unread: Collection[PartitionKey] = (), is_complete: bool) -> None:
        """Forget what was deleted, after a poll that read these groups: commits, except those that were not read.

        If the poll was complete, it read all groups of the cluster, and the others were deleted, too.
        """
        self.ended += 1
        self.resets = tuple(self._seen_resets)
        self._seen_resets = []
        kept = {*self._committed, *unread}
        self._committed = set()
        self._judged = self._judging
        self._judging = {}
        read = set(groups)
        if not self.partitions.keys() <= kept:
            self.partitions = {
                key: found
                for key, found in self.partitions.items()
                if key in kept or (key[0] not in read and not is_complete)
            }
            self._groups = {group for group, _, _ in self.partitions}
        unread_groups = () if is_complete else self.lags.keys() - read
        known = {*self._groups, *self._judged, *unread_groups}
        self.lags = {group: lags for group, lags in self.lags.items() if group in known}

    def paces(self) -> Mapping[str, GroupPace]:
        """Return the pace of each group; that of a group whose progress no offset shows is known once a poll ended."""
        by_group: dict[str, list[PartitionPolls]] = {}
        for key, found in self.partitions.items():
            by_group.setdefault(key[0], []).append(found)
        paces = {group: _pace(found, self.lags.get(group, ())) for group, found in by_group.items()}
        for group, verdict in self._judged.items():
            paces[group] = _pace((), self.lags.get(group, ()))._replace(verdict=verdict)
        return paces

    def moved_ms(self) -> Mapping[str, int]:
        """Return when each group's commits were first seen as they are now."""
        moved: dict[str, int] = {}
        for (group, _, _), found in self.partitions.items():
            moved[group] = max(moved.get(group, 0), found.moves[-1].at_ms)
        return moved


def pace_without_polls(*, is_incomplete: bool) -> GroupPace:
    """Return the pace of a group without an observation: it has no commit, or no log end is known."""
    verdict = _LAG_UNKNOWN if is_incomplete else judge_group(())
    return GroupPace(verdict, None, None, None, None, ())


def _add(before: PartitionPolls | None, seen: Observation, limits: Limits) -> PartitionPolls:
    """Return the polls of a partition with an observation, which is ignored if it is not later than the others."""
    if before is None or _is_from_the_future(before.last.at_ms, seen.at_ms):
        return _begin(seen, None, limits)
    if seen.at_ms <= (before.fallen or before.last).at_ms:
        return before
    if seen.end < before.last.end:
        # A log end that stays lower is the one of another log: the topic was recreated. Once may be a stale answer.
        if before.fallen is None:
            return before._replace(fallen=seen)
        return _add(_begin(before.fallen, before.verdict, limits), seen, limits)
    moves = before.moves if seen.offset == before.last.offset else (*before.moves, seen)[-_MOVES:]
    progress = observe(before.progress, before.last, seen, limits)
    return _with_verdict(moves, seen, progress, before.verdict, limits)


def _previous(before: PartitionPolls | None, seen: Observation) -> Observation | None:
    """Return the observation of the same log that `_add` compares a new one with.

    It is None for the first observation of a log, and for one that is ignored or set aside.
    """
    if before is None or _is_from_the_future(before.last.at_ms, seen.at_ms):
        return None
    if seen.at_ms <= (before.fallen or before.last).at_ms:
        return None
    return before.last if seen.end >= before.last.end else before.fallen


def _begin(first: Observation, before: Verdict | None, limits: Limits) -> PartitionPolls:
    """Return the polls of a log that begin with an observation; `before` is the verdict on an earlier log, if any."""
    return _with_verdict((first,), first, observe(None, first, first, limits), before, limits)


def _with_verdict(
    moves: tuple[Observation, ...], last: Observation, progress: Progress, before: Verdict | None, limits: Limits
) -> PartitionPolls:
    """Return the polls with the verdict at their last observation; `before` is the verdict before it."""
    rule = judge(evidence_of(progress, last), limits)
    verdict = VERDICT_OF[rule]
    is_same = before is not None and before.verdict == verdict
    since_ms = before.since_ms if before is not None and is_same else last.at_ms
    return PartitionPolls(moves, last, progress, Verdict(verdict, rule, since_ms))


def _last_start(partition: PartitionPolls | None, end: int) -> int:
    """Return the last known log start above a commit, which no log start of the same log is below; 0 if there is none.

    A log start above the log end is that of another log.
    """
    start = 0 if partition is None else (partition.fallen or partition.last).start
    return start if start <= end else 0


def _is_from_the_future(before_ms: int, at_ms: int) -> bool:
    return before_ms - at_ms > _CLOCK_TOLERANCE_MS


def _pace(partitions: Sequence[PartitionPolls], lags: tuple[tuple[int, int], ...]) -> GroupPace:
    verdict = judge_group(partition.verdict for partition in partitions)
    consumed, produced = _rates(partitions)
    lag = lags[-1][1] if lags else 0
    catch_up_ms = None
    if consumed is not None and produced is not None and consumed > produced and lag > 0:
        catch_up_ms = round(1000 * lag / (consumed - produced))
    trend = lags[-1][1] - lags[0][1] if len(lags) > 1 else None
    return GroupPace(verdict, consumed, produced, catch_up_ms, trend, tuple(lag for _, lag in lags))


def _rates(partitions: Iterable[PartitionPolls]) -> tuple[float | None, float | None]:
    """Return how much is committed and how much is produced, in messages a second; None after one observation."""
    consumed = []
    produced = []
    for each in partitions:
        first = each.moves[0]
        last = each.last
        if (elapsed := last.at_ms - first.at_ms) > 0:
            consumed.append(1000 * (last.offset - first.offset) / elapsed)
            produced.append(1000 * (last.end - first.end) / elapsed)
    return (round(sum(consumed), 1), round(sum(produced), 1)) if consumed else (None, None)
