"""Numbers of group_daily and topic_daily as the tables describe them, for one day at a time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from itertools import pairwise
from typing import Final

from tests.pipeline.oracle.oracle_evidence import (
    Evidence,
    PartitionKey,
    ReaderKey,
    RecordedCommit,
    Row,
    SampledCommit,
)
from tests.pipeline.oracle.oracle_groups import StatusRow
from tests.pipeline.oracle.oracle_lag import last_commit

UNEVEN_FROM: Final = 1_000


def advances(evidence: Evidence, key: ReaderKey) -> Iterator[tuple[date, int]]:
    """Yield the offsets by which each commit advanced, with its day; nothing counts over a removal.

    Records come in the order of their offsets. Samples count before the first record of a day and after the last one.
    """
    records = evidence.records.get(key, ())
    samples = evidence.samples.get(key, ())
    previous: int | None = None
    for day in sorted({record.ordered_at.date() for record in records} | {sample.at.date() for sample in samples}):
        of_day = [record for record in records if record.ordered_at.date() == day]
        seen = [sample for sample in samples if sample.at.date() == day]
        before = [sample for sample in seen if of_day and sample.at < of_day[0].ordered_at]
        after = [sample for sample in seen if not of_day or sample.at > of_day[-1].ordered_at]
        groups: tuple[Sequence[RecordedCommit | SampledCommit], ...] = (before, of_day, after)
        for offset in (fact.offset for facts in groups for fact in facts):
            if previous is not None and offset is not None and offset > previous:
                yield day, offset - previous
            previous = offset


def consumed_by_day(evidence: Evidence) -> dict[tuple[ReaderKey, date], int]:
    """Return the offsets by which commits of each reader advanced on each day; days without are absent."""
    consumed: dict[tuple[ReaderKey, date], int] = defaultdict(int)
    for key in evidence.readers():
        for day, count in advances(evidence, key):
            consumed[key, day] += count
    return consumed


def end_of(day: date, like: datetime) -> datetime:
    """Return the last microsecond of a day, in the zone of another time."""
    return datetime.combine(day + timedelta(days=1), datetime.min.time(), like.tzinfo) - timedelta(microseconds=1)


def group_days(evidence: Evidence, statuses: Sequence[StatusRow], days: Sequence[date]) -> dict[tuple[str, date], Row]:
    """Return the documented numbers of each group and day; `days` are all dates of facts."""
    consumed = consumed_by_day(evidence)
    rows: dict[tuple[str, date], Row] = {}
    for group in sorted({key[0] for key in evidence.readers()}):
        own = [key for key in evidence.readers() if key[0] == group]
        records = [record for key in own for record in evidence.records.get(key, ()) if record.offset is not None]
        for day in days:
            end = end_of(day, evidence.runs[0]["sampled_at"] if evidence.runs else records[0].at)
            is_read = any(record.at.date() <= day for record in records)
            held = [key for key in own if last_commit(evidence, key, end) is not None]
            of_day = [row for row in statuses if row.group == group and row.at.date() == day]
            last = max(of_day, key=lambda row: row.at, default=None)
            rows[group, day] = {
                "commits": sum(record.at.date() == day for record in records) if is_read else None,
                "partitions": len(held),
                "topics": sorted({key[1] for key in held}),
                "records_consumed": sum(consumed.get((key, day), 0) for key in own),
                "max_lag": max((row.lag for row in of_day), default=None),
                "last_lag": None if last is None else last.lag,
                "last_retention_margin": None if last is None else last.margin,
                "skew": skew(own, day, consumed, evidence),
            }
    return rows


def skew(
    own: Sequence[ReaderKey], day: date, consumed: Mapping[tuple[ReaderKey, date], int], evidence: Evidence
) -> float | None:
    """Return the largest partition's share of a topic's consumption over the mean share, of the most uneven topic.

    A partition without a commit counts if nothing was written to it on that day.
    """
    uneven = []
    for topic in {key[1] for key in own}:
        shares = [consumed.get((key, day), 0) for key in own if key[1] == topic]
        known = {key[2] for key in own if key[1] == topic}
        for (name, partition), ends in evidence.ends.items():
            of_day = [end for end in ends if end.at.date() == day]
            if name == topic and partition not in known and of_day and of_day[0].end == of_day[-1].end:
                shares.append(0)
        if sum(shares) >= UNEVEN_FROM:
            uneven.append(max(shares) / (sum(shares) / len(shares)))
    return max(uneven, default=None)


def topic_days(evidence: Evidence, days: Sequence[date]) -> dict[tuple[str, date], Row]:
    """Return partitions, records produced, and groups with a commit at the day's end, of each topic and day."""
    rows: dict[tuple[str, date], Row] = {}
    for topic in sorted({key[0] for key in evidence.ends}):
        for day in days:
            produced = [growth(evidence, key, day) for key in evidence.ends if key[0] == topic]
            known = [count for count in produced if count is not None]
            end = end_of(day, evidence.runs[0]["sampled_at"])
            committed = {
                key[0] for key in evidence.readers() if key[1] == topic and last_commit(evidence, key, end) is not None
            }
            rows[topic, day] = {
                "records_produced": sum(known) if known else None,
                "groups_with_commits": len(committed),
            }
    return rows


def growth(evidence: Evidence, key: PartitionKey, day: date) -> int | None:
    """Return the growth of a partition's log end between its observations of a day, log by log; None if one only."""
    ends = [end for end in evidence.ends[key] if end.at.date() == day]
    if len(ends) < 2:
        return None
    return sum(later.end - earlier.end for earlier, later in pairwise(ends) if later.log == earlier.log)
