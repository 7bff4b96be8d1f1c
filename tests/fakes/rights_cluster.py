"""A scripted cluster that returns what its one user may do (KIP-430)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kafka_groups.acl_operations import UNKNOWN_OPERATIONS, AclOperation
from kafka_groups.protocol import Struct
from tests.fakes.reactions import ReceivedRequest
from tests.fakes.scripted_cluster import ScriptedCluster

_TOPIC_AUTHORIZATION_FAILED = 29
EVERY_OPERATION = frozenset(AclOperation)


def bits_of(operations: Iterable[AclOperation] | None) -> int:
    """Return a set of operations as brokers do."""
    return UNKNOWN_OPERATIONS if operations is None else sum(1 << operation for operation in operations)


class RightsCluster(ScriptedCluster):
    """A cluster whose user has these operations on the cluster, and on groups and topics; all on those not named.

    None stands for a broker that does not know them. A topic without operations is denied.
    """

    def __init__(
        self,
        *,
        on_cluster: Iterable[AclOperation] | None = EVERY_OPERATION,
        on_groups: Mapping[str, Iterable[AclOperation] | None] | None = None,
        on_topics: Mapping[str, Iterable[AclOperation] | None] | None = None,
        **options: Any,
    ) -> None:
        self.on_cluster = on_cluster
        self.on_groups = dict(on_groups or {})
        self.on_topics = dict(on_topics or {})
        super().__init__(**options)

    def _respond(self, request: ReceivedRequest) -> Struct:
        response = super()._respond(request)
        if request.body.get("include_authorized_operations"):
            return {**response, "groups": [self._with_operations(row) for row in response["groups"]]}
        return response

    def _with_operations(self, row: Struct) -> Struct:
        operations = self.on_groups.get(row["group_id"], EVERY_OPERATION)
        return {**row, "authorized_operations": bits_of(operations)}

    def _respond_DescribeCluster(self, request: ReceivedRequest) -> Struct:  # noqa: N802 # The name has the API's.
        bits = bits_of(self.on_cluster) if request.body["include_cluster_authorized_operations"] else UNKNOWN_OPERATIONS
        return {"cluster_id": "scripted", "cluster_authorized_operations": bits}

    def _respond_Metadata(self, request: ReceivedRequest) -> Struct:  # noqa: N802 # The name has the API's.
        response = super()._respond_Metadata(request)
        if request.body["include_topic_authorized_operations"]:
            response["topics"] = [self._topic_with_operations(row) for row in response["topics"]]
        if request.body.get("include_cluster_authorized_operations"):
            response["cluster_authorized_operations"] = bits_of(self.on_cluster)
        return response

    def _topic_with_operations(self, row: Struct) -> Struct:
        operations = self.on_topics.get(row["name"], EVERY_OPERATION)
        if operations is not None and not [*operations]:
            return {**row, "error_code": _TOPIC_AUTHORIZATION_FAILED, "partitions": []}
        return {**row, "topic_authorized_operations": bits_of(operations)}
