"""Open transactions on `__consumer_offsets`: who reads what is committed waits for the oldest one of a partition."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import closing
from typing import Final

from confluent_kafka import TopicPartition

from kafka_groups.errors import SourceError
from kafka_groups.pipeline.doctor.check import OK, WARNING, Check, instant
from kafka_groups.pipeline.schemas import OFFSETS_TOPIC
from kafka_groups.pipeline.source.brokers import new_consumer

_NAME: Final = "open transactions"
# Transactions of streams end within moments; by themselves they end after 15 minutes if nobody allowed them more.
_LONG_S: Final = 300.0
_POLL_S: Final = 0.2


def examine_transactions(
    client: Mapping[str, str], written: Mapping[int, int], stable: Mapping[int, int], timeout_s: float
) -> Check:
    """Check whether a transaction has been open for minutes.

    `stable` was requested after `written`, both by partition.
    """
    held = {partition: end - stable[partition] for partition, end in written.items() if end > stable[partition]}
    if not held:
        return Check(_NAME, OK, "no open transaction delays ingest")
    try:
        begun = _begun(client, {partition: stable[partition] for partition in held}, timeout_s)
    except SourceError as error:
        detail = f"an open transaction delays partitions {_listed(held)}, which cannot be read: {error}"
        return Check(_NAME, WARNING, detail)
    return judge(held, begun, now_ms=time.time_ns() // 1_000_000)


def judge(held: Mapping[int, int], begun: Mapping[int, int], *, now_ms: int) -> Check:
    """Judge by the offsets that are held back in each partition, and by when its transaction began, where known."""
    count = f"{sum(held.values()):,} offsets of partitions {_listed(held)}"
    if not begun:
        return Check(_NAME, OK, f"{count} waited for a transaction, which has ended since or is not known yet")
    first = min(begun, key=lambda partition: begun[partition])
    age_s = max(0.0, (now_ms - begun[first]) / 1000)
    since = f"the oldest open since {instant(begun[first])} (partition {first})"
    detail = f"{count} wait for transactions to end, {since}"
    if age_s < _LONG_S:
        return Check(_NAME, OK, detail)
    helps = (
        "until then ingest does not read the records after it; find a hanging transaction with `kafka-transactions.sh "
        "find-hanging`, and end it with `abort`"
    )
    return Check(_NAME, WARNING, f"{detail}: {helps}")


def _begun(client: Mapping[str, str], stable: Mapping[int, int], timeout_s: float) -> dict[int, int]:
    """Return when the first record that is not stable was written, in ms; only of partitions that responded in time."""
    found: dict[int, int] = {}
    with closing(new_consumer(client, {"isolation.level": "read_uncommitted"})) as consumer:
        consumer.assign([TopicPartition(OFFSETS_TOPIC, partition, offset) for partition, offset in stable.items()])
        until = time.monotonic() + timeout_s
        while found.keys() != stable.keys() and time.monotonic() < until:
            message = consumer.poll(_POLL_S)
            if message is None or message.error() is not None:
                continue
            partition, kind_and_ms = message.partition(), message.timestamp()
            if partition is not None and partition not in found:
                found[partition] = kind_and_ms[1]
    return found


def _listed(partitions: Mapping[int, int]) -> str:
    return ", ".join(map(str, sorted(partitions)))
