"""The views: what the rows of each command contain, a module for each view."""

from __future__ import annotations

from collections.abc import Mapping

from kafka_groups.rendering.schemas import Schema


def view_schemas() -> Mapping[str, Schema]:
    """Return the JSON Schema of each document on groups, by the name that `kafka-groups schema` takes."""
    from kafka_groups.rendering.views.changes import CHANGE_VIEWS
    from kafka_groups.rendering.views.checks import checks_schema
    from kafka_groups.rendering.views.describe import describe_schema
    from kafka_groups.rendering.views.lag import lag_schema
    from kafka_groups.rendering.views.list_groups import list_schema
    from kafka_groups.rendering.views.offsets import offsets_schema
    from kafka_groups.rendering.views.orphans import orphans_schema
    from kafka_groups.rendering.views.plan import plan_schema
    from kafka_groups.rendering.views.runs import runs_schema
    from kafka_groups.rendering.views.why import why_schema

    changes = {command: view.schema(command) for command, view in CHANGE_VIEWS.items()}
    return {
        "list": list_schema(),
        "describe": describe_schema(),
        "offsets": offsets_schema(),
        "lag": lag_schema(),
        "why": why_schema(),
        "check": checks_schema(),
        "wait": lag_schema("wait"),
        "orphans": orphans_schema(),
        **changes,
        "undo-list": runs_schema(),
        "plan": plan_schema(),
    }
