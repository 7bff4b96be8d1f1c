"""The JSON Schema of the report's document. Later versions may add keys, but remove none."""

from __future__ import annotations

from typing import Final

from kafka_groups.pipeline.build.qualities import QUALITIES
from kafka_groups.pipeline.report.json.document import SCHEMA_NAME
from kafka_groups.pipeline.report.json.task_documents import tasks_schema
from kafka_groups.rendering.schemas import (
    Schema,
    array_schema,
    boolean_schema,
    choice_schema,
    errors_schema,
    number_schema,
    object_schema,
    status_schema,
    text_schema,
    texts_schema,
    time_schema,
    titled_schema,
)
from kafka_groups.verdicts import VERDICTS

_LAG_QUALITIES: Final = ("exact", "lower_bound", "outdated", "unknown")
_FINDINGS: Final = (
    "idle_group",
    "orphaned_commit",
    "unread_topic",
    "skew",
    "retention_risk",
    "clock_difference",
    "known_reset",
)


def history_schema() -> Schema:
    """Return the schema of what `history_document` returns."""
    document = object_schema(
        {
            "schema": {
                "description": "The kind of document. Its number increases if a key is removed.",
                "const": SCHEMA_NAME,
            },
            "status": status_schema(),
            "made_at": time_schema("When the report was created."),
            "from": time_schema("The beginning of the period."),
            "to": time_schema("The end of the period."),
            "evaluated_at": time_schema("The time of the newest lag; null if none is known.", nullable=True),
            "clusters": texts_schema("The ids of the clusters of the selected groups and of the findings."),
            "groups_in_all": number_schema("The number of selected groups, including omitted ones.", nullable=False),
            "groups": array_schema("The groups, the worst ones first.", object_schema(_GROUP)),
            "findings": array_schema("Groups, topics and clusters that need attention.", object_schema(_FINDING)),
            "gaps": texts_schema("Offsets at which no record was found; one sentence for each gap."),
            "missing": texts_schema("What the tables lack; one sentence for each kind of missing data."),
            "errors": errors_schema(),
        }
    )
    return titled_schema("kafka-groups pipeline report --format json", document)


_LAG: Final = number_schema("Records that the group has yet to read, summed over its partitions; null if unknown.")
_TIME_LAG: Final = number_schema("The age of the oldest record that the group has yet to process; null if unknown.")
_POINT: Final = {
    "at": time_schema("The time of the point."),
    "lag": _LAG,
    "time_lag_ms": {**_TIME_LAG, "description": "The longest time lag of a partition at that time; null if unknown."},
}
_REBALANCE: Final = {
    "started_at": time_schema("When it began; for a classic group, the earliest time at which it may have begun."),
    "ended_at": time_schema("When it ended; null if it had not ended.", nullable=True),
    "duration_ms": number_schema("How long it took; null if unknown."),
    "duration_quality": choice_schema(
        "How certain the duration is. exact: measured. bound: an upper bound. timeout: an upper bound derived from the "
        "members' rebalance timeout, not a measurement. overtaken: the next rebalance began before all members had "
        "reached this one. open: it had not ended by the end of the day after it began. unknown: it is unknown "
        "whether it had ended.",
        ("exact", "bound", "timeout", "overtaken", "open", "unknown"),
    ),
    "generation": number_schema("The group's generation or epoch after it.", nullable=False, minimum=None),
    "joined": number_schema("The number of members that joined; null if unknown."),
    "left": number_schema("The number of members that left; null if unknown."),
}
_GROUP: Final = {
    "cluster_id": text_schema("The cluster's id."),
    "group": text_schema("The group's id."),
    "state": text_schema(
        "The state at the end of the period, Dead if the group was deleted; null if unknown.", nullable=True
    ),
    "members": number_schema("The number of members at the end of the period; null if unknown."),
    "verdict": choice_schema(
        "The verdict; UNKNOWN without enough evidence, null without a lag or if all commits were deleted.",
        VERDICTS,
        nullable=True,
    ),
    "rule": text_schema("The rule that gave the verdict; null without a verdict.", nullable=True),
    "verdict_since": time_schema("When this verdict of a partition began; null without a verdict.", nullable=True),
    "evaluated_at": time_schema("The time of lag and verdict; null if both are unknown.", nullable=True),
    "deleted_at": time_schema("When the group was deleted; null if it exists.", nullable=True),
    "deleted_at_is_bound": boolean_schema(
        "Whether that time is an upper bound: the time of the first sample without the group."
    ),
    "is_unused": boolean_schema("Whether the group is empty and has committed nothing for a day."),
    "lag": _LAG,
    "lag_quality": choice_schema(
        "How certain the lag is. lower_bound: some log end offsets are unknown. outdated: the coordinator did not "
        "respond, so the commits are older. unknown: no lag is known.",
        _LAG_QUALITIES,
    ),
    "time_lag_ms": _TIME_LAG,
    "time_lag_quality": choice_schema("How certain the time lag is.", QUALITIES),
    "consume_rate": number_schema("Records consumed per second; null if unknown.", kind="number", minimum=None),
    "produce_rate": number_schema("Records produced per second; null if unknown.", kind="number", minimum=None),
    "catch_up_ms": number_schema(
        "The time until the lag is 0 at these rates; null if there is no lag, or if it does not fall."
    ),
    "lagging_since": time_schema("When its lag began; null if it has none.", nullable=True),
    "lagging_since_is_bound": boolean_schema(
        "Whether the lag may have begun earlier: no earlier observation in the period shows the group without a lag."
    ),
    "rebalancing_ms": number_schema("How long the open rebalance has lasted at least; null if there is none."),
    "points": array_schema("The lag over time, in ascending order.", object_schema(_POINT)),
    "rebalances": array_schema(
        "The rebalances in ascending order of time; null if unknown.", object_schema(_REBALANCE), nullable=True
    ),
    "tasks": tasks_schema(),
}
_FINDING: Final = {
    "kind": choice_schema("The kind of the finding.", _FINDINGS),
    "cluster_id": text_schema("The cluster's id."),
    "group": text_schema("The group; null for a finding on a topic or on the cluster.", nullable=True),
    "topic": text_schema("The topic; null for a finding on a group or on the cluster.", nullable=True),
    "message": text_schema("The finding as a sentence."),
}
