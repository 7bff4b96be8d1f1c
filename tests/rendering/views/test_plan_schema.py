"""The JSON Schema of plans accepts each plan that is written, and refuses what cannot be read."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from jsonschema import Draft202012Validator

from kafka_groups.changes.change import Change, Plan
from kafka_groups.changes.plan_file import change_document, format_plan
from kafka_groups.rendering.views.plan import plan_schema
from tests.changes.plans import CHANGES, plan, plans

Json = dict[str, Any]
COMMIT: Json = {"action": "commit", "group": "g", "topic": "t", "partition": 0, "new_offset": 5}


@given(plans)
def test_the_schema_accepts_every_plan_as_it_is_written(written: Plan) -> None:
    Draft202012Validator(plan_schema()).validate(json.loads(format_plan(written)))


def test_the_schema_is_valid_and_documents_every_key() -> None:
    schema = plan_schema()
    Draft202012Validator.check_schema(schema)
    change = schema["properties"]["changes"]["items"]["properties"]
    assert sorted(change) == sorted(Change._fields)
    assert all(key["description"] for key in (*schema["properties"].values(), *change.values()))


@pytest.mark.parametrize(
    "broken",
    [
        {**COMMIT, "action": "reset"},
        {**COMMIT, "group": None},
        {**COMMIT, "partition": True},
        {**COMMIT, "partition": -1},
        {**COMMIT, "new_offset": 2**63},
        {**COMMIT, "topic": 1},
    ],
)
def test_the_schema_refuses_what_cannot_be_read(broken: Json) -> None:
    document = json.loads(format_plan(plan(CHANGES[0])))
    written = [{**change_document(CHANGES[0]), **change} for change in (COMMIT, broken)]
    validator = Draft202012Validator(plan_schema())
    assert [validator.is_valid({**document, "changes": [change]}) for change in written] == [True, False]
