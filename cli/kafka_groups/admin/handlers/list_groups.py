"""ListGroups: which groups does each broker coordinate? The filters travel to the broker (KIP-518)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from kafka_groups.admin.driver import ApiResult
from kafka_groups.errors import AdminError, UnsupportedVersionError
from kafka_groups.model import Failure, GroupListing, spell
from kafka_groups.protocol.errors import (
    COORDINATOR_LOAD_IN_PROGRESS,
    COORDINATOR_NOT_AVAILABLE,
    broker_error,
)
from kafka_groups.protocol.messages import LIST_GROUPS
from kafka_groups.protocol.messages.list_groups import FILTERS_STATES_SINCE, FILTERS_TYPES_SINCE

_CLASSIC: Final = frozenset({"Classic"})
_CLASSIC_AND_CONSUMER: Final = frozenset({"Classic", "Consumer"})


class ListGroupsHandler:
    """Keys are broker ids; each is answered with the groups that it coordinates."""

    api = LIST_GROUPS

    def __init__(self, *, states: Collection[str] | None, types: Collection[str] | None) -> None:
        self._states = states
        self._types = types

    def build_requests(self, keys: Sequence[int], version: int) -> list[tuple[Sequence[int], Mapping[str, Any]]]:
        """One body; UnsupportedVersionError where the broker would silently ignore a filter."""
        if self._states and version < FILTERS_STATES_SINCE:
            msg = (
                f"filtering by state takes ListGroups version {FILTERS_STATES_SINCE} (Kafka 2.6 or newer); "
                f"this broker speaks up to {version}; plain listing works"
            )
            raise UnsupportedVersionError(msg)
        types = self._types or ()
        if types and version < FILTERS_TYPES_SINCE:
            # Such brokers have classic groups only, so a filter that lets those through needs no sending.
            if not _CLASSIC <= frozenset(types) <= _CLASSIC_AND_CONSUMER:
                msg = (
                    f"filtering by these types takes ListGroups version {FILTERS_TYPES_SINCE} (Kafka 3.8 or newer); "
                    f"this broker speaks up to {version}; plain listing works"
                )
                raise UnsupportedVersionError(msg)
            types = ()
        return [(keys, {"states_filter": list(self._states or ()), "types_filter": list(types)})]

    def handle_response(self, keys: Sequence[int], version: int, payload: bytes) -> ApiResult[int, list[GroupListing]]:
        """The broker's groups, or its error."""
        answer = LIST_GROUPS.read_response(version, payload)
        broker = keys[0]
        code = answer["error_code"]
        if code in (COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE):
            return ApiResult(retriable={broker: str(broker_error(code))})
        if code:
            return ApiResult(failed={broker: broker_error(code)})
        # What let `bodies` drop the filter is told of each group that the filter would have let through.
        assumed = "Classic" if self._types and version < FILTERS_TYPES_SINCE else None
        return ApiResult(completed={broker: [_listing(group, broker, assumed) for group in answer["groups"]]})

    def to_failure(self, key: int, error: AdminError, broker: int | None) -> Failure:
        """The broker's failure."""
        return Failure.of(error, broker=key)


def _listing(group: Mapping[str, str], broker: int, assumed_type: str | None) -> GroupListing:
    return GroupListing(
        group=group["group_id"],
        type=spell(group["group_type"]) or assumed_type,
        state=spell(group["group_state"]),
        protocol_type=group["protocol_type"],
        coordinator=broker,
    )
