"""Rows of lag_history as docs/pipeline.md and the table describe them, one row at a time.

They are exact where the clocks of brokers and sampler agree. Only then the newest of two facts is the one with the
later time.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from operator import attrgetter, itemgetter
from typing import Final

from tests.pipeline.oracle.oracle_evidence import SAMPLE, TOPIC, Evidence, LogEnd, ReaderKey

RATE_WINDOW: Final = timedelta(minutes=10)


@dataclass(frozen=True)
class KnownCommit:
    """The last commit at a time.

    `times` are the times that its row may have: that of the record, or of the last sample with the commit. `removals`
    counts the removals before it. `is_doubtful`: a sample did not see it since, although records do not say why.
    """

    offset: int
    times: frozenset[datetime]
    origins: frozenset[str]
    removals: int
    topic_id: str | None
    is_doubtful: bool


@dataclass(frozen=True)
class LagRow:
    """A row of lag_history: lag of a group on a partition when its log end was sampled."""

    key: ReaderKey
    end: LogEnd
    commit: KnownCommit
    consume_rate: float | None = None
    produce_rate: float | None = None
    spans_two_logs: bool = False

    @property
    def lag(self) -> int:
        """Return log end offset minus committed offset."""
        return self.end.end - self.commit.offset

    @property
    def retention_margin(self) -> int:
        """Return committed offset minus log start offset."""
        return self.commit.offset - self.end.start


def last_commit(evidence: Evidence, key: ReaderKey, at: datetime) -> KnownCommit | None:
    """Return the last commit of a reader at a time, or None if there is none."""
    records = evidence.records.get(key, ())
    records = records[: bisect_right(records, at, key=attrgetter("ordered_at"))]
    samples = evidence.samples.get(key, ())
    samples = samples[: bisect_right(samples, at, key=attrgetter("at"))]
    removals = sum(record.offset is None for record in records)
    record = records[-1] if records else None
    sample = samples[-1] if samples else None
    is_recorded = record is not None and (sample is None or record.ordered_at >= sample.at)
    newest = record.ordered_at if record is not None and is_recorded else sample.at if sample is not None else None
    if newest is None:
        return None
    runs_until = bisect_right(evidence.runs, at, key=itemgetter("sampled_at"))
    is_doubtful = runs_until > 0 and evidence.runs[runs_until - 1]["commits_at"] > newest
    times: dict[str, datetime] = {}
    offset: int | None = None
    topic_id: str | None = None
    if sample is not None and not is_recorded:
        offset, topic_id = sample.offset, sample.topic_id
        times[SAMPLE] = sample.at
    if record is not None and (is_recorded or record.offset == offset):
        offset, topic_id = record.offset, record.topic_id or topic_id
        times[TOPIC] = record.at
    if offset is None:
        return None
    return KnownCommit(offset, frozenset(times.values()), frozenset(times), removals, topic_id, is_doubtful)


def commit_in_log(evidence: Evidence, key: ReaderKey, end: LogEnd) -> KnownCommit | None:
    """Return the last commit of a reader when a log end was sampled, if it belongs to the log of that topic id."""
    commit = last_commit(evidence, key, end.at)
    if commit is None or None in (commit.topic_id, end.topic_id) or commit.topic_id == end.topic_id:
        return commit
    return None


def lag_rows(evidence: Evidence, key: ReaderKey) -> Iterator[LagRow]:
    """Yield the rows of one reader in the order of time, with rates over the last ten minutes."""
    rows: list[LagRow] = []
    for end in evidence.ends.get(key[1:], ()):
        commit = commit_in_log(evidence, key, end)
        if commit is not None:
            rows.append(LagRow(key, end, commit))
    for index, row in enumerate(rows):
        window = [earlier for earlier in rows[: index + 1] if earlier.end.at >= row.end.at - RATE_WINDOW]
        spans_two_logs = window[0].end.log != row.end.log
        yield LagRow(key, row.end, row.commit, consume_rate(window), produce_rate(window), spans_two_logs)


def consume_rate(window: list[LagRow]) -> float | None:
    """Return records consumed a second between the first and the last row; None if a commit fell or was removed."""
    first, last = window[0], window[-1]
    if first is last or first.end.log != last.end.log or first.commit.removals != last.commit.removals:
        return None
    if any(later.commit.offset < earlier.commit.offset for earlier, later in pairwise(window)):
        return None
    return (last.commit.offset - first.commit.offset) / (last.end.at - first.end.at).total_seconds()


def produce_rate(window: list[LagRow]) -> float | None:
    """Return records produced a second between the first and the last row; None if the log is another one."""
    first, last = window[0], window[-1]
    if first is last or first.end.log != last.end.log:
        return None
    return (last.end.end - first.end.end) / (last.end.at - first.end.at).total_seconds()
