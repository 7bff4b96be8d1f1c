"""The records of `__consumer_offsets` decoded: bytes in, Arrow out. Pure: no Spark, no Kafka client, no clock.

`decode` is the entry point; `columns` says what it hands out, `event_types` what the words in it mean.
"""

from kafka_groups.pipeline.decode.decoder import RawRecords, decode, gap_rows, joined, raw_records
from kafka_groups.pipeline.decode.offsets_partition import partition_of

__all__ = ["RawRecords", "decode", "gap_rows", "joined", "partition_of", "raw_records"]
