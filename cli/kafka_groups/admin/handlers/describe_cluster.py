"""Describe the cluster: its id, and what the user may do with it: DescribeCluster, or Metadata before Kafka 2.8."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from kafka_groups.acl_operations import AclOperation, operations_of
from kafka_groups.admin.api_handler import ApiResult
from kafka_groups.errors import AdminError
from kafka_groups.model import Failure
from kafka_groups.protocol.errors import broker_error
from kafka_groups.protocol.messages import DESCRIBE_CLUSTER, METADATA


class ClusterDescription(NamedTuple):
    """The id of a cluster, None if brokers return none, and the operations that the user may execute on it.

    Operations are None if they are unknown. Brokers also return an empty set to a user without DESCRIBE on the cluster:
    whether that user has other operations is unknown.
    """

    cluster_id: str | None
    authorized_operations: frozenset[AclOperation] | None


class DescribeClusterHandler:
    """The id of any broker to the description of the cluster."""

    api = DESCRIBE_CLUSTER
    idempotent = True

    def build_requests(self, keys: Sequence[int], version: int) -> list[tuple[Sequence[int], Mapping[str, Any]]]:
        """Return one body."""
        return [(keys, {"include_cluster_authorized_operations": True})]

    def handle_response(self, keys: Sequence[int], version: int, payload: bytes) -> ApiResult[int, ClusterDescription]:
        """Return the description, or the error of the broker."""
        response = DESCRIBE_CLUSTER.read_response(version, payload)
        if response["error_code"]:
            return ApiResult(failed={keys[0]: broker_error(response["error_code"], response["error_message"])})
        operations = operations_of(response["cluster_authorized_operations"])
        return ApiResult(completed={keys[0]: ClusterDescription(response["cluster_id"], operations)})

    def to_failure(self, key: int, error: AdminError, broker: int | None) -> Failure:
        """Return the failure of the broker."""
        return Failure.of(error, broker=broker)


class ClusterMetadataHandler:
    """The same for brokers without DescribeCluster. Versions 8 to 10 of Metadata have operations of the cluster."""

    api = METADATA
    idempotent = True

    def build_requests(self, keys: Sequence[int], version: int) -> list[tuple[Sequence[int], Mapping[str, Any]]]:
        """Return one body without topics."""
        return [(keys, {"topics": [], "include_cluster_authorized_operations": True})]

    def handle_response(self, keys: Sequence[int], version: int, payload: bytes) -> ApiResult[int, ClusterDescription]:
        """Return the description."""
        response = METADATA.read_response(version, payload)
        operations = operations_of(response["cluster_authorized_operations"])
        return ApiResult(completed={keys[0]: ClusterDescription(response["cluster_id"], operations)})

    def to_failure(self, key: int, error: AdminError, broker: int | None) -> Failure:
        """Return the failure of the broker."""
        return Failure.of(error, broker=broker)
