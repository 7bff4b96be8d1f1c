"""The facts: what was read from the brokers, which nothing can bring back."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from kafka_groups.pipeline.records.columns import ASSIGNMENT, MEMBER, TIME
from kafka_groups.pipeline.tables.shape import (
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
ORIGIN: Final = Column("origin", TEXT, "topic: read from __consumer_offsets; sample: asked of the brokers")
SOURCE: Final = (
    Column("source_partition", INT, "partition of __consumer_offsets; null for samples"),
    Column("source_offset", LONG, "offset in it; with the partition it identifies a record for ever"),
    Column("record_time", TIME, "when the broker appended the record; for samples, when it was asked"),
)

OFFSET_COMMITS: Final = Table(
    "offset_commits",
    "Every commit and every removal of one.",
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
        Column("leader_epoch", INT, "epoch of the leader that the consumer read from; null if not told"),
        Column("metadata", TEXT, "what the consumer wrote beside the offset"),
        Column("commit_time", TIME, "when it was committed (broker's clock); for samples and tombstones, record_time"),
        Column("expire_time", TIME, "when it expires, where a client asked for a retention of its own"),
        Column("topic_id", TEXT, "id of the topic, where the broker wrote it (since 4.1)"),
        Column("tombstone", FLAG, "true: the offset expired, was deleted, or its partition was"),
        Column("value_version", pa.int16(), "version of OffsetCommitValue; null for tombstones and samples"),
    ),
)

GROUP_EVENTS: Final = Table(
    "group_events",
    "What happened to groups and members: generations, epochs, joins, leaves, removals; and sampled states.",
    ("cluster_id", "origin", "source_partition", "source_offset", "group", "record_time"),
    "record_time",
    (
        CLUSTER,
        ORIGIN,
        *SOURCE,
        GROUP,
        Column("record_type", pa.int16(), "type of the record's key; null for samples"),
        Column("value_version", pa.int16(), "version of the value; null for tombstones and samples"),
        Column("tombstone", FLAG, "true where the record removes what an earlier one said"),
        Column("type", TEXT, "Kafka's name of the record (ConsumerGroupMetadata, …), or Snapshot for samples"),
        Column("meaning", TEXT, "what happened, in one stable word; state_seen for samples"),
        Column("epoch", INT, "generation, group epoch, target epoch or member epoch, as the type says"),
        Column("previous_epoch", INT, "the member's epoch before"),
        Column("member_id", TEXT, "the member that it is about; null if it is about the group"),
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
        Column("pending_revocation", ASSIGNMENT, "partitions that it is to give up"),
        Column("details", TEXT, "everything that the record says, as JSON"),
        Column("group_type", TEXT, "Classic, Consumer, Share or Streams; sampled"),
        Column("state", TEXT, "Stable, Empty, …; sampled"),
    ),
)

PARTITION_OFFSETS: Final = Table(
    "partition_offsets",
    "Log ends of topic partitions, seen now (sample) or looked up for a time in the past (backfill).",
    ("cluster_id", "origin", "topic", "partition", "observed_at"),
    "observed_at",
    (
        CLUSTER,
        Column("origin", TEXT, "sample or backfill"),
        TOPIC,
        PARTITION,
        Column("topic_id", TEXT, "id of the topic, where the broker tells it"),
        Column("observed_at", TIME, "the time that the row speaks of"),
        Column("log_start_offset", LONG, "the first offset that can be read; null in the past"),
        Column(
            "log_end_offset",
            LONG,
            "the offset of the next record; null: not told (sample), or deleted since (backfill). Samples of "
            "__consumer_offsets tell none in a round in which not every coordinator listed its groups",
        ),
        Column("last_stable_offset", LONG, "where a read_committed consumer has to stop; null in the past"),
        Column("point_offset", LONG, "backfill: the first record at or after observed_at; null if there is none"),
        Column("point_time", TIME, "that record's own timestamp"),
    ),
)

INGEST_GAPS: Final = Table(
    "ingest_gaps",
    "Offsets of __consumer_offsets that held no record for us when they were read.",
    ("cluster_id", "source_partition", "from_offset", "until_offset"),
    "found_at",
    (
        CLUSTER,
        Column("source_partition", INT, "partition of __consumer_offsets"),
        Column("from_offset", LONG, "first offset of the range"),
        Column("until_offset", LONG, "last offset of the range"),
        Column("missing", LONG, "how many of them hold no record"),
        Column("reason", TEXT, "deleted: below the log start; compacted: compaction, transaction marks and aborts"),
        Column("found_at", TIME, "when it was found"),
    ),
)

UNKNOWN_RECORDS: Final = Table(
    "unknown_records",
    "Records that this version does not understand, as they are: nothing is dropped.",
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
        Column("problem", TEXT, "why it was not understood"),
    ),
)
