"""The frames of a build: what kernels take and return, and what Spark moves between the stages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from kafka_groups.pipeline.frames.columns import (
    INT32,
    INT64,
    MICROSECONDS,
    OFFSET,
    STRING,
    STRINGS,
    column,
)
from kafka_groups.pipeline.frames.frame import Frame

# What is read of a member in a list of members.
MEMBER: Final = pa.struct(
    [
        ("member_id", STRING),
        ("group_instance_id", STRING),
        ("rebalance_timeout_ms", INT32),
        ("topics", STRINGS),
        ("assignment", pa.list_(pa.struct([("topic", STRING)]))),
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRows(Frame):
    """A row is a row of `group_events`: a record of a group, or a sampled state. Its lists need Arrow."""

    origin: Any = column(STRING, "topic or sample")
    source_partition: Any = column(INT32, "partition of __consumer_offsets; null for samples")
    source_offset: Any = column(INT64, "offset of the record in that partition; null for samples", unit=OFFSET)
    at_us: Any = column(INT64, "time of the record or of the sample", unit=MICROSECONDS)
    type: Any = column(STRING, "Kafka's name of the record, or Snapshot for samples")
    event_type: Any = column(STRING, "the event, in one word")
    epoch: Any = column(INT32, "generation or epoch of the event")
    previous_epoch: Any = column(INT32, "epoch of the member before the event")
    member_id: Any = column(STRING, "the member, where the event concerns one")
    member_state: Any = column(STRING, "state of the member")
    state_us: Any = column(INT64, "when a classic group entered the state before this record", unit=MICROSECONDS)
    expression: Any = column(STRING, "the regular expression that a member subscribed to")
    topics: Any = column(STRINGS, "topics that the event names")
    members: Any = column(pa.list_(MEMBER), "all members of a classic generation, or those that a sample saw")
    group_type: Any = column(STRING, "type of the group in samples")
    state: Any = column(STRING, "state of the group in samples")
