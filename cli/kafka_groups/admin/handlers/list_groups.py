"""List groups: ListGroups to every broker, which returns the groups that it coordinates and applies the filters."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial, reduce
from itertools import groupby, repeat
from operator import attrgetter
from typing import Any, Final

from kafka_groups.admin.api_handler import ApiResult
from kafka_groups.errors import AdminError, UnsupportedVersionError
from kafka_groups.kinds import CONSUMER, GROUP_STATES, SIMPLE, canonical_name, group_types
from kafka_groups.model import Failure, GroupListing
from kafka_groups.protocol import INT16, skip_tags
from kafka_groups.protocol.errors import (
    COORDINATOR_LOAD_IN_PROGRESS,
    COORDINATOR_NOT_AVAILABLE,
    broker_error,
)
from kafka_groups.protocol.listed_groups import GroupKind, read_listed_groups
from kafka_groups.protocol.messages.list_groups import FILTERS_STATES_SINCE, FILTERS_TYPES_SINCE, LIST_GROUPS

_THROTTLE_SIZE: Final = 4
_read_error_code = INT16.read(False, False)
_group: Final = attrgetter("group")
# The same as GroupListing._make, without a call of a Python function for each group.
_as_listing: Final[Callable[[tuple[object, ...]], GroupListing]] = partial(tuple.__new__, GroupListing)
_CLASSIC: Final = SIMPLE.group_type


class ListGroupsHandler:
    """Broker ids to the groups that each broker coordinates; filters are applied by the brokers (KIP-518).

    Raises ValueError for an empty filter, which would match nothing, and for a name that is no state or type.
    """

    api = LIST_GROUPS
    idempotent = True

    def __init__(self, *, states: Collection[str] | None, types: Collection[str] | None) -> None:
        self._states = _spelled(states, GROUP_STATES, "states")
        self._types = _spelled(types, group_types(), "types")

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
            if _CLASSIC not in types or not {*types} <= {_CLASSIC, CONSUMER.group_type}:
                msg = (
                    f"a filter by these types needs ListGroups version {FILTERS_TYPES_SINCE} (Kafka 3.8 or newer); "
                    f"this broker supports up to {version}; a listing without filter works"
                )
                raise UnsupportedVersionError(msg)
            types = ()
        # Kafka ignores the case of types; franz-go's kfake compares them with the spelling of its responses.
        return [(keys, {"states_filter": list(self._states or ()), "types_filter": [name.lower() for name in types]})]

    def handle_response(self, keys: Sequence[int], version: int, payload: bytes) -> ApiResult[int, list[GroupListing]]:
        """Return the broker's groups, or its error."""
        cursor = LIST_GROUPS.open_response(version, payload)
        if LIST_GROUPS.throttle_since is not None and version >= LIST_GROUPS.throttle_since:
            cursor.take(_THROTTLE_SIZE)
        code = _read_error_code(cursor)
        broker = keys[0]
        if code in (COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE):
            return ApiResult(retriable={broker: str(broker_error(code))})
        if code:
            return ApiResult(failed={broker: broker_error(code)})
        # The filter was not sent, because this broker has only classic groups.
        assumed_type = _CLASSIC if self._types and version < FILTERS_TYPES_SINCE else None
        listings = _listings(read_listed_groups(cursor, version), broker, assumed_type)
        if LIST_GROUPS.is_flexible(version):
            skip_tags(cursor)
        cursor.end()
        return ApiResult(completed={broker: listings})

    def to_failure(self, key: int, error: AdminError, broker: int | None) -> Failure:
        """Return the failure of the broker."""
        return Failure.of(error, broker=key)


def merge_listings(listings: Sequence[GroupListing]) -> dict[str, GroupListing]:
    """Return the listings of all brokers by group id, sorted; one for a group that several brokers list."""
    ordered = sorted(listings, key=_group)
    merged = {listing.group: listing for listing in ordered}
    if len(merged) < len(listings):
        merged = {group: reduce(_merge, several) for group, several in groupby(ordered, key=_group)}
    return merged


def _merge(one: GroupListing, other: GroupListing) -> GroupListing:
    return GroupListing(
        group=one.group,
        type=_common(one.type, other.type),
        state=_common(one.state, other.state),
        protocol_type=one.protocol_type or other.protocol_type,
        coordinator=one.coordinator if one.coordinator == other.coordinator else None,
    )


def _common(one: str | None, other: str | None) -> str | None:
    """Return what both say, or the only one that is known."""
    return one or other if one is None or other is None or one == other else None


def _listings(
    ids_by_kind: Mapping[GroupKind, Iterable[str]], broker: int, assumed_type: str | None
) -> list[GroupListing]:
    listings: list[GroupListing] = []
    for kind, ids in ids_by_kind.items():
        group_type = canonical_name(kind.type) or assumed_type
        state = canonical_name(kind.state)
        constants = map(repeat, (group_type, state, kind.protocol_type, broker))
        listings += map(_as_listing, zip(ids, *constants, strict=False))
    return listings


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
