"""The handler that describes the groups of a kind."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Final, TypeAlias

from kafka_groups.admin.api_handler import STATE_AND_MEMBERS, ApiHandler, DescribeOptions
from kafka_groups.admin.handlers.describe_consumer_groups import (
    DescribeClassicGroupsHandler,
    DescribeConsumerGroupsHandler,
)
from kafka_groups.kinds import CLASSIC_CONSUMER, CONNECT, CONSUMER, SHARE, SIMPLE, STREAMS, Kind
from kafka_groups.model import GroupDescription

DescribeHandler: TypeAlias = ApiHandler[str, GroupDescription]


def _make_share_handler(*, authorized_operations: bool = False) -> DescribeHandler:
    # Imported here, as most commands describe no share group.
    from kafka_groups.admin.handlers.describe_share_groups import DescribeShareGroupsHandler

    return DescribeShareGroupsHandler(authorized_operations=authorized_operations)


def _make_streams_handler(*, topology: bool = False, authorized_operations: bool = False) -> DescribeHandler:
    # Imported here, as most commands describe no streams group.
    from kafka_groups.admin.handlers.describe_streams_groups import DescribeStreamsGroupsHandler

    return DescribeStreamsGroupsHandler(topology=topology, authorized_operations=authorized_operations)


# All of them describe a group of unknown type; if all fail, GroupDescriber prefers the failure of an earlier one.
DESCRIBE_HANDLERS: Final[dict[Kind, Callable[..., DescribeHandler]]] = {
    CONSUMER: DescribeConsumerGroupsHandler,
    CLASSIC_CONSUMER: DescribeClassicGroupsHandler,
    SIMPLE: DescribeClassicGroupsHandler,
    CONNECT: DescribeClassicGroupsHandler,
    SHARE: _make_share_handler,
    STREAMS: _make_streams_handler,
}


def handlers_by_type(
    kinds: Collection[Kind] | None = None, options: DescribeOptions = STATE_AND_MEMBERS
) -> Mapping[str, Callable[[], DescribeHandler]]:
    """Return the handlers that describe groups of these kinds, by the type of group; None means every kind.

    The kinds of classic groups share an API, whose handler refuses the other kinds of that type. Of the `options`, the
    nodes of a topology are those of streams groups.
    """
    wanted = {*DESCRIBE_HANDLERS} if kinds is None else {*kinds}
    classic = [kind for kind in DESCRIBE_HANDLERS if kind in wanted and kind.group_type == SIMPLE.group_type]
    operations = options.authorized_operations
    handlers: dict[str, Callable[[], DescribeHandler]] = {
        kind.group_type: partial(handler, authorized_operations=True) if operations else handler
        for kind, handler in DESCRIBE_HANDLERS.items()
        if kind in wanted
    }
    if classic:
        handlers[SIMPLE.group_type] = partial(DescribeClassicGroupsHandler, classic, authorized_operations=operations)
    if STREAMS.group_type in handlers:
        handlers[STREAMS.group_type] = partial(_make_streams_handler, **options._asdict())
    return handlers
