"""Checks of `__consumer_offsets` on the brokers: whether it can be read, how far back, and what delays reading it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from typing import Final, NamedTuple

from confluent_kafka import IsolationLevel, KafkaException

from kafka_groups.errors import SourceError
from kafka_groups.pipeline.doctor.broker_settings import check_broker_settings
from kafka_groups.pipeline.doctor.check import FAILED, OK, WARNING, Check
from kafka_groups.pipeline.doctor.compaction_horizon import check_horizon, find_log_heads
from kafka_groups.pipeline.doctor.dense_records import COMMITTED_RECORDS, PROBE_SHARE
from kafka_groups.pipeline.doctor.open_transactions import check_transactions
from kafka_groups.pipeline.facts.source.brokers import Brokers, new_consumer, source_error
from kafka_groups.pipeline.facts.source.position import Offsets, Position
from kafka_groups.pipeline.facts.topic_settings import read_topic_settings
from kafka_groups.pipeline.tables import OFFSETS_TOPIC
from kafka_groups.settings.librdkafka import ClientProperties

_TOPIC_SETTINGS: Final = ("cleanup.policy", "segment.bytes", "retention.ms", "delete.retention.ms")


class ClusterChecks(NamedTuple):
    """Checks of a cluster; its id, None if it was not reached; and its log, None if it is unknown.

    The log has the last stable offset of each partition of `__consumer_offsets`, and none if the topic does not exist.
    """

    checks: list[Check]
    cluster_id: str | None
    end_position: Position | None


class _TopicOffsets(NamedTuple):
    """Offsets of the partitions of `__consumer_offsets`, by their number; and its id, None where brokers have none.

    The log end offsets are older than the last stable ones.
    """

    topic_id: str | None
    log_starts: Offsets
    log_ends: Offsets
    last_stable_offsets: Offsets


def check_cluster(client: ClientProperties, timeout_s: float) -> ClusterChecks:
    """Return the checks of the brokers and of `__consumer_offsets`. Nothing is raised.

    `client` has properties of librdkafka; each request may take `timeout_s` seconds, and so may each search in the log.
    """
    try:
        brokers = Brokers(client, timeout_s)
        cluster_id, broker_count = brokers.cluster()
    except SourceError as error:
        return ClusterChecks([Check("brokers", FAILED, str(error))], None, None)
    plural = "" if broker_count == 1 else "s"
    checks = [
        Check("brokers", OK, f"{broker_count} broker{plural} of cluster {cluster_id}"),
        check_broker_settings(client, timeout_s),
    ]
    name = f"describe {OFFSETS_TOPIC}"
    try:
        offsets = _request_offsets(brokers)
    except SourceError as error:
        return ClusterChecks([*checks, Check(name, FAILED, str(error))], cluster_id, None)
    if not offsets.log_starts:
        detail = f"{OFFSETS_TOPIC} does not exist: this cluster has not had any group yet"
        return ClusterChecks([*checks, Check(name, WARNING, detail)], cluster_id, Position(None, {}))
    count = sum(offsets.last_stable_offsets[partition] - start for partition, start in offsets.log_starts.items())
    detail = f"{len(offsets.log_starts):,} partitions, {count:,} offsets from log start to log end"
    checks.append(Check(name, OK, detail))
    checks += _check_reading(client, offsets, timeout_s)
    checks.append(check_transactions(client, offsets.log_ends, offsets.last_stable_offsets, timeout_s))
    checks.append(_check_topic_settings(client, timeout_s))
    return ClusterChecks(checks, cluster_id, Position(offsets.topic_id, offsets.last_stable_offsets))


def _request_offsets(brokers: Brokers) -> _TopicOffsets:
    """Return the offsets of the topic, without partitions if it does not exist. Raises SourceError."""
    topic_id, partitions = brokers.topic()
    # The log end is requested before the last stable offset. So the offsets between them wait for a transaction.
    log_ends = brokers.end_offsets(partitions, IsolationLevel.READ_UNCOMMITTED)
    log_starts = brokers.log_start_offsets(partitions)
    last_stable_offsets = brokers.end_offsets(partitions)
    return _TopicOffsets(topic_id, log_starts, log_ends, last_stable_offsets)


def _check_reading(client: ClientProperties, offsets: _TopicOffsets, timeout_s: float) -> list[Check]:
    """Read some records of each partition; check that this is allowed, and from which time on all records exist.

    The second check is missing if the first one is not ok.
    """
    name = f"read {OFFSETS_TOPIC}"
    ranges: Mapping[int, tuple[int, int]] = {
        partition: (start, offsets.last_stable_offsets[partition])
        for partition, start in offsets.log_starts.items()
        if offsets.last_stable_offsets[partition] > start
    }
    if not ranges:
        return [Check(name, WARNING, "the topic is empty, so reading was not checked")]
    try:
        with closing(new_consumer(client, timeout_s, COMMITTED_RECORDS)) as consumer:
            heads = find_log_heads(consumer, ranges, timeout_s)
    except SourceError as error:
        return [Check(name, FAILED, str(error))]
    except KafkaException as error:
        return [Check(name, FAILED, str(source_error(error.args[0], client)))]
    if not heads:
        problem = f"no record within {timeout_s * PROBE_SHARE:g} s"
        return [Check(name, FAILED, f"{problem}; give a longer --timeout, or check the brokers")]
    return [Check(name, OK, f"records of partition {min(heads)} were read"), check_horizon(heads, len(ranges))]


def _check_topic_settings(client: ClientProperties, timeout_s: float) -> Check:
    """Return the settings of the topic that decide for how long its records are retained."""
    name = f"settings of {OFFSETS_TOPIC}"
    (settings,) = read_topic_settings(client, timeout_s, [OFFSETS_TOPIC])
    if settings.values is None:
        problem = f"they cannot be read: {settings.problem}"
        return Check(name, WARNING, f"{problem}; this check needs DESCRIBE_CONFIGS on the topic")
    values = settings.values
    detail = ", ".join(f"{setting}={values[setting]}" for setting in _TOPIC_SETTINGS if values.get(setting))
    if (values.get("cleanup.policy") or "compact") != "compact":
        return Check(name, WARNING, f"{detail}; records are deleted by age, too; run ingest more often than that")
    if values.get("delete.retention.ms"):
        detail = f"{detail}; tombstones are kept for delete.retention.ms; run ingest more often than that"
    return Check(name, OK, detail)
