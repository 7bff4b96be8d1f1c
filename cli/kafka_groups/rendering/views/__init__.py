"""The views: what the rows of each command contain, a module for each view."""

from __future__ import annotations

from collections.abc import Mapping

from kafka_groups.rendering.schemas import Schema


def view_schemas() -> Mapping[str, Schema]:
    """Return the JSON Schema of each command that reads groups, by the command's name."""
    from kafka_groups.rendering.views.describe import describe_schema
    from kafka_groups.rendering.views.list_groups import list_schema
    from kafka_groups.rendering.views.offsets import offsets_schema

    return {"list": list_schema(), "describe": describe_schema(), "offsets": offsets_schema()}
