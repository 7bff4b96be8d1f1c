"""Tables of states, which hold at the end of their day. They are not documented, and may change with any version."""

from __future__ import annotations

from typing import Any

from kafka_groups.pipeline.frames.columns import BINARY, INT32, STRING, TIMESTAMP, column
from kafka_groups.pipeline.frames.frame import Frame, frame


@frame
class PartitionState(Frame):
    """A row is what a build carries to the next day about a partition (group is null), or about a group on one."""

    cluster_id: Any = column(STRING, "Kafka's id of the cluster")
    topic: Any = column(STRING, "name of the topic")
    partition: Any = column(INT32, "partition of the topic")
    group: Any = column(STRING, "id of the group")
    day: Any = column(TIMESTAMP, "midnight, UTC")
    state: Any = column(BINARY, "packed numbers of the frames of the build")


@frame
class GroupState(Frame):
    """A row is what a build carries from a day to the next about a group."""

    cluster_id: Any = column(STRING, "Kafka's id of the cluster")
    group: Any = column(STRING, "id of the group")
    day: Any = column(TIMESTAMP, "midnight, UTC")
    state: Any = column(STRING, "members, epochs and subscriptions, as JSON")
