"""The frames of share groups: what samples saw of their partitions."""

from __future__ import annotations

from kafka_groups.pipeline.frames.arrays import Ints
from kafka_groups.pipeline.frames.columns import INT64, MICROSECONDS, OFFSET, RECORDS, column
from kafka_groups.pipeline.frames.frame import Frame, frame


@frame
class ShareLags(Frame):
    """One row per row of `share_offsets`: the start offset and the lag of a share group on a partition in a sample."""

    at_us: Ints = column(INT64, "time of the sample", unit=MICROSECONDS)
    start_offset: Ints = column(INT64, "the start offset; NULL if unknown", unit=OFFSET)
    lag: Ints = column(INT64, "the lag that the coordinator computes; NULL if unknown", unit=RECORDS)


@frame
class SampledShareLags(ShareLags):
    """One row per key and sample: the start offset and the lag of a share group."""

    key: Ints = column(INT64, "number of the key")
