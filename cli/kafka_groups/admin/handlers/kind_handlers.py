"""The handler that describes the groups of a kind."""

from __future__ import annotations

from typing import Final

from kafka_groups.admin.api_handler import ApiHandler
from kafka_groups.admin.handlers.describe_consumer_groups import (
    DescribeClassicGroupsHandler,
    DescribeConsumerGroupsHandler,
)
from kafka_groups.kinds import CLASSIC_CONSUMER, CONSUMER, SIMPLE, Kind
from kafka_groups.model import GroupDescription

# All of them describe a group of unknown type; if all fail, GroupDescriber prefers the failure of an earlier one.
DESCRIBE_HANDLERS: Final[dict[Kind, type[ApiHandler[str, GroupDescription]]]] = {
    CONSUMER: DescribeConsumerGroupsHandler,
    CLASSIC_CONSUMER: DescribeClassicGroupsHandler,
    SIMPLE: DescribeClassicGroupsHandler,
}
