"""The text of a resolved regular expression, which the details of its records have. Other details are not parsed."""

from __future__ import annotations

import json
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

_REGULAR_EXPRESSION: Final = "ConsumerGroupRegularExpression"


def select_details(types: Any, details: Any) -> Any:
    """Return the details of records of regular expressions, and null for other types, whose details are long.

    `types` and `details` are these columns of `group_events`, as Arrow columns or as expressions on a dataset; so is
    the result.
    """
    return pc.if_else(pc.equal(types, _REGULAR_EXPRESSION), details, pa.scalar(None, pa.string()))


def read_expression(selected_details: str | None) -> str | None:
    """Return the regular expression of the details that `select_details` left of a record; None without any."""
    return None if selected_details is None else json.loads(selected_details).get("regular_expression")
