"""The error codes of a group: look up again, retry, or fail.

Kafka's handlers agree on them for OffsetFetch and both describes (the *Handler classes of its Admin client):
15 and 16 send the group back to the lookup, 14 keeps it at its broker.
"""

from __future__ import annotations

from typing import TypeVar

from kafka_groups.admin.api_handler import ApiResult
from kafka_groups.protocol.errors import (
    COORDINATOR_LOAD_IN_PROGRESS,
    COORDINATOR_NOT_AVAILABLE,
    NOT_COORDINATOR,
    broker_error,
)

V = TypeVar("V")


def add_group_error(result: ApiResult[str, V], group: str, code: int, message: str | None) -> None:
    """Add a group to the result by its error code."""
    error = broker_error(code, message)
    if code in (NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE):
        result.unmapped[group] = str(error)
        result.maybe_made.add(group)
    elif code == COORDINATOR_LOAD_IN_PROGRESS:
        result.retriable[group] = str(error)
    else:
        result.failed[group] = error
