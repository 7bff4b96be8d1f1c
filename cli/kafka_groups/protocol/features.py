"""The features of a broker and of its cluster, from an ApiVersions response (KIP-584)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kafka_groups.protocol.schema import Struct


@dataclass(frozen=True, kw_only=True, slots=True)
class Features:
    """Levels by feature: the highest that the broker supports, and the one in use. Empty before Kafka 2.7."""

    supported: Mapping[str, int]
    finalized: Mapping[str, int]


def features_of(response: Struct) -> Features:
    """Return the features in a response of `protocol.messages.api_versions.FEATURES`."""
    return Features(
        supported={row["name"]: row["max_version"] for row in response["supported_features"]},
        finalized={row["name"]: row["max_version_level"] for row in response["finalized_features"]},
    )
