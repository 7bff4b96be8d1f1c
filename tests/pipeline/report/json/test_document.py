"""A history as JSON, as its schema says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from kafka_groups.model import Failure
from kafka_groups.pipeline.build.qualities import BY_CERTAINTY, QUALITIES
from kafka_groups.pipeline.report.json.document import history_document
from kafka_groups.pipeline.report.json.schema import history_schema
from kafka_groups.pipeline.report.notation import TIME_LAG_SIGNS
from kafka_groups.verdicts import VERDICTS
from tests.pipeline.report.example_histories import FROM, HOUR, MINUTE, TO, eventful, group, history, points, rebalance

Json = dict[str, Any]


def errors_in(document: Json) -> list[str]:
    """Return where the document violates the schema."""
    return [error.message for error in Draft202012Validator(history_schema()).iter_errors(document)]


def test_the_schema_is_one_and_names_its_document() -> None:
    Draft202012Validator.check_schema(history_schema())
    assert history_schema()["properties"]["schema"]["const"] == "kafka-groups/pipeline-report/1"


def test_the_schema_has_the_verdicts_and_qualities_that_a_build_writes() -> None:
    group_schema = history_schema()["properties"]["groups"]["items"]["properties"]
    assert {*group_schema["time_lag_quality"]["enum"]} == {*QUALITIES} == {*BY_CERTAINTY}
    assert {*group_schema["verdict"]["enum"]} == {*VERDICTS, None}
    assert TIME_LAG_SIGNS.keys() <= {*QUALITIES}


UNTOLD = history(group(rebalances=(rebalance(joined=None, left=None),)))


@pytest.mark.parametrize(
    "given", [eventful(), history(), history(group()), UNTOLD], ids=["full", "empty", "unknown", "who came is unknown"]
)
def test_documents_conform_to_the_schema(given: Any) -> None:
    assert errors_in(json.loads(json.dumps(history_document(given)))) == []


# The document of a history of one group, without its groups; and the group in it.
SMALL_DOCUMENT = {
    "schema": "kafka-groups/pipeline-report/1",
    "status": "complete",
    "made_at": "2026-11-21T00:05:00.000Z",
    "from": "2026-11-20T00:00:00.000Z",
    "to": "2026-11-21T00:00:00.000Z",
    "clusters": ["c-1"],
    "evaluated_at": "2026-11-20T23:59:00.000Z",
    "groups_in_all": 1,
    "findings": [],
    "gaps": [],
    "missing": [],
    "errors": [],
}
SMALL_GROUP = {
    "cluster_id": "c-1",
    "group": "orders",
    "state": None,
    "members": None,
    "verdict": None,
    "rule": None,
    "verdict_since": None,
    "evaluated_at": "2026-11-20T23:58:00.000Z",
    "deleted_at": None,
    "deleted_at_is_bound": False,
    "is_unused": False,
    "lag": 3,
    "lag_quality": "exact",
    "time_lag_ms": None,
    "time_lag_quality": "unknown",
    "consume_rate": None,
    "produce_rate": None,
    "catch_up_ms": None,
    "lagging_since": "2026-11-20T01:00:00.000Z",
    "lagging_since_is_bound": True,
    "rebalancing_ms": None,
    "tasks": None,
    "points": [{"at": "2026-11-20T00:00:00.000Z", "lag": 3, "time_lag_ms": None}],
    "rebalances": [
        {
            "started_at": "2026-11-20T01:00:00.000Z",
            "ended_at": "2026-11-20T01:00:03.200Z",
            "duration_ms": 3200,
            "duration_quality": "exact",
            "generation": 7,
            "joined": 2,
            "left": 1,
        }
    ],
}


def test_a_document_of_a_small_history_has_all_keys_and_values() -> None:
    worst = group(
        lag=3,
        points=points(3),
        rebalances=(rebalance(),),
        evaluated_ms=TO - 2 * MINUTE,
        lagging_since_ms=FROM + HOUR,
        lagging_since_is_bound=True,
    )
    document = history_document(history(worst, evaluated_ms=TO - MINUTE))
    assert document == {**SMALL_DOCUMENT, "groups": [SMALL_GROUP]}


def test_unknown_numbers_of_members_are_null_and_not_0() -> None:
    (given,) = history_document(UNTOLD)["groups"][0]["rebalances"]
    assert (given["joined"], given["left"]) == (None, None)


def test_unknown_rebalances_are_null_and_not_an_empty_list() -> None:
    document = history_document(history(group(rebalances=None)))
    assert document["groups"][0]["rebalances"] is None
    assert errors_in(document) == []


def test_a_document_has_all_findings_and_all_gaps() -> None:
    findings, gaps = eventful().findings * 500, tuple(map(str, range(500)))
    document = history_document(history(findings=findings, gaps=gaps))
    assert (len(document["findings"]), len(document["gaps"])) == (1_500, 500)


def test_a_finding_has_its_group_or_its_topic() -> None:
    finding = history_document(eventful())["findings"][2]
    assert finding == {
        "kind": "unread_topic",
        "cluster_id": "c-1",
        "group": None,
        "topic": "<b>clicks</b>",
        "message": "no group has committed on any of its 12 partitions",
    }


def test_requested_groups_without_data_are_errors_and_change_the_status() -> None:
    failed = Failure(group="x", code=69, name="GROUP_ID_NOT_FOUND", message="no such group")
    partial, nothing = (history_document(given, [failed]) for given in (history(group()), history()))
    assert [(given["status"], given["errors"][0]["group"]) for given in (partial, nothing)] == [
        ("partial", "x"),
        ("failed", "x"),
    ]
    assert errors_in(partial) == errors_in(nothing) == []


@pytest.mark.parametrize("key", ["made_at", "groups", "missing", "status"])
def test_a_document_that_lacks_a_key_is_refused(key: str) -> None:
    document = history_document(eventful())
    del document[key]
    assert errors_in(document) == [f"'{key}' is a required property"]


def objects_in(schema: Any) -> Iterator[Json]:
    """Yield every schema of an object inside this one, itself included."""
    given = schema if isinstance(schema, dict) else {}
    yield from [given][: "required" in given]
    for value in given.values():
        yield from objects_in(value)


def test_every_key_is_required_described_and_typed_and_others_may_follow() -> None:
    objects = list(objects_in(history_schema()))
    assert len(objects) == 26
    assert [set(given["required"]) ^ set(given["properties"]) for given in objects] == [set()] * 26
    assert {given["additionalProperties"] for given in objects} == {True}
    keys = [key for given in objects for key in given["properties"].values()]
    assert [key for key in keys if not key.get("description", "").strip() and "enum" not in key] == []
    assert [key for key in keys if not {"type", "enum", "const"} & set(key)] == []
