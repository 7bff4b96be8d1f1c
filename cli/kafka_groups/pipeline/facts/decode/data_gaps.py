"""Data gaps: ranges of offsets for which brokers returned no record."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from kafka_groups.pipeline.facts.decode.conversions import microseconds
from kafka_groups.pipeline.facts.decode.decoded_records import GAP, DecodedRecords
from kafka_groups.pipeline.frames.batches import make_batch

if TYPE_CHECKING:
    import pyarrow as pa

# Reasons of gaps.
DELETED: Final = "deleted"  # The offsets are below the log start offset.
COMPACTED: Final = "compacted"  # Compaction removed records, or these are transaction markers or aborted transactions.


class DataGap(NamedTuple):
    """A range of offsets, both ends included; `missing` of them have no record. `reason` is DELETED or COMPACTED."""

    first_offset: int
    last_offset: int
    missing: int
    reason: str


def gap_row(cluster_id: str, partition: int, gap: DataGap, *, found_at_ms: int) -> pa.RecordBatch:
    """Return one row of DecodedRecords: a gap in a partition of `__consumer_offsets`, and its time in ms since 1970."""
    columns = {
        "cluster_id": cluster_id,
        "kind": GAP,
        "source_partition": partition,
        "source_offset": gap.first_offset,
        "record_time": microseconds(found_at_ms),
        "gap": gap._asdict(),
    }
    return make_batch(DecodedRecords, columns, size=1, fill_null=True)
