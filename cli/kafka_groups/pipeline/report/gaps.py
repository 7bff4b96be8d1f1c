"""Data gaps: offsets of `__consumer_offsets` at which ingest found no record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import Final, NamedTuple

from kafka_groups.pipeline.build.sentences import name_cluster
from kafka_groups.pipeline.store import Queries
from kafka_groups.pipeline.tables import INGEST_GAPS

# Each range counts without the offsets of earlier ranges of the same reason, because a topic that is read again has
# other ranges. A recreated topic is not recognized: an offset that both logs lack counts once.
_GAPS: Final = """
    SELECT cluster_id, source_partition, start AS first_offset, last_offset,
        least(missing, last_offset - start + 1) AS missing, reason
    FROM (
        SELECT *, greatest(first_offset, coalesce(1 + max(last_offset) OVER (
            PARTITION BY cluster_id, source_partition, reason ORDER BY first_offset, last_offset DESC, found_at
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ), first_offset)) AS start FROM {rows}
    ) WHERE start <= last_offset ORDER BY missing DESC, source_partition, first_offset
"""


class Gap(NamedTuple):
    """A range of offsets of a partition, both ends included; `missing` is the number of offsets without a record.

    `reason` is deleted if the log began after the range. Other reasons are not distinguished.
    """

    cluster_id: str
    source_partition: int
    first_offset: int
    last_offset: int
    missing: int
    reason: str


def describe_gaps(queries: Queries, clusters: Collection[str]) -> tuple[str, ...]:
    """Return sentences on data gaps: first the deleted ranges, the largest ones first, then the other offsets.

    `clusters` are the ids of all clusters of the report. If there are several, each sentence names its cluster.
    Raises StorageError.
    """
    compacted_offsets: Counter[str] = Counter()
    sentences = []
    for row in queries.select(INGEST_GAPS, _GAPS):
        gap = Gap(**row)
        if gap.reason == "deleted":
            sentences.append(name_cluster(_describe_deleted(gap), gap.cluster_id, clusters))
        else:
            compacted_offsets[gap.cluster_id] += gap.missing
    # The log does not show which of these reasons applies.
    reasons_text = "compaction had removed it, or it was a transaction marker or part of an aborted transaction"
    for cluster, offset_count in sorted(compacted_offsets.items()):
        sentence = f"{offset_count:,} offsets of __consumer_offsets had no record when they were read: {reasons_text}."
        sentences.append(name_cluster(sentence, cluster, clusters))
    return tuple(dict.fromkeys(sentences))


def count_missing_offsets(queries: Queries) -> dict[str, int]:
    """Return by reason the number of offsets without a record, over all clusters. Raises StorageError."""
    counts: Counter[str] = Counter()
    for row in queries.select(INGEST_GAPS, _GAPS):
        counts[row["reason"]] += row["missing"]
    return dict(counts)


def _describe_deleted(gap: Gap) -> str:
    offsets_text = f"{gap.missing:,} offsets from {gap.first_offset} to {gap.last_offset}"
    return f"partition {gap.source_partition} of __consumer_offsets: {offsets_text} were deleted before they were read."
