"""Tables of facts: data that were read from brokers, and that no build can derive again if they are lost."""

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
    RECORDS,
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
_CONNECTORS: Final = pa.list_(
    pa.struct([("connector", STRING), ("has_connector", BOOLEAN), ("tasks", pa.list_(INT32))]),
)
WORKERS: Final = pa.list_(
    pa.struct(
        [("member_id", STRING), ("url", STRING), ("connectors", _CONNECTORS), ("scheduled_delay_ms", INT32)],
    )
)
_SUBTOPOLOGIES: Final = pa.list_(pa.struct([("subtopology", STRING), ("partitions", pa.list_(INT32))]))
TASKS: Final = pa.list_(
    pa.struct(
        [
            ("member_id", STRING),
            ("active", _SUBTOPOLOGIES),
            ("standby", _SUBTOPOLOGIES),
            ("warmup", _SUBTOPOLOGIES),
        ]
    )
)


@frame
class OffsetCommits(Frame):
    """One row per commit of a group on a partition, and per deletion of a commit."""

    cluster_id: Any = column(STRING, "Kafka's id of the cluster")
    origin: Any = column(STRING, "topic: read from __consumer_offsets; sample: requested from the brokers")
    source_partition: Any = column(INT32, "partition of __consumer_offsets; null for samples")
    source_offset: Any = column(
        INT64,
        "offset in that partition; partition and offset identify the record permanently",
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
    leader_epoch: Any = column(INT32, "leader epoch of the last record consumed; null if the commit has none")
    metadata: Any = column(STRING, "metadata that the consumer committed with the offset")
    commit_time: Any = column(
        TIMESTAMP,
        "time of the commit, by the coordinator's clock; for samples and tombstones, record_time",
    )
    expire_time: Any = column(TIMESTAMP, "when the commit expires, if the client requested a retention time")
    topic_id: Any = column(STRING, "id of the topic, where the broker wrote it (since 4.1)")
    is_tombstone: Any = column(
        BOOLEAN, "true if the row is a deletion: the commit expired, or the commit or its topic was deleted"
    )
    value_version: Any = column(INT16, "version of OffsetCommitValue; null for tombstones and samples")
    member_count: Any = column(INT32, "number of members of the group in the sample; null if unknown, and for records")


@frame
class GroupEvents(Frame):
    """One row per event of a group or a member (generation, epoch, join, leave, deletion), and per sampled state."""

    cluster_id: Any = column(STRING, "Kafka's id of the cluster")
    origin: Any = column(STRING, "topic: read from __consumer_offsets; sample: requested from the brokers")
    source_partition: Any = column(INT32, "partition of __consumer_offsets; null for samples")
    source_offset: Any = column(
        INT64,
        "offset in that partition; partition and offset identify the record permanently",
        unit=OFFSET,
    )
    record_time: Any = column(TIMESTAMP, "when the broker appended the record; for samples, the time of the request")
    group: Any = column(STRING, "id of the group")
    record_type: Any = column(INT16, "type of the record's key; null for samples")
    value_version: Any = column(INT16, "version of the value; null for tombstones and samples")
    is_tombstone: Any = column(BOOLEAN, "true if the record deletes an earlier one (a tombstone)")
    record_name: Any = column(STRING, "Kafka's name of the record (ConsumerGroupMetadata, …); Snapshot for samples")
    event_type: Any = column(
        STRING,
        "the event: generation, group_emptied, group_epoch, group_removed, member_metadata, member_assignment, "
        "member_left and others, named alike in all versions of Kafka; state_seen for samples",
    )
    epoch: Any = column(INT32, "generation, group epoch, target epoch or member epoch, depending on the record")
    previous_epoch: Any = column(INT32, "the member's epoch before this event")
    member_id: Any = column(STRING, "id of the member that the event is about; null if it is about the group")
    member_state: Any = column(
        STRING,
        "STABLE, UNREVOKED_PARTITIONS or UNRELEASED_PARTITIONS (KIP-848), …_TASKS (streams groups), else UNKNOWN",
    )
    group_instance_id: Any = column(STRING, "the member's group.instance.id; null for a dynamic member")
    client_id: Any = column(STRING, "the member's client id")
    client_host: Any = column(STRING, "the member's host")
    protocol_type: Any = column(STRING, "consumer, connect, … of a classic group")
    protocol: Any = column(
        STRING,
        "assignor of a classic group; in samples, also the assignor of a KIP-848 group",
    )
    leader: Any = column(STRING, "id of the member that leads a classic group")
    state_time: Any = column(
        TIMESTAMP,
        "when a classic group entered its state, when a target assignment was computed (since 4.3), or when a "
        "regular expression was resolved",
    )
    topics: Any = column(STRINGS, "topics that the member subscribes to")
    members: Any = column(MEMBERS, "all members of a classic generation, or of a sampled group")
    assignment: Any = column(ASSIGNMENT, "partitions that are assigned to the member")
    pending_revocation: Any = column(ASSIGNMENT, "partitions that the member must revoke")
    workers: Any = column(
        WORKERS,
        "the workers of a Connect group: the URL of each, the connectors and tasks that it runs (has_connector: it "
        "runs the connector itself), and how long the leader still withholds tasks of a lost worker. connectors is "
        "null while the group rebalances, or if the worker's bytes are unreadable. The column is null for other groups",
    )
    tasks: Any = column(
        TASKS,
        "tasks of members of a streams group, by subtopology: those that the member runs (active), those whose state "
        "it copies (standby), and those that it will take over (warmup). A record names one member: target_assignment "
        "has the tasks that it will have at the end, other events those that it has. A sample names all members. Null "
        "for other groups and events",
    )
    tasks_pending_revocation: Any = column(TASKS, "tasks that the member of a streams group must revoke")
    details: Any = column(STRING, "the entire content of the record, as JSON")
    group_type: Any = column(STRING, "type of the group: Classic, Consumer, Share or Streams; null for records")
    state: Any = column(STRING, "state of the group: Stable, Empty, …; null for records")


@frame
class PartitionOffsets(Frame):
    """One row per partition and time: the log end offset, as sampled at that time or backfilled later."""

    cluster_id: Any = column(STRING, "Kafka's id of the cluster")
    origin: Any = column(STRING, "sample or backfill")
    topic: Any = column(STRING, "name of the topic")
    partition: Any = column(INT32, "partition of the topic")
    topic_id: Any = column(STRING, "id of the topic, if the broker returns it")
    observed_at: Any = column(TIMESTAMP, "time of the offsets in this row")
    log_start_offset: Any = column(INT64, "first offset that can be read; null for backfills", unit=OFFSET)
    log_end_offset: Any = column(
        INT64,
        "the offset of the next record. Null if unknown (sample), or if the records of that time were deleted "
        "(backfill). For a partition of __consumer_offsets, null in a sample may also mean that its coordinator "
        "did not list its groups",
        unit=OFFSET,
    )
    last_stable_offset: Any = column(
        INT64,
        "last stable offset, where a read_committed consumer stops; null for backfills",
        unit=OFFSET,
    )
    lookup_offset: Any = column(
        INT64,
        "in backfills, the offset of the first record at or after observed_at; null if there is none",
        unit=OFFSET,
    )
    lookup_timestamp: Any = column(TIMESTAMP, "timestamp of the record at lookup_offset")


@frame
class ShareOffsets(Frame):
    """One row per partition of a share group and sample: its start offset, and the lag that its coordinator computes.

    Brokers keep no history of either: they prune the records of `__share_group_state` every five minutes.
    """

    cluster_id: Any = column(STRING, "Kafka's id of the cluster")
    group: Any = column(STRING, "id of the share group")
    topic: Any = column(STRING, "name of the topic")
    partition: Any = column(INT32, "partition of the topic")
    observed_at: Any = column(
        TIMESTAMP,
        "time of the sample, as observed_at of its rows in partition_offsets; offset and lag are those of some "
        "milliseconds before, when commits were requested",
    )
    start_offset: Any = column(
        INT64,
        "first offset whose delivery to the group may not be final; null if unknown",
        unit=OFFSET,
    )
    leader_epoch: Any = column(INT32, "leader epoch of the start offset; null if unknown")
    lag: Any = column(
        INT64,
        "number of records whose delivery is not final, by the coordinator. Records beyond the start offset may be "
        "delivered already, so it is not log end offset minus start offset. Null if unknown, as before Kafka 4.2",
        unit=RECORDS,
    )


@frame
class SampleRuns(Frame):
    """One row per finished sample. Readers ignore the rows of samples that are not listed here."""

    cluster_id: Any = column(STRING, "Kafka's id of the cluster")
    sample: Any = column(STRING, "name of the sample")
    groups_at: Any = column(TIMESTAMP, "when groups were listed: record_time of its rows in group_events")
    commits_at: Any = column(TIMESTAMP, "when commits were requested: record_time of its rows in offset_commits")
    sampled_at: Any = column(
        TIMESTAMP,
        "when log end offsets were requested: observed_at of its rows in partition_offsets",
    )
    groups: Any = column(INT64, "number of its rows in group_events")
    commits: Any = column(INT64, "number of its rows in offset_commits")
    partitions: Any = column(INT64, "number of its rows in partition_offsets")
    share_offsets: Any = column(INT64, "number of its rows in share_offsets")
    failures: Any = column(
        INT64, "number of groups, partitions and brokers that could not be sampled, so that their rows are missing"
    )


@frame
class IngestGaps(Frame):
    """One row per range of offsets of __consumer_offsets in which records were missing when it was read."""

    cluster_id: Any = column(STRING, "Kafka's id of the cluster")
    source_partition: Any = column(INT32, "partition of __consumer_offsets")
    first_offset: Any = column(INT64, "first offset of the range", unit=OFFSET)
    last_offset: Any = column(INT64, "last offset of the range", unit=OFFSET)
    missing: Any = column(INT64, "number of offsets in the range that have no record")
    reason: Any = column(
        STRING,
        "deleted: the offsets are below the log start offset. compacted: compaction removed the records, or the "
        "offsets belong to a transaction marker or an aborted transaction",
    )
    found_at: Any = column(TIMESTAMP, "when the records were found to be missing")


@frame
class UnknownRecords(Frame):
    """One row per record that this version cannot decode, with its unchanged key and value."""

    cluster_id: Any = column(STRING, "Kafka's id of the cluster")
    source_partition: Any = column(INT32, "partition of __consumer_offsets")
    source_offset: Any = column(
        INT64,
        "offset in that partition; partition and offset identify the record permanently",
        unit=OFFSET,
    )
    record_time: Any = column(TIMESTAMP, "when the broker appended the record")
    record_type: Any = column(INT16, "type of the key; null if it has none")
    value_version: Any = column(INT16, "version of the value; null if it has none")
    group: Any = column(STRING, "id of the group")
    key: Any = column(BINARY, "the key's bytes")
    value: Any = column(BINARY, "the value's bytes; null for a tombstone")
    problem: Any = column(STRING, "the reason why the record cannot be decoded")
