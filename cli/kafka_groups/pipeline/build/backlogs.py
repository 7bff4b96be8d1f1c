"""Backlogs of ingest: clusters whose samples show records of `__consumer_offsets` that no ingest has read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Final, NamedTuple

from kafka_groups.errors import SourceError
from kafka_groups.pipeline.build.coverage import Coverage
from kafka_groups.pipeline.build.sentences import format_minute, name_cluster
from kafka_groups.pipeline.facts.source.table_positions import read_position
from kafka_groups.pipeline.store import Queries, Storage
from kafka_groups.pipeline.tables import OFFSETS_TOPIC, PARTITION_OFFSETS

_LATE_MS: Final = 600_000
# Ingest reads up to the last stable offset. Samples of brokers that return none have the log end offset instead.
_SAMPLED_ENDS: Final = """
    SELECT topic_id, partition, log_start_offset AS log_start,
        coalesce(last_stable_offset, log_end_offset) AS stable_end
    FROM {rows}
    WHERE date = {date} AND cluster_id = {cluster_id} AND origin = 'sample' AND topic = {topic}
        AND CAST(observed_at AS BIGINT) / 1000 = {sampled_ms}
"""


class SampledEnd(NamedTuple):
    """A partition of `__consumer_offsets` in a sample; None stands for an unknown value.

    `log_start` is its log start offset, and `stable_end` its last stable offset.
    """

    topic_id: str | None
    partition: int
    log_start: int | None
    stable_end: int | None


def describe_backlogs(storage: Storage, queries: Queries, coverages: Mapping[str, Coverage]) -> Iterator[str]:
    """Yield a sentence about each cluster whose newest commits may be known from samples only.

    The last sample of such a cluster was taken more than ten minutes after the last record that was read, and the
    position of ingest does not show that all records before the sample were read. `coverages` are by cluster id. Raises
    StorageError.
    """
    for cluster, coverage in sorted(coverages.items()):
        read_ms = coverage.last_record_ms
        sampled_ms = coverage.last_sample_ms
        if read_ms is None or sampled_ms is None or sampled_ms - read_ms <= _LATE_MS:
            continue
        has_backlog = _has_backlog(storage, queries, cluster, sampled_ms)
        if has_backlog is False:
            continue
        last_times = (
            f"the last record that was read from __consumer_offsets was written at {format_minute(read_ms)}, and the "
            f"last sample was taken at {format_minute(sampled_ms)}"
        )
        unread_commits = "commits in between" if has_backlog else "commits in between, if there are any,"
        sentence = f"{last_times}: {unread_commits} are known from samples only, until ingest runs again."
        yield name_cluster(sentence, cluster, coverages)


def _has_backlog(storage: Storage, queries: Queries, cluster_id: str, sampled_ms: int) -> bool | None:
    """Return whether the sample of that time shows offsets of `__consumer_offsets` beyond the position of ingest.

    The position is the next offset that ingest reads. It is exact, because it also moves past transaction markers and
    offsets without a record. The result is None if the tables do not show this: the sample lacks ends, no position is
    known, or the position belongs to another topic.
    """
    sampled_ends = _read_sampled_ends(queries, cluster_id, sampled_ms)
    partitions = [end.partition for end in sampled_ends]
    topic_id = next((end.topic_id for end in sampled_ends if end.topic_id is not None), None)
    try:
        position = read_position(storage, cluster_id, topic_id, partitions)
    except SourceError:
        return None
    if not sampled_ends or all(batch is None for batch in position.batch_numbers.values()):
        return None
    ends_with_offset = [end for end in sampled_ends if end.stable_end is not None]
    next_offsets = position.start.next_offsets
    if any(
        (end.stable_end or 0) > max(next_offsets.get(end.partition, 0), end.log_start or 0) for end in ends_with_offset
    ):
        return True
    return False if len(ends_with_offset) == len(sampled_ends) else None


def _read_sampled_ends(queries: Queries, cluster_id: str, sampled_ms: int) -> list[SampledEnd]:
    """Return the ends of the partitions of `__consumer_offsets` in the sample of that time (ms since 1970).

    The list is empty if there is no such sample. Raises StorageError.
    """
    rows = queries.select(
        PARTITION_OFFSETS,
        _SAMPLED_ENDS,
        date=datetime.fromtimestamp(sampled_ms / 1_000, UTC).date(),
        cluster_id=cluster_id,
        topic=OFFSETS_TOPIC,
        sampled_ms=sampled_ms,
    )
    return [SampledEnd(**row) for row in rows]
