"""What an error code of a group means for its way: look up again, ask again, or failed for good.

Kafka's handlers agree on this for OffsetFetch and both describes (reference: the *Handler classes of
its admin client): 15 and 16 send the group back to look-up, 14 keeps it where it is.
"""

from __future__ import annotations

from typing import TypeVar

from kafka_groups.admin.driver import ApiResult
from kafka_groups.protocol.errors import (
    COORDINATOR_LOAD_IN_PROGRESS,
    COORDINATOR_NOT_AVAILABLE,
    NOT_COORDINATOR,
    broker_error,
)

A = TypeVar("A")


def add_group_error(result: ApiResult[str, A], group: str, code: int, message: str | None) -> None:
    """File a group under what its error code asks for."""
    error = broker_error(code, message)
    if code in (NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE):
        result.unmapped[group] = str(error)
    elif code == COORDINATOR_LOAD_IN_PROGRESS:
        result.retriable[group] = str(error)
    else:
        result.failed[group] = error
