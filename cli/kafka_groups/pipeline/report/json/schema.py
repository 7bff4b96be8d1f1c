"""The JSON Schema of a history's document. Later versions add keys, and remove none."""

from __future__ import annotations

from typing import Final

from kafka_groups.pipeline.build.qualities import QUALITIES
from kafka_groups.pipeline.report.json.document import SCHEMA_NAME
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
_FINDINGS: Final = ("idle_group", "orphaned_commit", "unread_topic", "skew", "retention_risk", "clock_difference")


def history_schema() -> Schema:
    """Return the schema of what `history_document` returns."""
    document = object_schema(
        {
            "schema": {
                "description": "The kind of document. Its number grows if a key is removed.",
                "const": SCHEMA_NAME,
            },
            "status": status_schema(),
            "made_at": time_schema("When the report was made."),
            "from": time_schema("The beginning of the period."),
            "to": time_schema("The end of the period."),
            "evaluated_at": time_schema("The time of the newest lag; null if none is known.", nullable=True),
            "clusters": texts_schema("The ids of the clusters in the tables."),
            "groups_in_all": number_schema("How many groups there are, including omitted ones.", nullable=False),
            "groups": array_schema("The groups, the worst first.", object_schema(_GROUP)),
            "findings": array_schema("Groups, topics and clusters that need attention.", object_schema(_FINDING)),
            "gaps": texts_schema("Offsets without a record when they were read, a sentence for each gap."),
            "missing": texts_schema("Data that the tables lack, a sentence for each."),
            "errors": errors_schema(),
        }
    )
    return titled_schema("kafka-groups pipeline report --format json", document)


_LAG: Final = number_schema("Records left to read, the sum over partitions; null if it is not known.")
_TIME_LAG: Final = number_schema("The age of the oldest record not yet read; null if not known.")
_POINT: Final = {
    "at": time_schema("The time."),
    "lag": _LAG,
    "time_lag_ms": {**_TIME_LAG, "description": "The longest time lag of the partitions; null if not known."},
}
_REBALANCE: Final = {
    "started_at": time_schema("When it began; for an upper bound, the earliest time at which it may have begun."),
    "ended_at": time_schema("When it ended; null if it had not.", nullable=True),
    "duration_ms": number_schema("How long it took; null if that is not known."),
    "duration_quality": choice_schema(
        "bound: at most this long. timeout: at most this long, which is the members' timeout. overtaken: until the "
        "next one began, before all members had joined this one. open: it had not ended by the end of the day after "
        "it began. unknown: it is not known whether it had ended.",
        ("exact", "bound", "timeout", "overtaken", "open", "unknown"),
    ),
    "generation": number_schema("The generation or epoch that it led to.", nullable=False, minimum=None),
    "joined": number_schema("How many members joined; null if that is not known."),
    "left": number_schema("How many members left; null if that is not known."),
}
_GROUP: Final = {
    "cluster_id": text_schema("The cluster's id."),
    "group": text_schema("The group's id."),
    "state": text_schema(
        "The state at the end of the period, Dead if it was deleted; null if it is not known.", nullable=True
    ),
    "members": number_schema("How many members it had then; null if that is not known."),
    "verdict": choice_schema(
        "The verdict, UNKNOWN without enough evidence; null without a lag, or if all commits were deleted.",
        VERDICTS,
        nullable=True,
    ),
    "rule": text_schema("The rule that gave the verdict; null without a verdict.", nullable=True),
    "verdict_since": time_schema("When this verdict began; null without a verdict.", nullable=True),
    "evaluated_at": time_schema("The time of lag and verdict; null if neither is known.", nullable=True),
    "deleted_at": time_schema("When the group was deleted; null if it exists.", nullable=True),
    "deleted_at_is_bound": boolean_schema(
        "Whether the time is an upper bound: that of the first sample without the group."
    ),
    "is_unused": boolean_schema("Whether the group is empty and has committed nothing for a day."),
    "lag": _LAG,
    "lag_quality": choice_schema(
        "lower_bound: some log end offsets are not known. outdated: the coordinator did not respond, so the commits "
        "are older. unknown: no lag is known.",
        _LAG_QUALITIES,
    ),
    "time_lag_ms": _TIME_LAG,
    "time_lag_quality": choice_schema("How good the time lag is.", QUALITIES),
    "consume_rate": number_schema("Records read per second; null if not known.", kind="number", minimum=None),
    "produce_rate": number_schema("Records written per second; null if not known.", kind="number", minimum=None),
    "catch_up_ms": number_schema("How long until the lag is gone at these rates; null if never."),
    "lagging_since": time_schema("When its lag began; null if it has none.", nullable=True),
    "lagging_since_is_bound": boolean_schema(
        "Whether the lag may have begun earlier: no earlier time in the period shows the group without one."
    ),
    "rebalancing_ms": number_schema("How long the rebalance in progress has lasted at least; null if there is none."),
    "points": array_schema("The lag over time, ascending.", object_schema(_POINT)),
    "rebalances": array_schema(
        "The rebalances, ascending; null if they are not known.", object_schema(_REBALANCE), nullable=True
    ),
}
_FINDING: Final = {
    "kind": choice_schema("The kind of the finding.", _FINDINGS),
    "cluster_id": text_schema("The cluster's id."),
    "group": text_schema("The group; null for a finding on a topic or on the cluster.", nullable=True),
    "topic": text_schema("The topic; null for a finding on a group or on the cluster.", nullable=True),
    "message": text_schema("The finding as a sentence."),
}
