"""Tables of states, which a build carries from one day to the next. They are internal and may change at any time."""

from __future__ import annotations

from typing import Any

from kafka_groups.pipeline.frames.columns import BINARY, INT32, STRING, TIMESTAMP, column
from kafka_groups.pipeline.frames.frame import Frame, frame


@frame
class PartitionState(Frame):
    """One row per partition (with a null group) and per group on a partition: its state at the end of the day."""

    cluster_id: Any = column(STRING, "Kafka's id of the cluster")
    topic: Any = column(STRING, "name of the topic")
    partition: Any = column(INT32, "partition of the topic")
    group: Any = column(STRING, "id of the group")
    day: Any = column(TIMESTAMP, "midnight, UTC")
    state: Any = column(BINARY, "packed rows of the build's frames")


@frame
class GroupState(Frame):
    """One row per group: its state at the end of the day."""

    cluster_id: Any = column(STRING, "Kafka's id of the cluster")
    group: Any = column(STRING, "id of the group")
    day: Any = column(TIMESTAMP, "midnight, UTC")
    state: Any = column(STRING, "members, epochs and subscriptions, as JSON")
