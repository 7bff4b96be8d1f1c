"""List groups: ListGroups to every broker, which returns the groups that it coordinates and applies the filters."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from kafka_groups.admin.driver import ApiResult
from kafka_groups.errors import AdminError, UnsupportedVersionError
from kafka_groups.model import GROUP_STATES, GROUP_TYPES, Failure, GroupListing, canonical_name
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
    """Broker ids to the groups that each broker coordinates; filters are applied by the brokers (KIP-518).

    Raises ValueError for an empty filter, which would match nothing, and for a name that is no state or type.
    """

    api = LIST_GROUPS

    def __init__(self, *, states: Collection[str] | None, types: Collection[str] | None) -> None:
        self._states = _spelled(states, GROUP_STATES, "states")
        self._types = _spelled(types, GROUP_TYPES, "types")

    def build_requests(self, keys: Sequence[int], version: int) -> list[tuple[Sequence[int], Mapping[str, Any]]]:
        """Return one body. Raises UnsupportedVersionError where the broker would ignore a filter."""
        if self._states and version < FILTERS_STATES_SINCE:
            msg = (
                f"a filter by state needs ListGroups version {FILTERS_STATES_SINCE} (Kafka 2.6 or newer); "
                f"this broker supports up to {version}; a listing without filter works"
            )
            raise UnsupportedVersionError(msg)
        types = self._types or ()
        if types and version < FILTERS_TYPES_SINCE:
            # Such brokers have classic groups only, so a filter that includes them need not be sent.
            if not _CLASSIC <= frozenset(types) <= _CLASSIC_AND_CONSUMER:
                msg = (
                    f"a filter by these types needs ListGroups version {FILTERS_TYPES_SINCE} (Kafka 3.8 or newer); "
                    f"this broker supports up to {version}; a listing without filter works"
                )
                raise UnsupportedVersionError(msg)
            types = ()
        return [(keys, {"states_filter": list(self._states or ()), "types_filter": list(types)})]

    def handle_response(self, keys: Sequence[int], version: int, payload: bytes) -> ApiResult[int, list[GroupListing]]:
        """Return the broker's groups, or its error."""
        response = LIST_GROUPS.read_response(version, payload)
        broker = keys[0]
        code = response["error_code"]
        if code in (COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE):
            return ApiResult(retriable={broker: str(broker_error(code))})
        if code:
            return ApiResult(failed={broker: broker_error(code)})
        # The filter was not sent, because this broker has only classic groups.
        assumed = "Classic" if self._types and version < FILTERS_TYPES_SINCE else None
        return ApiResult(completed={broker: [_listing(group, broker, assumed) for group in response["groups"]]})

    def to_failure(self, key: int, error: AdminError, broker: int | None) -> Failure:
        """Return the failure of the broker."""
        return Failure.of(error, broker=key)


def merge_listings(listings: Iterable[GroupListing]) -> dict[str, GroupListing]:
    """Return the listings of all brokers by group id, sorted; one for a group that several brokers list."""
    merged: dict[str, GroupListing] = {}
    for listing in listings:
        earlier = merged.setdefault(listing.group, listing)
        if earlier is not listing:
            merged[listing.group] = GroupListing(
                group=listing.group,
                type=_common(earlier.type, listing.type),
                state=_common(earlier.state, listing.state),
                protocol_type=earlier.protocol_type or listing.protocol_type,
                coordinator=earlier.coordinator if earlier.coordinator == listing.coordinator else None,
            )
    return dict(sorted(merged.items()))


def _common(one: str | None, other: str | None) -> str | None:
    """Return what both say, or the only one that is known."""
    return one or other if one is None or other is None or one == other else None


def _listing(group: Mapping[str, str], broker: int, assumed_type: str | None) -> GroupListing:
    return GroupListing(
        group=group["group_id"],
        type=canonical_name(group["group_type"]) or assumed_type,
        state=canonical_name(group["group_state"]),
        protocol_type=group["protocol_type"],
        coordinator=broker,
    )


def _spelled(names: Collection[str] | None, valid: Sequence[str], what: str) -> tuple[str, ...] | None:
    if names is None:
        return None
    spelled = tuple(dict.fromkeys(canonical_name(name) or "" for name in names))
    unknown = [name for name in spelled if name not in valid]
    if unknown or not spelled:
        problem = f"unknown name {', '.join(map(repr, unknown))}" if unknown else "an empty filter would match nothing"
        msg = f"{what}: {problem}; valid names are {', '.join(valid)}"
        raise ValueError(msg)
    return spelled
