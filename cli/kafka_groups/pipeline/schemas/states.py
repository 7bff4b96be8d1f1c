"""The tables of states, which a build hands from day to day: beside the documented tables, for builds alone."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from kafka_groups.pipeline.decode.columns import TIME
from kafka_groups.pipeline.schemas.shape import CLUSTER, GROUP, PARTITION, TEXT, TOPIC, Column, Table

_DAY: Final = Column("day", TIME, "the day at whose end it holds")
PARTITION_STATE: Final = Table(
    "partition_state",
    "What a build hands from day to day: of topic partitions (group null), and of groups on them.",
    ("cluster_id", "topic", "partition", "group", "day"),
    "day",
    (
        CLUSTER,
        TOPIC,
        PARTITION,
        GROUP,
        _DAY,
        Column("state", pa.binary(), "numbers, as transform/state.py and packed_numbers.py have them"),
    ),
    derived=True,
)
GROUP_STATE: Final = Table(
    "group_state",
    "What a build hands from day to day: of groups.",
    ("cluster_id", "group", "day"),
    "day",
    (CLUSTER, GROUP, _DAY, Column("state", TEXT, "members, epochs and subscriptions, as JSON")),
    derived=True,
)
STATES: Final = (PARTITION_STATE, GROUP_STATE)
