"""The frames of the group stage: events, days of keys, and days of topics."""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa

from kafka_groups.pipeline.frames.arrays import Flags, Ints
from kafka_groups.pipeline.frames.columns import (
    BOOLEAN,
    DAYS,
    INT32,
    INT64,
    MICROSECONDS,
    MILLISECONDS,
    OFFSET,
    RECORDS,
    STRING,
    STRINGS,
    column,
)
from kafka_groups.pipeline.frames.frame import Frame, frame

# The fields of a member that the stage reads from a list of members.
MEMBER: Final = pa.struct(
    [
        ("member_id", STRING),
        ("group_instance_id", STRING),
        ("rebalance_timeout_ms", INT32),
        ("topics", STRINGS),
        ("assignment", pa.list_(pa.struct([("topic", STRING)]))),
    ]
)


@frame
class EventRows(Frame):
    """One row per row of `group_events`: a record of a group, or a sampled state. Lists and strings need Arrow."""

    origin: Any = column(STRING, "topic or sample")
    source_partition: Any = column(INT32, "partition of __consumer_offsets; null for samples")
    source_offset: Any = column(INT64, "offset of the record in that partition; null for samples", unit=OFFSET)
    at_us: Any = column(INT64, "time of the record or of the sample", unit=MICROSECONDS)
    record_name: Any = column(STRING, "Kafka's name of the record, or Snapshot for samples")
    event_type: Any = column(STRING, "the event, in one word")
    epoch: Any = column(INT32, "generation or epoch of the event")
    previous_epoch: Any = column(INT32, "epoch of the member before the event")
    member_id: Any = column(STRING, "id of the member; null if the event does not concern one")
    member_state: Any = column(STRING, "state of the member")
    state_us: Any = column(INT64, "when a classic group entered the state before this record", unit=MICROSECONDS)
    expression: Any = column(STRING, "the regular expression that a member subscribed to")
    topics: Any = column(STRINGS, "topics that the event names")
    members: Any = column(pa.list_(MEMBER), "all members of a classic generation, or those that a sample saw")
    state: Any = column(STRING, "state of the group in samples")


@frame
class KeyDays(Frame):
    """One row per key and day: what the named frames have for the key. The day of a group is the sum of its rows."""

    consumed: Ints = column(INT64, "see KeyActivity", unit=RECORDS)
    commits: Ints = column(INT64, "see KeyActivity")
    has_activity: Flags = column(BOOLEAN, "see KeyActivity")
    last_seen_us: Ints = column(INT64, "see KeyActivity", unit=MICROSECONDS)
    has_commit: Flags = column(BOOLEAN, "see KeyActivity")
    deleted_us: Ints = column(INT64, "see KeyActivity", unit=MICROSECONDS)
    clock_jump_ms: Ints = column(INT64, "see KeyActivity", unit=MILLISECONDS)
    last_activity_us: Ints = column(INT64, "see KeySummary", unit=MICROSECONDS)
    last_commit_us: Ints = column(INT64, "see KeySummary", unit=MICROSECONDS)
    has_records: Flags = column(BOOLEAN, "see KeySummary")
    is_orphaned: Flags = column(BOOLEAN, "true if the partition of the commit no longer exists")
    is_idle_partition: Flags = column(
        BOOLEAN, "true if the partition was observed at least twice, always with one log end"
    )
    max_time_lag_ms: Ints = column(INT64, "see LagExtremes", unit=MILLISECONDS)
    min_retention_margin: Ints = column(INT64, "see LagExtremes", unit=RECORDS)
    last_retention_margin_at_ms: Ints = column(INT64, "see LagExtremes", unit=MILLISECONDS)
    last_retention_margin: Ints = column(INT64, "see LagExtremes", unit=RECORDS)
    retention_left_ms: Ints = column(INT64, "see LagExtremes", unit=MILLISECONDS)
    has_start_offset: Flags = column(
        BOOLEAN, "true if samples saw the key in a share group, which has a start offset and no commit"
    )


@frame
class TopicDays(Frame):
    """One row per topic and day: sums over the partitions and groups that one task or batch saw."""

    cluster_id: Any = column(STRING, "Kafka's id of the cluster")
    topic: Any = column(STRING, "name of the topic")
    day: Any = column(INT32, "the day", unit=DAYS)
    active_groups: Any = column(INT64, "number of groups whose commits on the topic advanced")
    groups_with_commits: Any = column(INT64, "number of groups with a commit on the topic at the end of the day")
    partitions: Any = column(INT64, "number of partitions that were observed")
    produced: Any = column(INT64, "growth of the log ends; null if no log was observed twice", unit=RECORDS)
    last_seen_us: Any = column(INT64, "last sample that saw a partition of the topic", unit=MICROSECONDS)
    is_subscribed: Any = column(BOOLEAN, "true if a member subscribes to the topic, or has partitions of it")
