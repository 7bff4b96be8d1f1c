"""The responses of the brokers for one sample: their failures, and the partitions whose groups may be missing."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

from kafka_groups.admin import Topic
from kafka_groups.kinds import has_start_offsets
from kafka_groups.model import Failure, GroupDescription, GroupListing, GroupOffsets, Results, TopicPartition
from kafka_groups.pipeline.tables import OFFSETS_TOPIC
from kafka_groups.protocol.errors import GROUP_ID_NOT_FOUND


@dataclass(frozen=True, kw_only=True)
class SampleResponses:
    """The responses of the brokers for one sample. Times are µs since 1970, each taken before its requests were sent.

    - `listing_brokers` are the ids of the brokers that listed their groups.
    - `coordinators` has the leader of each partition of `__consumer_offsets` before groups were listed.
    - `partitions` are the partitions whose offsets were requested.
    """

    groups_at: int
    commits_at: int
    sampled_at: int
    coordinators: Mapping[int, int]
    listing_brokers: Collection[int]
    groups: Results[str, GroupListing]
    descriptions: Results[str, GroupDescription]
    commits: Results[str, GroupOffsets]  # of share groups: start offsets and lags
    topics: Results[str, Topic]
    partitions: list[TopicPartition]
    log_starts: Results[TopicPartition, int | None]
    last_stable_offsets: Results[TopicPartition, int | None]
    log_ends: Results[TopicPartition, int | None]

    def offsets_of(self, *, share_groups: bool) -> dict[str, GroupOffsets]:
        """Return the offsets of share groups, or those of all other groups."""
        return {
            name: offsets
            for name, offsets in self.commits.succeeded.items()
            if has_start_offsets(self.groups.succeeded[name].type) is share_groups
        }

    def deleted_groups(self) -> set[str]:
        """Return the ids of the groups that were deleted between the listing and the description."""
        return {name for name, failure in self.descriptions.failed.items() if failure.code == GROUP_ID_NOT_FOUND}


def unlisted_partitions(responses: SampleResponses) -> list[TopicPartition]:
    """Return the partitions of `__consumer_offsets` whose groups may be missing in the sample (UNLISTED_LOG_END).

    Leadership may move while groups are listed. So the leaders before and after the listing must both be known, and
    must both have listed their groups. If the topic cannot be described and a broker did not list its groups, partition
    0 stands for all partitions.
    """
    partitions = [partition for partition in responses.partitions if partition.topic == OFFSETS_TOPIC]
    topic_description = responses.topics.succeeded.get(OFFSETS_TOPIC)
    leaders = {} if topic_description is None else topic_description.leaders
    if not partitions and (responses.groups.failed or OFFSETS_TOPIC in responses.topics.failed):
        return [TopicPartition(OFFSETS_TOPIC, 0)]
    coordinators = (responses.coordinators, leaders)
    return [
        partition
        for partition in partitions
        if not all(
            broker_by_partition.get(partition.partition) in responses.listing_brokers
            for broker_by_partition in coordinators
        )
    ]


def collect_failures(responses: SampleResponses) -> tuple[Failure, ...]:
    """Return one failure for each group, partition and broker that failed.

    A partition without a leader fails in all three requests for its offsets; the first failure counts.
    """
    results: tuple[Results[Any, Any] | GroupOffsets, ...] = (
        responses.groups,
        responses.descriptions,
        responses.commits,
        responses.topics,
        responses.log_ends,
        responses.last_stable_offsets,
        responses.log_starts,
        *responses.commits.succeeded.values(),
    )
    deleted_groups = responses.deleted_groups()
    failure_by_item: dict[object, Failure] = {}
    for failure in chain.from_iterable(result.failed.values() for result in results):
        is_deletion = failure.group in deleted_groups and failure.code == GROUP_ID_NOT_FOUND
        if not is_deletion:
            item = (failure.group, failure.topic, failure.partition)
            failure_by_item.setdefault(failure.broker if item == (None, None, None) else item, failure)
    return tuple(failure_by_item.values())
