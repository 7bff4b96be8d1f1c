"""The brokers: whether they respond, what they let us read, how long they keep it, and what readers wait for."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Final

from confluent_kafka import KafkaError, KafkaException, Message, TopicPartition
from confluent_kafka.admin import ResourceType

from kafka_groups.errors import SourceError
from kafka_groups.pipeline.backfills.topic_policies import read_settings
from kafka_groups.pipeline.doctor import FAILED, OK, WARNING, Check
from kafka_groups.pipeline.doctor.horizon import Tail, find_tails
from kafka_groups.pipeline.schemas import OFFSETS_TOPIC
from kafka_groups.pipeline.source.brokers import Brokers, new_consumer, source_error
from kafka_groups.pipeline.source.plan import Log

_POLL_S: Final = 0.2  # an interrupt waits for so long
_TOPIC_SETTINGS: Final = ("cleanup.policy", "segment.bytes", "retention.ms", "delete.retention.ms")
_BROKER_SETTINGS: Final = ("offsets.retention.minutes", "inter.broker.protocol.version")
_TRANSACTIONS: Final = "open transactions"
# Transactions of streams end within moments; by themselves they end after 15 minutes if nobody allowed them more.
_LONG_S: Final = 300.0
_NONE: Final[Mapping[str, str]] = MappingProxyType({})
_UNSTABLE: Final = {"isolation.level": "read_uncommitted"}
_LITTLE: Final = {"fetch.message.max.bytes": 65_536}  # a few records of each partition are wanted


def examine_cluster(client: Mapping[str, str], timeout_s: float) -> tuple[list[Check], str | None, Log | None]:
    """Return the checks; the cluster's id if it was reached, and where its topic ends, if that is known.

    Each request has the timeout.
    """
    try:
        brokers = Brokers(client, timeout_s)
        cluster_id, nodes = brokers.cluster()
    except SourceError as error:
        return [Check("brokers", FAILED, str(error))], None, None
    count = f"{len(nodes)} broker{'' if len(nodes) == 1 else 's'}"
    checks = [Check("brokers", OK, f"{count} of cluster {cluster_id}")]
    try:
        topic_id, partitions = brokers.topic()
        # In this order: what was written before the request for what is stable, and is not stable, waits for something.
        written = brokers.latest(partitions, is_stable=False)
        starts, ends = brokers.earliest(partitions), brokers.latest(partitions)
    except SourceError as error:
        return [*checks, Check(f"describe {OFFSETS_TOPIC}", FAILED, str(error))], cluster_id, None
    if not partitions:
        detail = f"{OFFSETS_TOPIC} does not exist: this cluster has had no group so far"
        return [*checks, Check(f"describe {OFFSETS_TOPIC}", WARNING, detail)], cluster_id, Log(None, {})
    records = sum(ends[partition] - starts[partition] for partition in partitions)
    detail = f"{len(partitions):,} partitions, {records:,} offsets from log start to log end"
    checks.append(Check(f"describe {OFFSETS_TOPIC}", OK, detail))
    filled = {partition: (start, ends[partition]) for partition, start in starts.items() if ends[partition] > start}
    ((_, of_topic),) = read_settings(client, timeout_s, ResourceType.TOPIC, [OFFSETS_TOPIC])
    checks += [
        _read(client, filled, timeout_s),
        _transactions(client, written, ends, timeout_s),
        _topic_settings(of_topic),
        _horizon(client, filled, timeout_s),
    ]
    of_brokers = read_settings(client, timeout_s, ResourceType.BROKER, [*map(str, nodes[:1])])
    checks += [_broker_settings(broker, found) for broker, found in of_brokers]
    return checks, cluster_id, Log(topic_id, ends)


def _messages(
    client: Mapping[str, str], offsets: Mapping[int, int], timeout_s: float, properties: Mapping[str, str] = _NONE
) -> Iterator[Message]:
    """Yield what a consumer of the partitions gets from these offsets on, also errors, until the time is over."""
    with closing(new_consumer(client, properties)) as consumer:
        consumer.assign([TopicPartition(OFFSETS_TOPIC, partition, offset) for partition, offset in offsets.items()])
        until = time.monotonic() + timeout_s
        while time.monotonic() < until:
            if (message := consumer.poll(_POLL_S)) is not None:
                yield message


def _read(client: Mapping[str, str], filled: Mapping[int, tuple[int, int]], timeout_s: float) -> Check:
    """Read one record, from a partition that has any."""
    name = f"read {OFFSETS_TOPIC}"
    if not filled:
        return Check(name, WARNING, "the topic is empty, so reading was not checked")
    partition, (start, _) = next(iter(filled.items()))
    try:
        found = next(_messages(client, {partition: start}, timeout_s), None)
    except SourceError as error:
        return Check(name, FAILED, str(error))
    if found is None:
        late = f"no record of partition {partition} within {timeout_s:g} s"
        return Check(name, FAILED, f"{late}; give a longer --timeout, or check the broker")
    # At the end of a partition that holds marks of transactions alone, reading was allowed, too.
    if (refusal := found.error()) is None or refusal.code() == KafkaError._PARTITION_EOF:
        return Check(name, OK, f"a record of partition {partition} was read")
    return Check(name, FAILED, str(source_error(refusal, client)))


def _transactions(
    client: Mapping[str, str], written: Mapping[int, int], stable: Mapping[int, int], timeout_s: float
) -> Check:
    """Check whether a transaction has been open for minutes; `stable` was requested after `written`."""
    held = {partition: end - stable[partition] for partition, end in written.items() if end > stable[partition]}
    if not held:
        return Check(_TRANSACTIONS, OK, "no open transaction delays ingest")
    # When the first record that is not stable was written, of partitions that responded in time.
    begun: dict[int, int] = {}
    try:
        offsets = {partition: stable[partition] for partition in held}
        for message in _messages(client, offsets, timeout_s, _UNSTABLE):
            if message.error() is None:
                begun.setdefault(message.partition() or 0, message.timestamp()[1])
            if begun.keys() == held.keys():
                break
    except SourceError as error:
        detail = f"an open transaction delays partitions {_listed(held)}, which cannot be read: {error}"
        return Check(_TRANSACTIONS, WARNING, detail)
    return judge_transactions(held, begun, now_ms=time.time_ns() // 1_000_000)


def judge_transactions(held: Mapping[int, int], begun: Mapping[int, int], *, now_ms: int) -> Check:
    """Judge by the offsets that are held back in each partition, and by when its transaction began, where known."""
    count = f"{sum(held.values()):,} offsets of partitions {_listed(held)}"
    if not begun:
        return Check(_TRANSACTIONS, OK, f"{count} waited for a transaction, which has ended since or is not known yet")
    first = min(begun, key=lambda partition: begun[partition])
    detail = f"{count} wait for transactions to end, the oldest open since {_instant(begun[first])} (partition {first})"
    if now_ms - begun[first] < _LONG_S * 1_000:
        return Check(_TRANSACTIONS, OK, detail)
    helps = (
        "until then ingest does not read the records after it; find a hanging transaction with `kafka-transactions.sh "
        "find-hanging`, and end it with `abort`"
    )
    return Check(_TRANSACTIONS, WARNING, f"{detail}: {helps}")


def _listed(partitions: Mapping[int, int]) -> str:
    return ", ".join(map(str, sorted(partitions)))


def _topic_settings(found: dict[str, str] | str) -> Check:
    name = f"settings of {OFFSETS_TOPIC}"
    if isinstance(found, str):
        return Check(name, WARNING, f"they cannot be read: {found}; this check needs DESCRIBE_CONFIGS on the topic")
    detail = _shown(found, _TOPIC_SETTINGS)
    if (found.get("cleanup.policy") or "compact") != "compact":
        return Check(name, WARNING, f"{detail}; records are deleted by age, too; run ingest more often than that")
    if found.get("delete.retention.ms"):
        # What a removal says is deleted with its record.
        detail = f"{detail}; tombstones are kept for delete.retention.ms; run ingest more often than that"
    return Check(name, OK, detail)


def _broker_settings(broker: str, found: dict[str, str] | str) -> Check:
    name = "settings of the brokers"
    if isinstance(found, str):
        return Check(name, WARNING, f"they cannot be read: {found}; this check needs DESCRIBE_CONFIGS on the cluster")
    return Check(name, OK, f"broker {broker}: {_shown(found, _BROKER_SETTINGS) or 'defaults'}")


def _shown(found: Mapping[str, str], names: Sequence[str]) -> str:
    return ", ".join(f"{name}={found[name]}" for name in names if found.get(name))


def _horizon(client: Mapping[str, str], filled: Mapping[int, tuple[int, int]], timeout_s: float) -> Check:
    """Check since when every record is there, in all partitions."""
    name = "compaction horizon"
    if not filled:
        return Check(name, WARNING, "the topic has no records yet")
    try:
        with closing(new_consumer(client, _LITTLE)) as consumer:
            tails = find_tails(consumer, OFFSETS_TOPIC, filled, timeout_s)
    except SourceError as error:
        return Check(name, WARNING, str(error))
    except KafkaException as error:
        return Check(name, WARNING, str(source_error(error.args[0], client)))
    return Check(name, *_status_and_detail(tails, len(filled)))


def _status_and_detail(tails: Mapping[int, Tail], filled: int) -> tuple[str, str]:
    """Return status and detail, of so many partitions with records."""
    if late := filled - len(tails):
        return WARNING, f"{late} of {filled} partitions with records did not respond in time; give a longer --timeout"
    # A log that begins with 0 and has no data gap has lost nothing.
    begun = {partition: tail.at_ms for partition, tail in tails.items() if tail.offset > 0}
    if not begun:
        return OK, "every record so far is retained, according to a search in some places of the log"
    known = {partition: at_ms for partition, at_ms in begun.items() if at_ms is not None}
    if unknown := sorted(begun.keys() - known):
        count = f"{len(unknown)} partition{'' if len(unknown) == 1 else 's'} (partition {unknown[0]} is one)"
        return WARNING, f"{count} may retain only the last record of each key"
    last = max(known, key=lambda partition: known[partition])
    detail = f"every record since {_instant(known[last])} is retained (partition {last} begins last)"
    older = "of older records, compaction kept only the last one of each key"
    return OK, f"{detail}, according to a search in some places of the log; {older}"


def _instant(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
