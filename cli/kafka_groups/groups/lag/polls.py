"""Polls of lag: what they saw of each partition, as much of it as verdicts and rates need."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final, NamedTuple, TypeAlias

from kafka_groups.model import OffsetRow
from kafka_groups.verdicts import (
    COMPARED_POINTS,
    SAMPLE_POINTS,
    VERDICTS,
    Evidence,
    Rules,
    Sample,
    Verdict,
    Window,
    evidence_of,
    judge,
    judge_group,
    moved_window,
)

PartitionKey: TypeAlias = tuple[str, str, int]

RULES: Final = Rules()
# Points of a group's lag for the trend and the sparkline.
LAG_POINTS: Final = 30
# Two runs at once may end in another order; a time that is further ahead is that of a clock that was set back since.
_CLOCK_TOLERANCE_MS: Final = 60_000
_LAG_UNKNOWN: Final = Verdict(VERDICTS["lag_unknown"], "lag_unknown", 0.0)
# More than a verdict takes: a slow growth has to be distinguished from the step of one commit.
_MOVES: Final = 30


class PartitionPolls(NamedTuple):
    """The samples of a partition that matter: the first one of each of the last offsets, and the last one.

    `ends` are the last log end offsets, one for each sample. `fallen` is a later sample with a lower log end, which is
    in none of them: the answer of a broker that was no longer the leader, or the first one of another log.
    """

    moves: tuple[Sample, ...]
    ends: tuple[int, ...]
    last: Sample
    fallen: Sample | None = None

    def window(self, evidence: Evidence | None = None) -> Window:
        """Return the evidence at the last sample; `evidence` is the part of it that the moves give, if it is known."""
        return moved_window(evidence or evidence_of(self.moves, RULES), self.ends, self.last, RULES)


class GroupPace(NamedTuple):
    """What the polls of a group show: verdict, rates in messages a second, and when the lag is gone.

    A rate is None after one sample. `catch_up_ms` is None unless the group reads faster than producers write.
    `trend` is the change of the lag over the kept points.
    """

    verdict: Verdict
    consume_rate: float | None
    produce_rate: float | None
    catch_up_ms: int | None
    trend: int | None
    lags: tuple[int, ...]


@dataclass
class Polls:
    """The polls of a cluster: what they saw of each group."""

    partitions: dict[PartitionKey, PartitionPolls] = field(default_factory=dict)
    lags: dict[str, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    # The number of polls that ended since the file was read.
    ended: int = field(default=0, compare=False)
    # What the moves of a partition give, which most polls leave as they are.
    _evidence: dict[PartitionKey, tuple[tuple[Sample, ...], Evidence]] = field(
        default_factory=dict, repr=False, compare=False
    )
    # The partitions with a commit in the current poll.
    _committed: set[PartitionKey] = field(default_factory=set, repr=False, compare=False)

    def observe(self, rows: Iterable[OffsetRow], at_ms: int) -> None:
        """Add what a poll saw at a time; a time before the last one is ignored, unless the clock was set back.

        A group with a log end that is unknown, or lower than before, has no lag in total.
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
                continue
            totals[row.group] = totals.get(row.group, 0) + max(0, row.log_end_offset - row.committed_offset)
            start = row.log_start_offset
            if start is None:
                start = _last_start(self.partitions.get(key), row.log_end_offset)
            deleted_until = start if start > row.committed_offset else 0
            sample = Sample(row.committed_offset, row.log_end_offset, at_ms, deleted_until)
            self.partitions[key] = seen = _add(self.partitions.get(key), sample)
            if seen.fallen is not None:
                incomplete.add(row.group)
        for group, lag in totals.items():
            before = self.lags.get(group, ())
            if before and _is_from_the_future(before[-1][0], at_ms):
                before = ()
            if group not in incomplete and (not before or before[-1][0] < at_ms):
                self.lags[group] = (*before, (at_ms, lag))[-LAG_POINTS:]

    def end_poll(self, groups: Iterable[str], *, unread: Collection[PartitionKey] = (), is_complete: bool) -> None:
        """Forget what was deleted, after a poll that read these groups: commits, except those that were not read.

        If the poll was complete, it read all groups of the cluster, and the others were deleted, too.
        """
        self.ended += 1
        kept = {*self._committed, *unread}
        self._committed = set()
        if self.partitions.keys() <= kept:
            return
        read = set(groups)
        self.partitions = {
            key: found
            for key, found in self.partitions.items()
            if key in kept or (key[0] not in read and not is_complete)
        }
        known = {group for group, _, _ in self.partitions}
        self.lags = {group: lags for group, lags in self.lags.items() if group in known}

    def paces(self) -> Mapping[str, GroupPace]:
        """Return the pace of each group."""
        by_group: dict[str, list[tuple[PartitionPolls, Verdict]]] = {}
        known, self._evidence = self._evidence, {}
        for key, found in self.partitions.items():
            moves, evidence = known.get(key, (None, None))
            if moves is not found.moves or evidence is None:
                evidence = evidence_of(found.moves, RULES)
            self._evidence[key] = (found.moves, evidence)
            by_group.setdefault(key[0], []).append((found, _judge(found, evidence)))
        return {group: _pace(found, self.lags.get(group, ())) for group, found in by_group.items()}

    def moved_ms(self) -> Mapping[str, int]:
        """Return when each group's commits were first seen as they are now."""
        moved: dict[str, int] = {}
        for (group, _, _), found in self.partitions.items():
            moved[group] = max(moved.get(group, 0), found.moves[-1].at_ms)
        return moved


