"""What the facts say of a group on a partition: its commits in the order of the log, its samples, and log ends.

The order of records is that of their offsets in `__consumer_offsets`; their times are attributes, which are made
monotonic: a record is not earlier than the one before it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple

Row = dict[str, Any]
PartitionKey = tuple[str, int]
ReaderKey = tuple[str, str, int]
TOPIC: Final = "topic"
SAMPLE: Final = "sample"


class RecordedCommit(NamedTuple):
    """A commit record, or with `offset` None a removal: its own time, and the time that is not before earlier ones."""

    offset: int | None
    at: datetime
    ordered_at: datetime
    source_offset: int
    topic_id: str | None


class SampledCommit(NamedTuple):
    """A commit that a sample saw, when it was requested, the topic's id and the number of members in that sample."""

    offset: int
    at: datetime
    topic_id: str | None
    members: int | None


class LogEnd(NamedTuple):
    """A known log end offset of a sample.

    `log` is the number of the log, which rises when the topic is recreated or the log is truncated.
    """

    at: datetime
    start: int
    end: int
    stable: int | None
    log: int
    topic_id: str | None


@dataclass
class Evidence:
    """All facts of one cluster, by reader (group, topic, partition) and by partition, each in order."""

    records: Mapping[ReaderKey, Sequence[RecordedCommit]]
    samples: Mapping[ReaderKey, Sequence[SampledCommit]]
    ends: Mapping[PartitionKey, Sequence[LogEnd]]
    runs: Sequence[Row]

    def readers(self) -> list[ReaderKey]:
        """Return the groups on partitions of which any commit is known."""
        return sorted({*self.records, *self.samples})


def gather_evidence(facts: Mapping[str, Sequence[Row]]) -> Evidence:
    """Return the facts in order. A record that was read twice counts once."""
    records: dict[ReaderKey, dict[int, Row]] = defaultdict(dict)
    samples: dict[ReaderKey, list[SampledCommit]] = defaultdict(list)
    ends = [row for row in facts.get("partition_offsets", ()) if row["origin"] == SAMPLE]
    runs = sorted(facts.get("sample_runs", ()), key=lambda run: run["sampled_at"])
    sampled_at = {run["commits_at"]: run["sampled_at"] for run in runs}
    topic_ids = {(row["topic"], row["partition"], row["observed_at"]): row.get("topic_id") for row in ends}
    for row in facts.get("offset_commits", ()):
        key = (row["group"], row["topic"], row["partition"])
        if row["origin"] == TOPIC:
            records[key][row["source_offset"]] = row
        else:
            at = row["commit_time"]
            topic_id = topic_ids.get((row["topic"], row["partition"], sampled_at.get(at)))
            samples[key].append(SampledCommit(row["committed_offset"], at, topic_id, row.get("member_count")))
    return Evidence(
        {key: order_records(rows.values()) for key, rows in records.items()},
        {key: sorted(rows, key=lambda sample: sample.at) for key, rows in samples.items()},
        order_log_ends(ends),
        runs,
    )


def order_records(rows: Iterable[Row]) -> list[RecordedCommit]:
    """Return the records of one reader in the order of their offsets."""
    ordered: list[RecordedCommit] = []
    for row in sorted(rows, key=lambda row: row["source_offset"]):
        at = row["commit_time"]
        earliest = ordered[-1].ordered_at if ordered else at
        offset = None if row["is_tombstone"] else row["committed_offset"]
        ordered.append(RecordedCommit(offset, at, max(at, earliest), row["source_offset"], row.get("topic_id")))
    return ordered


def order_log_ends(rows: Iterable[Row]) -> dict[PartitionKey, list[LogEnd]]:
    """Return the known log ends of each partition in the order of time, with the number of the log.

    Another topic id is another log. So is a log end that falls: the log was truncated. A single end that is below its
    neighbours of the same day on one topic id is left out, because a slow sampler may have written it.
    """
    ends: dict[PartitionKey, list[LogEnd]] = defaultdict(list)
    topic_ids: dict[PartitionKey, str | None] = {}
    for row in without_dips(sorted(rows, key=lambda row: row["observed_at"])):
        key = (row["topic"], row["partition"])
        previous_id = topic_ids.get(key)
        topic_ids[key] = row.get("topic_id")
        known = ends[key]
        log = known[-1].log if known else 0
        has_other_id = previous_id not in {None, row.get("topic_id")}
        if row["log_end_offset"] is None:
            # A later log end is in another log, too: the marker has no end and is removed below.
            if has_other_id and known:
                known.append(LogEnd(row["observed_at"], 0, -1, None, log + 1, row.get("topic_id")))
            continue
        if known and (has_other_id or 0 <= row["log_end_offset"] < known[-1].end):
            log += 1
        at, start, end = row["observed_at"], row["log_start_offset"], row["log_end_offset"]
        known.append(LogEnd(at, start, end, row.get("last_stable_offset"), log, row.get("topic_id")))
    return {key: [end for end in known if end.end >= 0] for key, known in ends.items()}


def without_dips(rows: Sequence[Row]) -> list[Row]:
    """Return rows in the order of time without those whose end falls on the same topic id, if the next one does not."""
    dips: set[int] = set()
    by_partition: dict[PartitionKey, list[Row]] = defaultdict(list)
    for row in rows:
        if row["log_end_offset"] is not None:
            by_partition[row["topic"], row["partition"]].append(row)
    for own in by_partition.values():
        for before, row, after in zip(own, own[1:], [*own[2:], None], strict=False):
            is_same_topic = row.get("topic_id") is not None and row.get("topic_id") == before.get("topic_id")
            falls = row["log_end_offset"] < before["log_end_offset"]
            is_on_day = after is not None and after["observed_at"].date() == row["observed_at"].date()
            stays_below = after is None or not is_on_day or after["log_end_offset"] < before["log_end_offset"]
            if is_same_topic and falls and not stays_below:
                dips.add(id(row))
    return [row for row in rows if id(row) not in dips]
