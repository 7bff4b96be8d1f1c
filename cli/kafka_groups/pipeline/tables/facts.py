"""Tables of facts, which were read from brokers: nothing brings them back."""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa

from kafka_groups.pipeline.frames.columns import (
    BINARY,
    BOOLEAN,
    INT16,
    INT32,
    INT64,
    OFFSET,
    STRING,
    STRINGS,
    TIMESTAMP,
    column,
)
from kafka_groups.pipeline.frames.frame import Frame, frame

# KIP-848 and share groups write topic ids and no names, classic groups names and no ids.
ASSIGNMENT: Final = pa.list_(pa.struct([("topic", STRING), ("topic_id", STRING), ("partitions", pa.list_(INT32))]))
MEMBERS: Final = pa.list_(
    pa.struct(
        [
            ("member_id", STRING),
            ("group_instance_id", STRING),
            ("client_id", STRING),
            ("client_host", STRING),
            ("rebalance_timeout_ms", INT32),
            ("session_timeout_ms", INT32),
            ("topics", STRINGS),
            ("assignment", ASSIGNMENT),
        ]
    )
)


@frame
class OffsetCommits(Frame):
    """A row is a commit of a group on a partition, or the deletion of one."""

    cluster_id: Any = column(STRING, "Kafka's id of the cluster")
    origin: Any = column(STRING, "topic: read from __consumer_offsets; sample: requested from the brokers")
    source_partition: Any = column(INT32, "partition of __consumer_offsets; null for samples")
    source_offset: Any = column(
        INT64,
        "offset in that partition; both together identify a record permanently",
        unit=OFFSET,
    )
    record_time: Any = column(TIMESTAMP, "when the broker appended the record; for samples, the time of the request")
    group: Any = column(STRING, "id of the group")
    topic: Any = column(STRING, "name of the topic")
    partition: Any = column(INT32, "partition of the topic")
    committed_offset: Any = column(
        INT64,
        "offset of the next record that the group would read; null for a tombstone",
        unit=OFFSET,
    )
    leader_epoch: Any = column(INT32, "epoch of the leader that the consumer read from; null if the commit has none")
    metadata: Any = column(STRING, "metadata that the consumer committed with the offset")
    commit_time: Any = column(
        TIMESTAMP,
        "when it was committed (broker's clock); for samples and tombstones, record_time",
    )
    expire_time: Any = column(TIMESTAMP, "when it expires, if a client requested a retention of its own")
    topic_id: Any = column(STRING, "id of the topic, where the broker wrote it (since 4.1)")
    tombstone: Any = column(BOOLEAN, "true if the offset expired, or if it or its partition was deleted")
    value_version: Any = column(INT16, "version of OffsetCommitValue; null for tombstones and samples")
    members: Any = column(INT32, "number of members of the group in the sample; null for records, and if unknown")


@frame
class GroupEvents(Frame):
    """A row is an event of a group or member (generation, epoch, join, leave, deletion), or a sampled state."""

    cluster_id: Any = column(STRING, "Kafka's id of the cluster")
    origin: Any = column(STRING, "topic: read from __consumer_offsets; sample: requested from the brokers")
    source_partition: Any = column(INT32, "partition of __consumer_offsets; null for samples")
    source_offset: Any = column(
        INT64,
        "offset in that partition; both together identify a record permanently",
        unit=OFFSET,
    )
    record_time: Any = column(TIMESTAMP, "when the broker appended the record; for samples, the time of the request")
    group: Any = column(STRING, "id of the group")
    record_type: Any = column(INT16, "type of the record's key; null for samples")
    value_version: Any = column(INT16, "version of the value; null for tombstones and samples")
    tombstone: Any = column(BOOLEAN, "true if the record deletes an earlier one (a tombstone)")
    type: Any = column(STRING, "Kafka's name of the record (ConsumerGroupMetadata, …), or Snapshot for samples")
    event_type: Any = column(STRING, "the event, in one stable word; state_seen for samples")
    epoch: Any = column(INT32, "generation, group epoch, target epoch or member epoch, depending on the type")
    previous_epoch: Any = column(INT32, "epoch of the member before this one")
    member_id: Any = column(STRING, "id of the member that the event is about; null if it is about the group")
    member_state: Any = column(
        STRING,
        "STABLE, UNREVOKED_PARTITIONS or UNRELEASED_PARTITIONS (KIP-848), …_TASKS (streams groups), else UNKNOWN",
    )
    group_instance_id: Any = column(STRING, "the member's static id")
    client_id: Any = column(STRING, "the member's client id")
    client_host: Any = column(STRING, "the member's host")
    protocol_type: Any = column(STRING, "consumer, connect, … of a classic group")
    protocol: Any = column(
        STRING,
        "assignor that a classic group chose; for samples also a KIP-848 group's",
    )
    leader: Any = column(STRING, "the member that leads a classic group")
    state_time: Any = column(
        TIMESTAMP,
        "when a classic group entered its state, a target assignment was made (since 4.3), or a pattern was resolved",
    )
    topics: Any = column(STRINGS, "topics that the member subscribed to")
    members: Any = column(MEMBERS, "all members of a classic generation, or of a sampled group")
    assignment: Any = column(ASSIGNMENT, "partitions that are assigned to the member")
    pending_revocation: Any = column(ASSIGNMENT, "partitions that the member must revoke")
    details: Any = column(STRING, "the whole content of the record, as JSON")
    group_type: Any = column(STRING, "Classic, Consumer, Share or Streams; only samples have it")
    state: Any = column(STRING, "Stable, Empty, …; only samples have it")


