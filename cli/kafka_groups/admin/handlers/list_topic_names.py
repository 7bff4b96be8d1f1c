"""List the names of topics by their ids: Metadata, since version 12."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from kafka_groups.admin.api_handler import ApiResult
from kafka_groups.errors import AdminError, UnsupportedVersionError
from kafka_groups.model import Failure
from kafka_groups.protocol.errors import UNKNOWN_TOPIC_ID, broker_error
from kafka_groups.protocol.messages import METADATA
from kafka_groups.protocol.messages.metadata import TOPIC_IDS_SINCE
from kafka_groups.protocol.topic_ids import format_topic_id


class ListTopicNamesHandler:
    """Topic ids to topic names, all in one request."""

    api = METADATA
    idempotent = True

    def build_requests(self, keys: Sequence[UUID], version: int) -> list[tuple[Sequence[UUID], Mapping[str, Any]]]:
        """Return one body for all topics."""
        if version < TOPIC_IDS_SINCE:
            msg = (
                f"topics by id need Metadata version {TOPIC_IDS_SINCE} (Kafka 3.1); the broker supports up to {version}"
            )
            raise UnsupportedVersionError(msg)
        topics = [{"topic_id": topic_id, "name": None} for topic_id in keys]
        return [(keys, {"topics": topics, "allow_auto_topic_creation": False})]

    def handle_response(self, keys: Sequence[UUID], version: int, payload: bytes) -> ApiResult[UUID, str]:
        """Return the name of each topic, which brokers return beside some errors, too."""
        result: ApiResult[UUID, str] = ApiResult()
        for topic in METADATA.read_response(version, payload)["topics"]:
            if topic["name"]:
                result.completed[topic["topic_id"]] = topic["name"]
            else:
                result.failed[topic["topic_id"]] = broker_error(topic["error_code"] or UNKNOWN_TOPIC_ID)
        return result

    def to_failure(self, key: UUID, error: AdminError, broker: int | None) -> Failure:
        """Return the failure of the topic id, which is in the message."""
        return Failure.of(error, broker=broker)._replace(message=f"topic id {format_topic_id(key)}: {error}")
