"""The records of `__consumer_offsets` decoded: bytes in, Arrow out. Pure: no Spark, no Kafka client, no clock.

`columns` has the columns of input and result, `record_types` what an `event_type` says.
"""

from kafka_groups.pipeline.decode.decoder import decode, gap_rows
from kafka_groups.pipeline.decode.record_types import partition_of

__all__ = ["decode", "gap_rows", "partition_of"]
