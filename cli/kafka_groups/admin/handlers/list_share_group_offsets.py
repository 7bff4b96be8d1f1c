"""List start offsets and lags of share groups: DescribeShareGroupOffsets, with many groups in a request (KIP-932)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from kafka_groups.admin.api_handler import ApiResult
from kafka_groups.admin.handlers.features import SHARE_GROUPS_OFF
from kafka_groups.admin.lookup import add_group_error
from kafka_groups.commits import CommitTuple, PartitionCommit
from kafka_groups.errors import AdminError
from kafka_groups.model import Failure, GroupOffsets, TopicPartition
from kafka_groups.protocol import Struct
from kafka_groups.protocol.errors import broker_error
from kafka_groups.protocol.messages import DESCRIBE_SHARE_GROUP_OFFSETS

# The coordinator reads the state of each partition before it responds, which takes it two to six seconds for ten groups
# and for a thousand alike (see docs/design/admin.md for the measurement).
MAX_GROUPS: Final = 2_000


class ListShareGroupOffsetsHandler:
    """Group ids to start offsets and lags; `partitions_by_group` maps a group to its partitions, or to None for all.

    All offsets of a group are requested, also if some are named: a broker does not respond at all if a named partition
    does not exist (tried on 4.3.1). A named one that is not returned is unknown.

    Brokers return no error for an absent group, and a start offset of -1 for a partition that is not initialized or
    whose state they cannot read: it is unknown. The coordinator computes the lag since Kafka 4.2; it is unknown before,
    and where records were delivered before an upgrade to 4.2.
    """

    api = DESCRIBE_SHARE_GROUP_OFFSETS
    idempotent = True

    def __init__(self, partitions_by_group: Mapping[str, Sequence[TopicPartition] | None]) -> None:
        self._partitions_by_group = partitions_by_group

    def build_requests(self, keys: Sequence[str], version: int) -> list[tuple[Sequence[str], Mapping[str, Any]]]:
        """Return as few bodies as the limit allows."""
        parts = [keys[first : first + MAX_GROUPS] for first in range(0, len(keys), MAX_GROUPS)]
        return [(part, {"groups": [{"group_id": group, "topics": None} for group in part]}) for part in parts]

    def handle_response(self, keys: Sequence[str], version: int, payload: bytes) -> ApiResult[str, GroupOffsets]:
        """Return each group's own outcome; a group that the response lacks is in none of them."""
        result: ApiResult[str, GroupOffsets] = ApiResult()
        for group in DESCRIBE_SHARE_GROUP_OFFSETS.read_response(version, payload)["groups"]:
            if group["error_code"]:
                message = group["error_message"] or SHARE_GROUPS_OFF.get(group["error_code"])
                add_group_error(result, group["group_id"], group["error_code"], message)
            else:
                result.completed[group["group_id"]] = self._named(group["group_id"], _offsets(group))
        return result

    def to_failure(self, key: str, error: AdminError, broker: int | None) -> Failure:
        """Return the failure of the group."""
        return Failure.of(error, group=key, broker=broker)

    def _named(self, group: str, offsets: GroupOffsets) -> GroupOffsets:
        """Return the offsets of the named partitions of a group, in the order of their names."""
        partitions = self._partitions_by_group.get(group)
        if partitions is None:
            return offsets
        known = dict(offsets.rows())
        topics: dict[str, list[PartitionCommit]] = {}
        for key in sorted({TopicPartition(*partition) for partition in partitions} - offsets.failed.keys()):
            start = known.get(key)
            row = (None, None) if start is None else (start.offset, start.leader_epoch)
            topics.setdefault(key.topic, []).append((key.partition, *row, None))
        return GroupOffsets(
            [(topic, CommitTuple(rows)) for topic, rows in topics.items()],
            {key: failure for key, failure in offsets.failed.items() if key in partitions},
            lags={key: lag for key, lag in (offsets.lags or {}).items() if key in partitions},
        )


def _offsets(group: Struct) -> GroupOffsets:
    """Return the start offsets of a group; a partition with an error code is in `failed` only."""
    topics: list[tuple[str, CommitTuple]] = []
    failed: dict[TopicPartition, Failure] = {}
    lags: dict[TopicPartition, int] = {}
    for topic in group["topics"]:
        name = topic["topic_name"]
        commits: list[PartitionCommit] = []
        for row in sorted(topic["partitions"], key=lambda row: int(row["partition_index"])):
            key = TopicPartition(name, row["partition_index"])
            if row["error_code"]:
                error = broker_error(row["error_code"], row["error_message"])
                failed[key] = Failure.of(error, group=group["group_id"], topic=name, partition=key.partition)
                continue
            commits.append(_start_offset(row))
            if row["lag"] >= 0 and row["start_offset"] >= 0:
                lags[key] = row["lag"]
        topics.append((name, CommitTuple(commits)))
    return GroupOffsets(sorted(topics), failed, lags=lags)


def _start_offset(row: Struct) -> PartitionCommit:
    if row["start_offset"] < 0:
        return row["partition_index"], None, None, None
    return row["partition_index"], row["start_offset"], row["leader_epoch"], None
