"""The brokers: whether they respond, what they let us read, and how long they keep it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import closing
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

from kafka_groups.errors import SourceError
from kafka_groups.pipeline.doctor.check import FAILED, OK, WARNING, Check, Cluster, instant
from kafka_groups.pipeline.doctor.horizon import Tail, find_tails
from kafka_groups.pipeline.doctor.transactions import examine_transactions
from kafka_groups.pipeline.schemas import OFFSETS_TOPIC
from kafka_groups.pipeline.source.brokers import Brokers, hidden, new_consumer, source_error

_POLL_S: Final = 0.2  # an interrupt waits for so long
# Settings of the topic; those of the brokers are in _BROKER_SETTINGS.
_TOPIC_SETTINGS: Final = ("cleanup.policy", "segment.bytes", "retention.ms", "delete.retention.ms")
_BROKER_SETTINGS: Final = ("offsets.retention.minutes", "inter.broker.protocol.version")
_LITTLE: Final = {"fetch.message.max.bytes": 65_536}  # a few records of each partition are wanted
_SILENT: Final[dict[str, Any]] = {"log_level": 0, "error_cb": lambda _error: None}


def examine_cluster(client: Mapping[str, str], timeout_s: float) -> tuple[list[Check], Cluster | None]:
    """Return the checks, and the cluster if it was reached. Each request has the timeout."""
    try:
        brokers = Brokers(client, timeout_s)
        admin = AdminClient({**client, **_SILENT})
        cluster_id = brokers.cluster_id()
        nodes = _nodes(admin, client, timeout_s)
    except SourceError as error:
        return [Check("brokers", FAILED, str(error))], None
    count = f"{len(nodes)} broker{'' if len(nodes) == 1 else 's'}"
    checks = [Check("brokers", OK, f"{count} of cluster {cluster_id}")]
    try:
        topic_id, partitions = brokers.topic()
        # In this order: what was written before the request for what is stable, and is not stable, waits for something.
        written = brokers.latest(partitions, is_stable=False)
        starts, ends = brokers.earliest(partitions), brokers.latest(partitions)
    except SourceError as error:
        return [*checks, Check(f"describe {OFFSETS_TOPIC}", FAILED, str(error))], Cluster(cluster_id, None)
    if not partitions:
        detail = f"{OFFSETS_TOPIC} does not exist: this cluster has had no group so far"
        return [*checks, Check(f"describe {OFFSETS_TOPIC}", WARNING, detail)], Cluster(cluster_id, {})
    records = sum(ends[partition] - starts[partition] for partition in partitions)
    detail = f"{len(partitions):,} partitions, {records:,} offsets from log start to log end"
    checks.append(Check(f"describe {OFFSETS_TOPIC}", OK, detail))
    checks.append(_read(client, starts, ends, timeout_s))
    checks.append(examine_transactions(client, written, ends, timeout_s))
    checks.append(_topic_settings(_settings(admin, ResourceType.TOPIC, OFFSETS_TOPIC, client, timeout_s)))
    checks.append(_horizon(client, starts, ends, timeout_s))
    for broker in nodes[:1]:
        found = _settings(admin, ResourceType.BROKER, str(broker), client, timeout_s)
        checks.append(_broker_settings(broker, found))
    return checks, Cluster(cluster_id, ends, topic_id)


def _nodes(admin: AdminClient, client: Mapping[str, str], timeout_s: float) -> list[int]:
    try:
        described = admin.describe_cluster(request_timeout=timeout_s).result(timeout_s + 1)
    except KafkaException as error:
        raise source_error(error.args[0], client) from None
    return sorted(node.id for node in described.nodes)


def _read(client: Mapping[str, str], starts: Mapping[int, int], ends: Mapping[int, int], timeout_s: float) -> Check:
    """Read one record, from a partition that has any."""
    name = f"read {OFFSETS_TOPIC}"
    filled = [partition for partition in starts if ends[partition] > starts[partition]]
    if not filled:
        return Check(name, WARNING, "the topic is empty, so reading was not checked")
    partition = filled[0]
    try:
        with closing(new_consumer(client)) as consumer:
            consumer.assign([TopicPartition(OFFSETS_TOPIC, partition, starts[partition])])
            found, until = None, time.monotonic() + timeout_s
            while found is None and time.monotonic() < until:
                found = consumer.poll(_POLL_S)
    except SourceError as error:
        return Check(name, FAILED, str(error))
    if found is None:
        late = f"no record of partition {partition} within {timeout_s:g} s"
        return Check(name, FAILED, f"{late}; give a longer --timeout, or check the broker")
    # At the end of a partition that holds marks of transactions alone, reading was allowed, too.
    if (refusal := found.error()) is None or refusal.code() == KafkaError._PARTITION_EOF:
        return Check(name, OK, f"a record of partition {partition} was read")
    return Check(name, FAILED, str(source_error(refusal, client)))


def _topic_settings(found: dict[str, str] | str) -> Check:
    name = f"settings of {OFFSETS_TOPIC}"
    if isinstance(found, str):
        return Check(name, WARNING, f"they cannot be read: {found}; this check needs DESCRIBE_CONFIGS on the topic")
    detail = ", ".join(f"{key}={found[key]}" for key in _TOPIC_SETTINGS if key in found)
    if found.get("cleanup.policy", "compact") != "compact":
        return Check(name, WARNING, f"{detail}; records are deleted by age, too; run ingest more often than that")
    if "delete.retention.ms" in found:
        # What a removal says is deleted with its record.
        detail = f"{detail}; tombstones are kept for delete.retention.ms; run ingest more often than that"
    return Check(name, OK, detail)


def _broker_settings(broker: int, found: dict[str, str] | str) -> Check:
    name = "settings of the brokers"
    if isinstance(found, str):
        return Check(name, WARNING, f"they cannot be read: {found}; this check needs DESCRIBE_CONFIGS on the cluster")
    detail = ", ".join(f"{key}={found[key]}" for key in _BROKER_SETTINGS if key in found)
    return Check(name, OK, f"broker {broker}: {detail or 'defaults'}")


def _settings(
    admin: AdminClient, kind: ResourceType, resource: str, client: Mapping[str, str], timeout_s: float
) -> dict[str, str] | str:
    """Return settings that have a value, by name, or why they are not known."""
    (response,) = admin.describe_configs([ConfigResource(kind, resource)], request_timeout=timeout_s).values()
    try:
        return {name: str(entry.value) for name, entry in response.result(timeout_s + 1).items() if entry.value}
    except KafkaException as error:
        return hidden(str(error.args[0].str()), client)


def _horizon(client: Mapping[str, str], starts: Mapping[int, int], ends: Mapping[int, int], timeout_s: float) -> Check:
    """Check since when every record is there, in all partitions."""
    name = "compaction horizon"
    ranges = {partition: (start, ends[partition]) for partition, start in starts.items() if ends[partition] > start}
    if not ranges:
        return Check(name, WARNING, "the topic has no records yet")
    try:
        with closing(new_consumer(client, _LITTLE)) as consumer:
            tails = find_tails(consumer, OFFSETS_TOPIC, ranges, timeout_s)
    except SourceError as error:
        return Check(name, WARNING, str(error))
    except KafkaException as error:
        return Check(name, WARNING, str(source_error(error.args[0], client)))
    return Check(name, *_status_and_detail(tails, len(ranges)))


def _status_and_detail(tails: Mapping[int, Tail], filled: int) -> tuple[str, str]:
    """Return status and detail, of so many partitions with records."""
    if late := filled - len(tails):
        return WARNING, f"{late} of {filled} partitions with records did not respond in time; give a longer --timeout"
    # A log that begins with 0 and has no data gap has lost nothing.
    begun = {partition: tail for partition, tail in tails.items() if tail.offset > 0}
    if not begun:
        return OK, "every record so far is retained, according to a search in some places of the log"
    if unknown := sorted(partition for partition, tail in begun.items() if tail.at_ms is None):
        count = f"{len(unknown)} partition{'' if len(unknown) == 1 else 's'} (partition {unknown[0]} is one)"
        return WARNING, f"{count} may retain only the last record of each key"
    last = max(begun, key=lambda partition: begun[partition].at_ms or 0)
    detail = f"every record since {instant(begun[last].at_ms or 0)} is retained (partition {last} begins last)"
    older = "of older records, compaction kept only the last one of each key"
    return OK, f"{detail}, according to a search in some places of the log; {older}"
