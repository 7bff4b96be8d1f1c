"""Regular expressions in the details of events; only details of resolved regular expressions are parsed."""

from __future__ import annotations

import json
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

_REGULAR_EXPRESSION: Final = "ConsumerGroupRegularExpression"


def select_details(record_names: Any, details: Any) -> Any:
    """Return the details of events that resolve regular expressions; null for all others, whose details are long.

    `record_names` and `details` are the columns `record_name` and `details` of `group_events`: Arrow columns, or
    expressions on a dataset. The result is an Arrow column, too, or an expression.
    """
    return pc.if_else(pc.equal(record_names, _REGULAR_EXPRESSION), details, pa.scalar(None, pa.string()))


def read_expression(selected_details: str | None) -> str | None:
    """Return the regular expression in details that `select_details` returned; None for null."""
    return None if selected_details is None else json.loads(selected_details).get("regular_expression")
