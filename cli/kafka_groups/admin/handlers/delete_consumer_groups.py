"""Delete groups with their commits: DeleteGroups, many groups in a request (KIP-229)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from kafka_groups.admin.api_handler import ApiResult
from kafka_groups.admin.handlers.group_change import change_failure, rights
from kafka_groups.admin.handlers.record_sizes import split_batches
from kafka_groups.admin.lookup import add_group_error
from kafka_groups.errors import AdminError
from kafka_groups.model import Failure
from kafka_groups.protocol.messages import DELETE_GROUPS

# A group without known commits has few.
MAX_GROUPS: Final = 500
_SENTENCES: Final = rights("DELETE")


class DeleteConsumerGroupsHandler:
    """Group ids to nothing: brokers delete empty groups of every type.

    `record_bytes` has the estimated bytes of the records that delete the commits of each group.
    """

    api = DELETE_GROUPS
    idempotent = False

    def __init__(self, record_bytes: Mapping[str, int] = MappingProxyType({})) -> None:
        self._record_bytes = record_bytes

    def build_requests(self, keys: Sequence[str], version: int) -> list[tuple[Sequence[str], Mapping[str, Any]]]:
        """Return as few bodies as the limits allow; every version of this API takes many groups."""
        parts = split_batches(keys, lambda group: self._record_bytes.get(group, 0), most=MAX_GROUPS)
        return [(part, {"groups_names": list(part)}) for part in parts]

    def handle_response(self, keys: Sequence[str], version: int, payload: bytes) -> ApiResult[str, None]:
        """Return each group's own outcome, with the broker's message if it returns one (Kafka 4.4)."""
        result: ApiResult[str, None] = ApiResult()
        for row in DELETE_GROUPS.read_response(version, payload)["results"]:
            if row["error_code"]:
                add_group_error(result, row["group_id"], row["error_code"], row["error_message"])
            else:
                result.completed[row["group_id"]] = None
        return result

    def to_failure(self, key: str, error: AdminError, broker: int | None) -> Failure:
        """Return the failure of the group."""
        return change_failure(key, error, broker, _SENTENCES)
