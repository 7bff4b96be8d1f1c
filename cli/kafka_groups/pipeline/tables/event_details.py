"""The regular expression in the details of an event. Only records of resolved regular expressions are parsed."""

from __future__ import annotations

import json
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

_REGULAR_EXPRESSION: Final = "ConsumerGroupRegularExpression"


def select_details(types: Any, details: Any) -> Any:
    """Return the details of records of regular expressions, and null for all other records.

    The details of other records are long, and not needed. `types` and `details` are the columns `type` and `details` of
    `group_events`: both are Arrow columns, or both are expressions on a dataset. The result is what they are.
    """
    return pc.if_else(pc.equal(types, _REGULAR_EXPRESSION), details, pa.scalar(None, pa.string()))


def read_expression(selected_details: str | None) -> str | None:
    """Return the regular expression in details from `select_details`; None if a record has no details."""
    return None if selected_details is None else json.loads(selected_details).get("regular_expression")
