"""The facts: what was read from the brokers, which nothing can bring back."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from kafka_groups.pipeline.decode.columns import ASSIGNMENT, MEMBER, TIME
from kafka_groups.pipeline.schemas.shape import (
    CLUSTER,
    FLAG,
    GROUP,
    INT,
    LONG,
    PARTITION,
    TEXT,
    TEXTS,
    TOPIC,
    Column,
    Table,
)

OFFSETS_TOPIC: Final = "__consumer_offsets"
ORIGIN: Final = Column("origin", TEXT, "topic: read from __consumer_offsets; sample: requested from the brokers")
SOURCE: Final = (
    Column("source_partition", INT, "partition of __consumer_offsets; null for samples"),
    Column("source_offset", LONG, "offset in it; with the partition it identifies a record permanently"),
    Column("record_time", TIME, "when the broker appended the record; for samples, the time of the request"),
)

OFFSET_COMMITS: Final = Table(
    "offset_commits",
    "Every commit, and every deletion of a commit.",
    ("cluster_id", "origin", "source_partition", "source_offset", "group", "topic", "partition", "commit_time"),
    "commit_time",
    (
        CLUSTER,
        ORIGIN,
        *SOURCE,
        GROUP,
        TOPIC,
        PARTITION,
        Column("committed_offset", LONG, "the next offset that the group would read; null for a tombstone"),
        Column("leader_epoch", INT, "epoch of the leader that the consumer read from; null if the commit has none"),
        Column("metadata", TEXT, "metadata that the consumer committed with the offset"),
        Column("commit_time", TIME, "when it was committed (broker's clock); for samples and tombstones, record_time"),
        Column("expire_time", TIME, "when it expires, if a client requested a retention of its own"),
        Column("topic_id", TEXT, "id of the topic, where the broker wrote it (since 4.1)"),
        Column("tombstone", FLAG, "true: the offset expired, was deleted, or its partition was"),
        Column("value_version", pa.int16(), "version of OffsetCommitValue; null for tombstones and samples"),
    ),
)

GROUP_EVENTS: Final = Table(
    "group_events",
    "Events of groups and members: generations, epochs, joins, leaves, deletions; and sampled states.",
    ("cluster_id", "origin", "source_partition", "source_offset", "group", "record_time"),
    "record_time",
    (
        CLUSTER,
        ORIGIN,
        *SOURCE,
        GROUP,
        Column("record_type", pa.int16(), "type of the record's key; null for samples"),
        Column("value_version", pa.int16(), "version of the value; null for tombstones and samples"),
        Column("tombstone", FLAG, "true if the record deletes an earlier one (a tombstone)"),
        Column("type", TEXT, "Kafka's name of the record (ConsumerGroupMetadata, …), or Snapshot for samples"),
        Column("event_type", TEXT, "the event, in one stable word; state_seen for samples"),
        Column("epoch", INT, "generation, group epoch, target epoch or member epoch, as the type says"),
        Column("previous_epoch", INT, "the member's epoch before"),
        Column("member_id", TEXT, "the member that the event is of; null if it is of the group"),
        Column(
            "member_state",
            TEXT,
            "STABLE, UNREVOKED_PARTITIONS or UNRELEASED_PARTITIONS (KIP-848); of streams groups …_TASKS; else UNKNOWN",
        ),
        Column("group_instance_id", TEXT, "the member's static id"),
        Column("client_id", TEXT, "the member's client id"),
        Column("client_host", TEXT, "the member's host"),
        Column("protocol_type", TEXT, "consumer, connect, … of a classic group"),
        Column("protocol", TEXT, "the assignor that a classic group chose; for samples, that of a KIP-848 group, too"),
        Column("leader", TEXT, "the member that leads a classic group"),
        Column(
            "state_time",
            TIME,
            "when a classic group entered its state, a target assignment was made (since 4.3), a pattern was resolved",
        ),
        Column("topics", TEXTS, "topics that the member subscribed to"),
        Column("members", pa.list_(MEMBER), "all members: of a classic generation, or as sampled"),
        Column("assignment", ASSIGNMENT, "partitions of the member"),
        Column("pending_revocation", ASSIGNMENT, "partitions that it must revoke"),
        Column("details", TEXT, "the whole content of the record, as JSON"),
        Column("group_type", TEXT, "Classic, Consumer, Share or Streams; sampled"),
        Column("state", TEXT, "Stable, Empty, …; sampled"),
    ),
)

PARTITION_OFFSETS: Final = Table(
    "partition_offsets",
    "Log end offsets of topic partitions, current ones (sample) or of a time in the past (backfill).",
    ("cluster_id", "origin", "topic", "partition", "observed_at"),
    "observed_at",
    (
        CLUSTER,
        Column("origin", TEXT, "sample or backfill"),
        TOPIC,
        PARTITION,
        Column("topic_id", TEXT, "id of the topic, if the broker returns it"),
        Column("observed_at", TIME, "the time of the offsets in this row"),
        Column("log_start_offset", LONG, "the first offset that can be read; null in the past"),
        Column(
            "log_end_offset",
            LONG,
            "the offset of the next record; null: unknown (sample), or deleted since (backfill). A sample in which not "
            "every coordinator listed its groups has none of __consumer_offsets",
        ),
        Column(
            "last_stable_offset", LONG, "last stable offset, where a read_committed consumer stops; null in the past"
        ),
        Column("point_offset", LONG, "backfill: the first record at or after observed_at; null if there is none"),
        Column("point_time", TIME, "that record's own timestamp"),
    ),
)

SAMPLE_RUNS: Final = Table(
    "sample_runs",
    "Samples that were finished; rows of another sample do not count.",
    ("cluster_id", "sampled_at"),
    "sampled_at",
    (
        CLUSTER,
        Column("sample", TEXT, "name of the sample"),
        Column("groups_at", TIME, "when groups were listed: record_time of its rows in group_events"),
        Column("commits_at", TIME, "when commits were requested: record_time of its rows in offset_commits"),
        Column("sampled_at", TIME, "when log ends were requested: observed_at of its rows in partition_offsets"),
        Column("groups", LONG, "rows in group_events"),
        Column("commits", LONG, "rows in offset_commits"),
        Column("partitions", LONG, "rows in partition_offsets"),
        Column("failures", LONG, "groups, partitions and brokers whose part is missing"),
    ),
)

INGEST_GAPS: Final = Table(
    "ingest_gaps",
    "Offsets of __consumer_offsets for which no record was returned when they were read.",
    ("cluster_id", "source_partition", "from_offset", "until_offset"),
    "found_at",
    (
        CLUSTER,
        Column("source_partition", INT, "partition of __consumer_offsets"),
        Column("from_offset", LONG, "first offset of the range"),
        Column("until_offset", LONG, "last offset of the range"),
        Column("missing", LONG, "how many of them have no record"),
        Column("reason", TEXT, "deleted: below the log start; compacted: compaction, transaction marks and aborts"),
        Column("found_at", TIME, "when it was found"),
    ),
)

UNKNOWN_RECORDS: Final = Table(
    "unknown_records",
    "Records that this version cannot decode, unchanged: nothing is dropped.",
    ("cluster_id", "source_partition", "source_offset"),
    "record_time",
    (
        CLUSTER,
        *SOURCE,
        Column("record_type", pa.int16(), "type of the key, where it has one"),
        Column("value_version", pa.int16(), "version of the value, where it has one"),
        GROUP,
        Column("key", pa.binary(), "the key's bytes"),
        Column("value", pa.binary(), "the value's bytes; null for a tombstone"),
        Column("problem", TEXT, "why it was not decoded"),
    ),
)
