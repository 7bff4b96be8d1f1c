"""Describe the configuration of topics: DescribeConfigs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafka_groups.admin.api_handler import ApiResult
from kafka_groups.errors import AdminError
from kafka_groups.model import Failure
from kafka_groups.protocol.errors import UNKNOWN_TOPIC_OR_PARTITION, broker_error, error_code
from kafka_groups.protocol.messages import DESCRIBE_CONFIGS
from kafka_groups.protocol.messages.describe_configs import TOPIC_RESOURCE


class DescribeTopicConfigsHandler:
    """Topic names to values of their configuration, by name; any broker knows all of them."""

    api = DESCRIBE_CONFIGS
    idempotent = True

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names

    def build_requests(self, keys: Sequence[str], version: int) -> list[tuple[Sequence[str], Mapping[str, Any]]]:
        """Return one body for all topics."""
        resources = [
            {"resource_type": TOPIC_RESOURCE, "resource_name": name, "configuration_keys": [*self._names]}
            for name in keys
        ]
        return [(keys, {"resources": resources})]

    def handle_response(
        self, keys: Sequence[str], version: int, payload: bytes
    ) -> ApiResult[str, Mapping[str, str | None]]:
        """Return the values of each topic, or its error."""
        result: ApiResult[str, Mapping[str, str | None]] = ApiResult()
        for row in DESCRIBE_CONFIGS.read_response(version, payload)["results"]:
            name = row["resource_name"]
            if not row["error_code"]:
                result.completed[name] = {config["name"]: config["value"] for config in row["configs"]}
                continue
            error = broker_error(row["error_code"], row["error_message"])
            # A topic that was just created is rare here, and one that was deleted must not take the whole time.
            is_absent = row["error_code"] == UNKNOWN_TOPIC_OR_PARTITION
            if error_code(row["error_code"]).retriable and not is_absent:
                result.retriable[name] = str(error)
            else:
                result.failed[name] = error
        return result

    def to_failure(self, key: str, error: AdminError, broker: int | None) -> Failure:
        """Return the failure of the topic."""
        return Failure.of(error, topic=key, broker=broker)
