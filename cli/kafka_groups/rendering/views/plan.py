"""The JSON Schema of a plan: the file that --export writes and --from-file reads."""

from __future__ import annotations

from kafka_groups.changes.change import Action
from kafka_groups.changes.plan_file import KEYS, SCHEMA, PlanKey
from kafka_groups.rendering.schemas import (
    Schema,
    array_schema,
    choice_schema,
    name_schema,
    number_schema,
    object_schema,
    text_schema,
    titled_schema,
)


def plan_schema() -> Schema:
    """Return the JSON Schema of plans as they are written. A plan that is read may omit null keys."""
    change = object_schema(
        {
            **{name: _value(key) for name, key in KEYS.items()},
            "action": choice_schema(KEYS["action"].description, Action),
            "group": text_schema(KEYS["group"].description),
        }
    )
    document = object_schema(
        {
            "schema": name_schema(SCHEMA),
            "cluster_id": text_schema("The cluster that the changes are for; no other accepts them."),
            "created_at": text_schema("When the plan was created, UTC.", format="date-time"),
            "changes": array_schema("The changes, at most one for each partition.", change),
        }
    )
    return titled_schema("A plan of kafka-groups", document)


def _value(key: PlanKey) -> Schema:
    if key.most is None:
        return text_schema(key.description, nullable=True)
    return number_schema(key.description, maximum=key.most)
