"""Describe features: what a broker supports and what the cluster uses, from ApiVersions (KIP-584)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafka_groups import __version__
from kafka_groups.admin.api_handler import ApiResult
from kafka_groups.errors import AdminError
from kafka_groups.model import Failure
from kafka_groups.protocol.errors import broker_error
from kafka_groups.protocol.features import Features, features_of
from kafka_groups.protocol.messages.api_versions import FEATURES


class DescribeFeaturesHandler:
    """Broker ids to features: brokers may differ in their versions."""

    api = FEATURES
    idempotent = True

    def build_requests(self, keys: Sequence[int], version: int) -> list[tuple[Sequence[int], Mapping[str, Any]]]:
        """Return one body with the name and the version of this client."""
        return [(keys, {"client_software_name": "kafka-groups", "client_software_version": __version__})]

    def handle_response(self, keys: Sequence[int], version: int, payload: bytes) -> ApiResult[int, Features]:
        """Return the broker's features, or its error."""
        response = FEATURES.read_response(version, payload)
        if response["error_code"]:
            return ApiResult(failed={keys[0]: broker_error(response["error_code"])})
        return ApiResult(completed={keys[0]: features_of(response)})

    def to_failure(self, key: int, error: AdminError, broker: int | None) -> Failure:
        """Return the failure of the broker."""
        return Failure.of(error, broker=key)
