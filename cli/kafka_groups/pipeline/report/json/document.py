"""The report as a JSON document: times as ISO-8601 texts in UTC, durations in milliseconds, unknown values as null."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kafka_groups.model import Failure, status_of
from kafka_groups.pipeline.report.history import Finding, GroupHistory, History, LagPoint, Rebalance
from kafka_groups.pipeline.report.json.task_documents import tasks_document
from kafka_groups.pipeline.report.notation import format_instant
from kafka_groups.rendering.documents import failure_document
from kafka_groups.rendering.schemas import Document

SCHEMA_NAME: Final = "kafka-groups/pipeline-report/1"


def history_document(history: History, failures: Sequence[Failure] = ()) -> Document:
    """Return the document of a history; its groups stay in their order. `failures` belong to selected groups."""
    return {
        "schema": SCHEMA_NAME,
        "status": status_of(anything_failed=bool(failures), anything_succeeded=bool(history.groups)),
        "made_at": format_instant(history.made_ms),
        "from": format_instant(history.from_ms),
        "to": format_instant(history.to_ms),
        "evaluated_at": _format_or_null(history.evaluated_ms),
        "clusters": list(history.clusters),
        "groups_in_all": history.groups_in_all,
        "groups": [_make_group(group) for group in history.groups],
        "findings": [_make_finding(finding) for finding in history.findings],
        "gaps": list(history.gaps),
        "missing": list(history.missing),
        "errors": [failure_document(failure) for failure in failures],
    }


def _make_group(group: GroupHistory) -> Document:
    """Return the object of a group."""
    return {
        "cluster_id": group.cluster_id,
        "group": group.group,
        "state": group.state,
        "members": group.member_count,
        "verdict": group.verdict,
        "rule": group.rule,
        "verdict_since": _format_or_null(group.verdict_since_ms),
        "evaluated_at": _format_or_null(group.evaluated_ms),
        "deleted_at": _format_or_null(group.deleted_ms),
        "deleted_at_is_bound": group.deleted_is_bound,
        "is_unused": group.is_unused,
        "lag": group.lag,
        "lag_quality": group.lag_quality,
        "time_lag_ms": group.time_lag_ms,
        "time_lag_quality": group.time_lag_quality,
        "consume_rate": group.consume_rate,
        "produce_rate": group.produce_rate,
        "catch_up_ms": group.catch_up_ms,
        "lagging_since": _format_or_null(group.lagging_since_ms),
        "lagging_since_is_bound": group.lagging_since_is_bound,
        "rebalancing_ms": group.rebalancing_ms,
        "points": [_make_point(point) for point in group.points],
        "rebalances": None
        if group.rebalances is None
        else [_make_rebalance(rebalance) for rebalance in group.rebalances],
        "tasks": tasks_document(group.tasks),
    }


def _make_point(point: LagPoint) -> Document:
    return {"at": format_instant(point.at_ms), "lag": point.lag, "time_lag_ms": point.time_lag_ms}


def _make_rebalance(rebalance: Rebalance) -> Document:
    return {
        "started_at": format_instant(rebalance.started_ms),
        "ended_at": _format_or_null(rebalance.ended_ms),
        "duration_ms": rebalance.duration_ms,
        "duration_quality": rebalance.duration_quality,
        "generation": rebalance.generation,
        "joined": rebalance.joined,
        "left": rebalance.left,
    }


def _make_finding(finding: Finding) -> Document:
    return {
        "kind": finding.kind,
        "cluster_id": finding.cluster_id,
        "group": finding.group,
        "topic": finding.topic,
        "message": finding.message,
    }


def _format_or_null(time_ms: int | None) -> str | None:
    return None if time_ms is None else format_instant(time_ms)
