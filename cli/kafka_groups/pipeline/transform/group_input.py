"""What the stage of groups takes: rows of the first stage, events, and the state before them."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from kafka_groups.pipeline.schemas import GROUP_EVENTS
from kafka_groups.pipeline.transform.kernels.lag import Worst
from kafka_groups.pipeline.transform.kernels.offsets import KeyDays
from kafka_groups.pipeline.transform.kernels.verdicts import KeyStatuses

STATE, EVENT, STATUS, KEY, TOPIC, FILE = range(6)
# Numbers of a KEY row, in the order of its payload: what happened to a commit on a day, and the worst of its lag rows.
# `is_quiet`: its partition was observed and did not grow; many clients commit nothing on such a partition.
TOTALS: Final = ("moved_us", "commit_us", "has_records")  # of KeyTotals
KEY_NUMBERS: Final = (*KeyDays.names(), *TOTALS, "is_orphaned", "is_quiet", *Worst.names())
KEY_FLAGS: Final = ("has_records", "lives", "is_orphaned", "is_quiet")
# And of a TOPIC row, which is of a partition.
TOPIC_NUMBERS: Final = ("partitions", "grown", "sampled_us")
# Of a STATUS row, without a rank if it is the removal of a commit. Rates are records a second.
STATUS_NUMBERS: Final = KeyStatuses.names()[1:]
_REALS: Final = ("complete", "consume", "produce")
# `name` is a group, or a topic where the row is of a topic. The payload is packed numbers, a state as JSON, or a file
# as JSON.
OUTPUT: Final = pa.schema(
    [
        ("cluster_id", pa.string()),
        ("name", pa.string()),
        ("kind", pa.int8()),
        ("day", pa.int32()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        *((name, pa.float64() if name in _REALS else pa.int64()) for name in STATUS_NUMBERS),
        ("payload", pa.binary()),
    ]
)
_EVENTS: Final = GROUP_EVENTS.arrow()
_MEMBER: Final = _EVENTS.field("members").type.value_type
_MEMBER_COLUMNS: Final = ("member_id", "group_instance_id", "rebalance_timeout_ms", "topics")
MEMBERS: Final = pa.list_(
    pa.struct([*map(_MEMBER.field, _MEMBER_COLUMNS), ("assignment", pa.list_(pa.struct([("topic", pa.string())])))])
)
# What is read of an event, as it is in group_events.
EVENT_COLUMNS: Final = (
    *("origin", "source_partition", "source_offset", "type", "event_type", "epoch", "previous_epoch", "member_id"),
    *("member_state", "topics", "group_type", "state"),
)
# The record time of an event is `at_us`; `expression` is `$.regular_expression` of the column `details`.
GROUP_INPUT: Final = pa.schema(
    [
        *OUTPUT,
        *map(_EVENTS.field, EVENT_COLUMNS),
        ("state_us", pa.int64()),
        ("members", MEMBERS),
        ("expression", pa.string()),
    ]
)