def pace_without_samples(*, is_incomplete: bool) -> GroupPace:
    """Return the pace of a group without a sample: it has no commit, or no log end is known."""
    verdict = _LAG_UNKNOWN if is_incomplete else judge_group(())
    return GroupPace(verdict, None, None, None, None, ())


def _add(before: PartitionPolls | None, sample: Sample) -> PartitionPolls:
    if before is not None and _is_from_the_future(before.last.at_ms, sample.at_ms):
        before = None
    if before is None:
        return PartitionPolls((sample,), (sample.end,), sample)
    if sample.at_ms <= (before.fallen or before.last).at_ms:
        return before
    if sample.end < before.last.end:
        # A log end that stays lower is the one of another log: the topic was recreated. Once may be a stale answer.
        return before._replace(fallen=sample) if before.fallen is None else _add(_add(None, before.fallen), sample)
    moves = before.moves if sample.offset == before.last.offset else (*before.moves, sample)[-_MOVES:]
    return PartitionPolls(moves, (*before.ends, sample.end)[-RULES.intervals :], sample)


def _last_start(partition: PartitionPolls | None, end: int) -> int:
    """Return the last known log start above a commit, which no log start of the same log is below; 0 if there is none.

    A log start above the log end is that of another log.
    """
    start = 0 if partition is None else (partition.fallen or partition.last).start
    return start if start <= end else 0


def _judge(partition: PartitionPolls, evidence: Evidence) -> Verdict:
    """Return the verdict on what can still be read, without WARN for a growth that one commit explains.

    If a group commits about as often as it is polled, each poll sees another part of the time between two commits: the
    lag that it sees grows by up to one commit, although the group keeps up.
    """
    verdict = judge(partition.window(evidence), RULES)
    if partition.last.offset > partition.last.end:
        # Nobody knows what the group has read: the topic was recreated, or its log was truncated.
        return verdict._replace(status=VERDICTS["lag_unknown"], rule="lag_unknown")
    if verdict.rule != "falling_behind" or _has_outgrown_a_commit(partition.moves):
        return verdict
    return verdict._replace(status=VERDICTS["keeping_up"], rule="keeping_up")


def _has_outgrown_a_commit(moves: Sequence[Sample]) -> bool:
    """Return whether the lag has grown by more than the largest commit since it was lowest, as means of a few polls."""
    lags = [max(0, move.lag) for move in moves]
    sums = [sum(lags[at : at + COMPARED_POINTS]) for at in range(len(lags) - COMPARED_POINTS + 1)]
    lowest = min(sums)
    since = moves[len(sums) - 1 - sums[::-1].index(lowest) :]
    largest = max(after.offset - before.offset for before, after in pairwise(since))
    return sums[-1] - lowest > COMPARED_POINTS * largest


def _is_from_the_future(before_ms: int, at_ms: int) -> bool:
    return before_ms - at_ms > _CLOCK_TOLERANCE_MS


def _pace(judged: Sequence[tuple[PartitionPolls, Verdict]], lags: tuple[tuple[int, int], ...]) -> GroupPace:
    verdict = judge_group(verdict for _, verdict in judged)
    consumed, produced = _rates([partition for partition, _ in judged])
    lag = lags[-1][1] if lags else 0
    catch_up_ms = None
    if consumed is not None and produced is not None and consumed > produced and lag > 0:
        catch_up_ms = round(1000 * lag / (consumed - produced))
    trend = lags[-1][1] - lags[0][1] if len(lags) > 1 else None
    return GroupPace(verdict, consumed, produced, catch_up_ms, trend, tuple(lag for _, lag in lags))


def _rates(partitions: Iterable[PartitionPolls]) -> tuple[float | None, float | None]:
    """Return how much is committed and how much is produced, in messages a second; None after one sample."""
    consumed, produced = [], []
    for each in partitions:
        first, last = each.moves[-SAMPLE_POINTS:][0], each.last
        if (elapsed := last.at_ms - first.at_ms) > 0:
            consumed.append(1000 * (last.offset - first.offset) / elapsed)
            produced.append(1000 * (last.end - first.end) / elapsed)
    return (round(sum(consumed), 1), round(sum(produced), 1)) if consumed else (None, None)
