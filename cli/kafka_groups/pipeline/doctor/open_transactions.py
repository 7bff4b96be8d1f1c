"""The check of open transactions on `__consumer_offsets`, which hold back the records after their beginning."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import closing
from typing import Final

from confluent_kafka import KafkaException

from kafka_groups.errors import SourceError
from kafka_groups.pipeline.doctor.check import OK, WARNING, Check
from kafka_groups.pipeline.doctor.compaction_horizon import format_time
from kafka_groups.pipeline.doctor.dense_records import ALL_RECORDS, PROBE_SHARE, read_dense_times
from kafka_groups.pipeline.facts.source.brokers import new_consumer
from kafka_groups.pipeline.facts.source.position import Offsets
from kafka_groups.settings.librdkafka import ClientProperties

# Transactions of streams end within moments. Brokers abort a transaction after its producer's transaction.timeout.ms,
# which transaction.max.timeout.ms caps (default: 15 minutes).
_LONG_MS: Final = 300_000


def check_transactions(
    client: ClientProperties, log_ends: Offsets, last_stable_offsets: Offsets, timeout_s: float
) -> Check:
    """Return the check of open transactions: how many offsets wait for their end, and when the oldest one began.

    Log end offsets have to be requested before last stable offsets. `client` has properties of librdkafka; reading the
    beginnings of transactions takes a quarter of `timeout_s` seconds at most. Nothing is raised.
    """
    held_back = {
        partition: (last_stable_offsets[partition], log_end)
        for partition, log_end in log_ends.items()
        if log_end > last_stable_offsets[partition]
    }
    begin_ms: dict[int, int | None] = {}
    if held_back:
        deadline_s = time.monotonic() + timeout_s * PROBE_SHARE
        try:
            with closing(new_consumer(client, timeout_s, ALL_RECORDS)) as consumer:
                begin_ms = read_dense_times(consumer, held_back, deadline_s, time.monotonic)
        except (SourceError, KafkaException):
            # The check of reading the topic reports what brokers refuse; here, the beginnings stay unknown.
            begin_ms = {}
    return judge_transactions(held_back, begin_ms, now_ms=time.time_ns() // 1_000_000)


def judge_transactions(
    held_back: Mapping[int, tuple[int, int]], begin_ms: Mapping[int, int | None], *, now_ms: int
) -> Check:
    """Return the check from the range of offsets that waits in each partition; it is a warning after five minutes.

    A range begins with the last stable offset, where the oldest open transaction of the partition begins, and ends
    before the log end offset. `begin_ms` has the time of its first record in ms since 1970; None or absent if unknown.
    """
    name = "open transactions"
    if not held_back:
        return Check(name, OK, "no open transaction delays ingest")
    oldest_ms = min((time_ms for time_ms in begin_ms.values() if time_ms is not None), default=None)
    age = "" if oldest_ms is None else f", the oldest open since {format_time(oldest_ms)}"
    count = sum(end - start for start, end in held_back.values())
    partitions = ", ".join(map(str, sorted(held_back)))
    problem = f"{count:,} offsets of partitions {partitions} wait for transactions to end{age}"
    advice = (
        "until then ingest does not read the records after them; if it takes minutes, find a hanging transaction with "
        "`kafka-transactions.sh find-hanging`, and end it with `abort`"
    )
    is_long = oldest_ms is not None and now_ms - oldest_ms >= _LONG_MS
    return Check(name, WARNING if is_long else OK, f"{problem}: {advice}")
