"""List all topics of a cluster, with their partitions and leaders: Metadata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kafka_groups.admin.api import Topic
from kafka_groups.admin.api_handler import ApiResult
from kafka_groups.admin.handlers.describe_topics import read_leaders, read_topic
from kafka_groups.errors import AdminError
from kafka_groups.model import Failure
from kafka_groups.protocol import Struct
from kafka_groups.protocol.errors import broker_error
from kafka_groups.protocol.messages import METADATA
from kafka_groups.protocol.messages.metadata import NO_BROKERS


@dataclass(kw_only=True)
class TopicListing:
    """All topics, from one broker. A partition without a leader has -1 in `leaders`."""

    topics: dict[str, Topic] = field(default_factory=dict)
    leaders: dict[str, dict[int, int]] = field(default_factory=dict)
    failed: dict[str, Failure] = field(default_factory=dict)


class ListTopicsHandler:
    """The id of any broker to the listing of all topics."""

    api = METADATA
    idempotent = True

    def build_requests(self, keys: Sequence[int], version: int) -> list[tuple[Sequence[int], Mapping[str, Any]]]:
        """Return one body, which names no topic and so requests all."""
        return [(keys, {"topics": None, "allow_auto_topic_creation": False})]

    def handle_response(self, keys: Sequence[int], version: int, payload: bytes) -> ApiResult[int, TopicListing]:
        """Return the topics, and the errors of single topics."""
        response = METADATA.read_response(version, payload)
        if not response["brokers"]:
            return ApiResult(retriable=dict.fromkeys(keys, NO_BROKERS))
        if response["error_code"]:
            return ApiResult(failed={keys[0]: broker_error(response["error_code"])})
        listing = TopicListing()
        for topic in response["topics"]:
            _add_topic(listing, topic)
        return ApiResult(completed={keys[0]: listing})

    def to_failure(self, key: int, error: AdminError, broker: int | None) -> Failure:
        """Return the failure of the broker."""
        return Failure.of(error, broker=broker)


def _add_topic(listing: TopicListing, topic: Struct) -> None:
    name = topic["name"]
    if topic["error_code"]:
        listing.failed[name] = Failure.of(broker_error(topic["error_code"]), topic=name)
        return
    listing.topics[name] = read_topic(topic)
    listing.leaders[name] = read_leaders(topic)