@frame
class PartitionOffsets(Frame):
    """A row has the log end offset of a partition: the current one (sample), or a past one (backfill)."""

    cluster_id: Any = column(STRING, "Kafka's id of the cluster")
    origin: Any = column(STRING, "sample or backfill")
    topic: Any = column(STRING, "name of the topic")
    partition: Any = column(INT32, "partition of the topic")
    topic_id: Any = column(STRING, "id of the topic, if the broker returns it")
    observed_at: Any = column(TIMESTAMP, "time of the offsets in this row")
    log_start_offset: Any = column(INT64, "first offset that can be read; null for backfills", unit=OFFSET)
    log_end_offset: Any = column(
        INT64,
        "the offset of the next record; null: unknown (sample), or deleted since (backfill). A partition of "
        "__consumer_offsets has none in a sample in which its leader did not list its groups",
        unit=OFFSET,
    )
    last_stable_offset: Any = column(
        INT64,
        "last stable offset, where a read_committed consumer stops; null for backfills",
        unit=OFFSET,
    )
    point_offset: Any = column(
        INT64,
        "for backfills, offset of the first record at or after observed_at; null if there is none",
        unit=OFFSET,
    )
    point_time: Any = column(TIMESTAMP, "timestamp of the record at point_offset")


@frame
class SampleRuns(Frame):
    """A row is a sample that was finished. Readers ignore the rows of other samples."""

    cluster_id: Any = column(STRING, "Kafka's id of the cluster")
    sample: Any = column(STRING, "name of the sample")
    groups_at: Any = column(TIMESTAMP, "when groups were listed: record_time of its rows in group_events")
    commits_at: Any = column(TIMESTAMP, "when commits were requested: record_time of its rows in offset_commits")
    sampled_at: Any = column(TIMESTAMP, "when log ends were requested: observed_at of its rows in partition_offsets")
    groups: Any = column(INT64, "number of its rows in group_events")
    commits: Any = column(INT64, "number of its rows in offset_commits")
    partitions: Any = column(INT64, "number of its rows in partition_offsets")
    failures: Any = column(INT64, "number of groups, partitions and brokers whose rows are missing")


@frame
class IngestGaps(Frame):
    """A row is a range of offsets of __consumer_offsets for which no record was returned when it was read."""

    cluster_id: Any = column(STRING, "Kafka's id of the cluster")
    source_partition: Any = column(INT32, "partition of __consumer_offsets")
    first_offset: Any = column(INT64, "first offset of the range", unit=OFFSET)
    last_offset: Any = column(INT64, "last offset of the range", unit=OFFSET)
    missing: Any = column(INT64, "number of offsets in the range that have no record")
    reason: Any = column(
        STRING,
        "deleted: below the log start offset; compacted: because of compaction, a transaction marker or an aborted "
        "transaction",
    )
    found_at: Any = column(TIMESTAMP, "when the gap was found")


@frame
class UnknownRecords(Frame):
    """A row is a record that this version cannot decode, unchanged: nothing is dropped."""

    cluster_id: Any = column(STRING, "Kafka's id of the cluster")
    source_partition: Any = column(INT32, "partition of __consumer_offsets; null for samples")
    source_offset: Any = column(
        INT64,
        "offset in that partition; both together identify a record permanently",
        unit=OFFSET,
    )
    record_time: Any = column(TIMESTAMP, "when the broker appended the record; for samples, the time of the request")
    record_type: Any = column(INT16, "type of the key, where it has one")
    value_version: Any = column(INT16, "version of the value, where it has one")
    group: Any = column(STRING, "id of the group")
    key: Any = column(BINARY, "the key's bytes")
    value: Any = column(BINARY, "the value's bytes; null for a tombstone")
    problem: Any = column(STRING, "why it was not decoded")
