"""Descriptions of share and streams groups with requests written by hand, independent of the code under test."""

from __future__ import annotations

from typing import Any

from kio.schema.describe_share_group_offsets.v1.request import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
)
from kio.schema.share_group_describe.v1.request import ShareGroupDescribeRequest
from kio.schema.streams_group_describe.v0.request import StreamsGroupDescribeRequest
from kio.schema.types import GroupId

from tests.live.groups.raw_connection import connect_to_coordinator


def describe_share_group(bootstrap: str, group: str) -> Any:
    """Return the group of a ShareGroupDescribe response; it may have an error code."""
    request = ShareGroupDescribeRequest(group_ids=(GroupId(group),), include_authorized_operations=False)
    return _only_group(bootstrap, group, request)


def describe_streams_group(bootstrap: str, group: str) -> Any:
    """Return the group of a StreamsGroupDescribe response; it may have an error code."""
    request = StreamsGroupDescribeRequest(group_ids=(GroupId(group),), include_authorized_operations=False)
    return _only_group(bootstrap, group, request)


def describe_share_offsets(bootstrap: str, group: str) -> Any:
    """Return the group of a DescribeShareGroupOffsets response for all topics; it may have an error code."""
    groups = (DescribeShareGroupOffsetsRequestGroup(group_id=GroupId(group), topics=None),)
    return _only_group(bootstrap, group, DescribeShareGroupOffsetsRequest(groups=groups))


def share_offsets(bootstrap: str, group: str) -> dict[tuple[str, int], tuple[int, int]]:
    """Return the start offset and the lag of each partition of a share group; -1 is unknown."""
    found = describe_share_offsets(bootstrap, group)
    assert not int(found.error_code), found
    return {
        (str(topic.topic_name), int(row.partition_index)): (int(row.start_offset), int(row.lag))
        for topic in found.topics
        for row in topic.partitions
    }


def _only_group(bootstrap: str, group: str, request: Any) -> Any:
    with connect_to_coordinator(bootstrap, group) as connection:
        return connection.send(request).groups[0]
