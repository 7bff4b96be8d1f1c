"""The JSON Schema of a history's document. Keys are only ever added."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kafka_groups.rendering.history.document import SCHEMA_NAME
from kafka_groups.rendering.views.list_groups import list_schema

Schema = dict[str, Any]

_VERDICTS: Final = ("OK", "UNKNOWN", "WARN", "STOP", "STALL", "REWIND")
_TIME_LAG_QUALITIES: Final = ("exact", "interpolated", "lower_bound", "compacted", "data_loss", "unknown")
_LAG_QUALITIES: Final = ("exact", "lower_bound", "outdated", "unknown")
_FINDINGS: Final = ("idle_group", "orphaned_commit", "unread_topic", "skew", "retention_risk")


def history_schema() -> Schema:
    """Return the schema of what `history_document` returns."""
    # An error looks the same in every document.
    shared = list_schema()
    schema = _object(
        {
            "schema": {"description": "Which document this is. The number grows if a key goes.", "const": SCHEMA_NAME},
            "status": shared["properties"]["status"],
            "made_at": _instant("When the report was made."),
            "from": _instant("The beginning of the period."),
            "to": _instant("The end of the period."),
            "evaluated_at": _instant("The newest time that a lag is of; null if none is known.", nullable=True),
            "clusters": _texts("The ids of the clusters in the tables."),
            "groups_in_all": _number("How many groups there are, with those that were left out.", "integer"),
            "groups": _objects("The groups, the worst first.", _GROUP),
            "findings": _objects("What deserves a look.", _FINDING),
            "gaps": _texts("Stretches of records that were deleted before they could be read, a sentence each."),
            "missing": _texts("What the tables do not hold, a sentence each."),
            "errors": shared["properties"]["errors"],
        }
    )
    return {"$schema": shared["$schema"], "title": "kafka-groups pipeline report --format json", **schema}


def _text(description: str, *, nullable: bool = False, **more: Any) -> Schema:
    return {"description": description, "type": ["string", "null"] if nullable else "string", **more}


def _choice(description: str, *names: str, nullable: bool = False) -> Schema:
    return {"description": description, "enum": [*names, None] if nullable else list(names)}


def _number(description: str, kind: str, *, nullable: bool = False, minimum: int | None = 0) -> Schema:
    bound = {} if minimum is None else {"minimum": minimum}
    return {"description": description, "type": [kind, "null"] if nullable else kind, **bound}


def _instant(description: str, *, nullable: bool = False) -> Schema:
    pattern = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$"
    return _text(f"{description} ISO-8601, UTC.", nullable=nullable, format="date-time", pattern=pattern)


def _texts(description: str) -> Schema:
    return {"description": description, "type": "array", "items": {"type": "string"}}


def _objects(description: str, keys: Mapping[str, Schema], *, nullable: bool = False) -> Schema:
    return {"description": description, "type": ["array", "null"] if nullable else "array", "items": _object(keys)}


def _object(keys: Mapping[str, Schema]) -> Schema:
    return {"type": "object", "required": list(keys), "properties": dict(keys), "additionalProperties": True}


_LAG: Final = _number(
    "Messages behind, the sum of those partitions that are behind; null if it is not known.", "integer", nullable=True
)
_TIME_LAG: Final = _number("The age of the oldest record not yet read; null if not known.", "integer", nullable=True)
_POINT: Final = {
    "at": _instant("The time."),
    "lag": _LAG,
    "time_lag_ms": {**_TIME_LAG, "description": "The longest time lag of the partitions; null if not known."},
}
_REBALANCE: Final = {
    "started_at": _instant("When it began; of a bound, the earliest that it can have begun."),
    "ended_at": _instant("When it ended; null if it had not.", nullable=True),
    "duration_ms": _number("How long it took; null if that is not known.", "integer", nullable=True),
    "duration_quality": _choice(
        "bound: no longer than that. overtaken: until the next one began, before all members had reached this one. "
        "open: it had not ended by the end of the day after it began. unknown: nor is it known whether it had.",
        *("exact", "bound", "overtaken", "open", "unknown"),
    ),
    "generation": _number("The generation or epoch that it led to.", "integer", minimum=None),
    "joined": _number("How many members came; null if that is not known.", "integer", nullable=True),
    "left": _number("How many members went; null if that is not known.", "integer", nullable=True),
}
_GROUP: Final = {
    "cluster_id": _text("The cluster's id."),
    "group": _text("The group's id."),
    "state": _text(
        "The state at the end of the period, Dead if it was removed; null if it is not known.", nullable=True
    ),
    "members": _number("How many members it had then; null if that is not known.", "integer", nullable=True),
    "verdict": _choice(
        "The verdict, UNKNOWN without enough evidence; null without a lag, or if all commits were removed.",
        *_VERDICTS,
        nullable=True,
    ),
    "rule": _text("The rule that gave the verdict; null without a verdict.", nullable=True),
    "evaluated_at": _instant("The time that lag and verdict are of; null if neither is known.", nullable=True),
    "removed_at": _instant("When the group was removed; null if it was not, or was seen since.", nullable=True),
    "removed_at_is_bound": {
        "description": "Whether it was removed then or before: of then is the first sample that missed it.",
        "type": "boolean",
    },
    "is_unused": {
        "description": "Whether the group is empty and has committed nothing for a day.",
        "type": "boolean",
    },
    "lag": _LAG,
    "lag_quality": _choice(
        "lower_bound: without partitions whose log end is not known. outdated: the coordinator did not respond, the "
        "commits are from before. unknown: no lag is known.",
        *_LAG_QUALITIES,
    ),
    "time_lag_ms": _TIME_LAG,
    "time_lag_quality": _choice("How good the time lag is.", *_TIME_LAG_QUALITIES),
    "consume_rate": _number("Records read a second; null if not known.", "number", nullable=True, minimum=None),
    "produce_rate": _number("Records written a second; null if not known.", "number", nullable=True, minimum=None),
    "catch_up_ms": _number("How long until the lag is gone at these rates; null if never.", "integer", nullable=True),
    "lagging_since": _instant("Since when it has had a lag; null if it has none.", nullable=True),
    "lagging_since_is_bound": {
        "description": "Whether it had the lag already then: in the period, no earlier time shows it without one.",
        "type": "boolean",
    },
    "points": _objects("The lag over time, ascending.", _POINT),
    "rebalances": _objects("The rebalances, ascending; null if they are not known.", _REBALANCE, nullable=True),
}
_FINDING: Final = {
    "kind": _choice("What it is.", *_FINDINGS),
    "cluster_id": _text("The cluster's id."),
    "group": _text("The group; null if it is about none.", nullable=True),
    "topic": _text("The topic; null if it is about none.", nullable=True),
    "message": _text("A sentence for people."),
}
