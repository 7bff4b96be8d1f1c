"""Verdicts on partitions as the table of rules defines them, from the oracle's rows of lag and from members in samples.

The times of commits are those of the build's rows, which are checked elsewhere: that of the record or of the sample.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import takewhile
from operator import attrgetter
from typing import Final

from kafka_groups.verdicts import Limits, Verdict
from tests.pipeline.oracle.oracle_evidence import TOPIC, Evidence, ReaderKey, Row
from tests.pipeline.oracle.oracle_lag import LagRow
from tests.pipeline.oracle.row_sums import compare_values
from tests.pipeline.plain_verdicts import Seen, judge_all, offset_before_reset

MEMBERS_COUNT_FOR: Final = timedelta(minutes=10)


def compare_verdicts(
    evidence: Evidence, lags: Mapping[ReaderKey, Sequence[LagRow]], rows: Sequence[Row]
) -> Iterator[str]:
    """Yield the differences in verdict, rule, time of the verdict and known resets.

    `lags` and `rows` have the same rows.
    """
    built = {(row["group"], row["topic"], row["partition"], row["observed_at"]): row for row in rows}
    for key, own in lags.items():
        pairs = [(row, built[*key, row.end.at]) for row in own if (*key, row.end.at) in built]
        times = [None, *(row.end.at for row, _ in pairs)]
        seen = [see(evidence, row, built_row, since) for (row, built_row), since in zip(pairs, times, strict=False)]
        for place, ((row, built_row), verdict) in enumerate(zip(pairs, judge_all(seen, Limits()), strict=True)):
            name = f"lag_history {key[0]} {key[1]}-{key[2]} at {row.end.at:%d %H:%M:%S}"
            before = next((one for one in reversed(seen[:place]) if one.log == seen[place].log), None)
            given = {
                "verdict": verdict.verdict,
                "rule": verdict.rule,
                "verdict_since": time_of(verdict, row),
                "offset_before_reset": offset_before_reset(before, seen[place]),
            }
            yield from compare_values(name, given, built_row)


def see(evidence: Evidence, row: LagRow, built: Row, since: datetime | None) -> Seen:
    """Return what a row of lag shows, with the members in the last sample and the repetitions of the commit.

    `since` is the time of the row before; None for the first one.
    """
    records = evidence.records.get(row.key, ())
    until = records[: bisect_right(records, row.end.at, key=attrgetter("ordered_at"))]
    is_shown = bool(until) and until[-1].offset == row.commit.offset
    commit_time = built["commit_time"] if built["commit_origin"] == TOPIC else until[-1].at if is_shown else None
    repeats = takewhile(lambda record: record.offset == row.commit.offset, reversed(until))
    return Seen(
        at_ms=to_ms(row.end.at),
        offset=row.commit.offset,
        end=row.end.end,
        start=row.end.start,
        log=(row.end.log, row.commit.removals, row.commit.topic_id),
        members=members_at(evidence, row.key, row.end.at),
        commit_ms=None if commit_time is None else to_ms(commit_time),
        repeated=None if commit_time is None else len([*repeats]) - 1,
        highest_offset=None
        if built["commit_origin"] != TOPIC
        else max(
            (
                record.offset
                for record in takewhile(lambda record: record.offset is not None, reversed(until))
                if (since is None or record.ordered_at > since)
                and record.offset is not None
                and record.topic_id in (None, row.commit.topic_id)
            ),
            default=None,
        ),
    )


def members_at(evidence: Evidence, key: ReaderKey, at: datetime) -> int | None:
    """Return the number of members in the last sample with the commit, unless that sample is over ten minutes old."""
    samples = evidence.samples.get(key, ())
    until = bisect_right(samples, at, key=attrgetter("at"))
    is_known = until > 0 and samples[until - 1].at >= at - MEMBERS_COUNT_FOR
    return samples[until - 1].members if is_known else None


def to_ms(time: datetime) -> int:
    """Return a time in ms since 1970."""
    return int(time.timestamp() * 1_000_000 + 0.5) // 1_000


def time_of(verdict: Verdict, row: LagRow) -> datetime | None:
    """Return since when a verdict has been given, in the time zone of a row."""
    return None if verdict.since_ms is None else datetime.fromtimestamp(verdict.since_ms / 1_000, row.end.at.tzinfo)
