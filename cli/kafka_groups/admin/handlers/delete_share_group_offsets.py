"""Delete offsets of share groups: DeleteShareGroupOffsets, a request for each group, of whole topics (KIP-932)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from kafka_groups.admin.api_handler import ApiResult
from kafka_groups.admin.handlers.features import SHARE_GROUPS_OFF
from kafka_groups.admin.handlers.group_change import GroupChangeHandler, rights
from kafka_groups.model import Failure
from kafka_groups.protocol.errors import NON_EMPTY_GROUP, REBALANCE_IN_PROGRESS, UNKNOWN_TOPIC_OR_PARTITION
from kafka_groups.protocol.messages import DELETE_SHARE_GROUP_OFFSETS


class DeleteShareGroupOffsetsHandler(GroupChangeHandler[str]):
    """Group ids to what became of each topic. Brokers refuse it while the group has members."""

    api = DELETE_SHARE_GROUP_OFFSETS
    retriable_codes: ClassVar[frozenset[int]] = frozenset({REBALANCE_IN_PROGRESS})
    sentences: ClassVar[Mapping[int, str]] = {
        NON_EMPTY_GROUP: "the share group has members now; stop them and try again",
        UNKNOWN_TOPIC_OR_PARTITION: "the group has no start offsets on this topic, or the topic does not exist",
        **SHARE_GROUPS_OFF,
        **rights("DELETE", "READ"),
    }

    def build_requests(self, keys: Sequence[str], version: int) -> list[tuple[Sequence[str], Mapping[str, Any]]]:
        """Return one body for each group, with its open topics."""
        return [
            ((group,), {"group_id": group, "topics": [{"topic_name": name} for name in self._next_items(group)]})
            for group in keys
        ]

    def handle_response(
        self, keys: Sequence[str], version: int, payload: bytes
    ) -> ApiResult[str, Mapping[str, Failure | None]]:
        """Return the outcome of each topic, or the error of the group. Codes of topics are final."""
        group = keys[0]
        result: ApiResult[str, Mapping[str, Failure | None]] = ApiResult()
        response = DELETE_SHARE_GROUP_OFFSETS.read_response(version, payload)
        if response["error_code"]:
            self._add_group_error(result, group, response["error_code"])
            return result
        self._record_codes(group, {row["topic_name"]: row["error_code"] for row in response["responses"]})
        self._add_outcome(result, group)
        return result

    def _item_failure(self, failure: Failure, item: str) -> Failure:
        return failure._replace(topic=item)
