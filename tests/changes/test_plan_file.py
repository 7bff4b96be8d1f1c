"""Plans are written as documents that people can compare, and a malformed plan is refused by the name of its key."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_groups.changes.change import Action, Change, Plan
from kafka_groups.changes.plan_file import (
    change_document,
    format_plan,
    format_time,
    is_plan,
    read_change,
    read_plan,
)
from kafka_groups.errors import PlanFileError
from tests.changes.plans import CHANGES, NOON, changes, plan, plans

Json = dict[str, Any]
COMMIT: Json = {"action": "commit", "group": "g", "topic": "t", "partition": 0, "new_offset": 5}
NO_METADATA = "; Kafka stores neither leader epoch nor metadata with a start offset: remove it"
START: Json = {**COMMIT, "action": "share_offset"}


def document_of(*listed: object, **more: object) -> str:
    """Return the text of a plan with these changes."""
    head = {"schema": "kafka-groups/plan/1", "cluster_id": "c", "created_at": "2026-11-23T12:00:00Z"}
    return json.dumps({**head, "changes": listed, **more})


def error_of(text: str) -> str:
    with pytest.raises(PlanFileError) as caught:
        read_plan(text, name="plan.json")
    return str(caught.value)


def test_a_plan_has_one_change_on_each_line() -> None:
    lines = format_plan(plan(*CHANGES)).splitlines()
    assert lines[:4] == [
        "{",
        ' "schema": "kafka-groups/plan/1",',
        ' "cluster_id": "cluster",',
        ' "created_at": "2026-11-23T12:00:00Z",',
    ]
    assert lines[5] == (
        '  {"action": "commit", "group": "g", "group_type": null, "topic": "t", "topic_id": null, "partition": 0, '
        '"committed_offset": 5, "leader_epoch": 2, '
        '"metadata": "note", "new_offset": 9, "new_leader_epoch": 3, "new_metadata": "restored", "member_id": null, '
        '"group_instance_id": null},'
    )
    assert [json.loads(line.strip().rstrip(",")) for line in lines[5:-2]] == [change_document(each) for each in CHANGES]


def test_a_plan_without_changes_can_be_written_and_read() -> None:
    assert read_plan(format_plan(plan()), name="plan.json") == plan()


def test_every_key_of_a_change_is_written() -> None:
    assert sorted(change_document(CHANGES[4])) == sorted(Change._fields)


@pytest.mark.slow
@given(plans)
def test_a_plan_is_read_as_it_was_written(written: Plan) -> None:
    text = format_plan(written)
    assert is_plan("x", text)
    assert read_plan(f"\ufeff{text}", name="plan.json") == written


@given(changes)
def test_a_change_is_read_without_its_null_keys(change: Change) -> None:
    document = {key: value for key, value in change_document(change).items() if value is not None}
    assert read_change({**document, "comment": "ignored"}, "here") == change


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (NOON, "2026-11-23T12:00:00Z"),
        (NOON + timedelta(microseconds=1000), "2026-11-23T12:00:00.001000Z"),
        (datetime(2026, 11, 23, 14, tzinfo=timezone(timedelta(hours=2))), "2026-11-23T12:00:00Z"),
    ],
)
def test_times_are_written_in_utc(moment: datetime, text: str) -> None:
    assert format_time(moment) == text


def test_a_time_with_another_zone_is_read_in_utc() -> None:
    read = read_plan(document_of(created_at="2026-11-23T14:00:00+02:00"), name="plan.json")
    assert (read.created_at, read.created_at.tzinfo) == (NOON, UTC)


def test_unknown_keys_are_ignored() -> None:
    text = document_of({**COMMIT, "comment": "why"}, comment="why")
    assert read_plan(text, name="plan.json").changes == (Change(Action.COMMIT, "g", "t", 0, new_offset=5),)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"schema":\n x}', "plan.json, line 2, column 2: it is not JSON: Expecting value"),
        ("", "plan.json, line 1, column 1: it is not JSON: Expecting value"),
        ("[]", "plan.json is not a plan: it is an array, not an object"),
        ("null", "plan.json is not a plan: it is missing or null, not an object"),
        ("{}", "plan.json is not a plan: its schema is missing or null; expected kafka-groups/plan/1"),
        (
            '{"schema": "kafka-groups/list/1"}',
            'plan.json is not a plan: its schema is "kafka-groups/list/1"; expected kafka-groups/plan/1',
        ),
        (
            '{"schema": "kafka-groups/plan/12"}',
            "plan.json has the schema kafka-groups/plan/12, not kafka-groups/plan/1; update kafka-groups",
        ),
        ("[" * 100_000, "plan.json is not a plan: a number is too long, or values are nested too deeply"),
        ("9" * 10_000, "plan.json is not a plan: a number is too long, or values are nested too deeply"),
        (document_of(cluster_id=None), "plan.json: cluster_id is missing or null; it must be the id of the cluster"),
        (document_of(changes={}), "plan.json: changes is an object; it must be an array"),
    ],
)
def test_a_file_that_is_no_plan_is_an_error_that_says_so(text: str, reason: str) -> None:
    assert error_of(text) == reason


@pytest.mark.parametrize("value", [None, 5, "noon", "2026-11-23T12:00:00", "0001-01-01T00:00:00+23:00"])
def test_a_plan_needs_a_time_with_a_zone(value: object) -> None:
    shown = "missing or null" if value is None else json.dumps(value)
    expected = f"plan.json: created_at is {shown}; it must be a time such as 2026-11-23T11:45:02Z"
    assert error_of(document_of(created_at=value)) == expected


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (5, " is 5; it must be an object"),
        (None, " is missing or null; it must be an object"),
        ({}, f".action is missing or null; it must be one of {', '.join(Action)}"),
        ({**COMMIT, "action": "reset"}, f'.action is "reset"; it must be one of {", ".join(Action)}'),
        ({**START, "new_metadata": "x"}, ".new_metadata is given" + NO_METADATA),
        (
            {**START, "new_leader_epoch": 0},
            ".new_leader_epoch is given" + NO_METADATA,
        ),
        ({**START, "group_type": "Classic"}, '.group_type is "Classic"; groups of that type have no start offsets'),
        ({**START, "partition": None}, ".partition is missing; the action share_offset needs it"),
        ({"action": "commit"}, ".group is missing; name the group"),
        ({**COMMIT, "group": 5}, ".group is 5; it must be a text"),
        ({**COMMIT, "topic": ["t"]}, ".topic is an array; it must be a text"),
        ({**COMMIT, "metadata": False}, ".metadata is false; it must be a text"),
        ({**COMMIT, "group": {"g": 1}}, ".group is an object; it must be a text"),
        ({**COMMIT, "partition": True}, ".partition is true; it must be a whole number from 0 to 2147483647"),
        ({**COMMIT, "partition": "0"}, '.partition is "0"; it must be a whole number from 0 to 2147483647'),
        ({**COMMIT, "partition": 0.0}, ".partition is 0.0; it must be a whole number from 0 to 2147483647"),
        ({**COMMIT, "partition": 2**31}, ".partition is 2147483648; it must be a whole number from 0 to 2147483647"),
        ({**COMMIT, "new_offset": -1}, f".new_offset is -1; it must be a whole number from 0 to {2**63 - 1}"),
        (
            {**COMMIT, "committed_offset": -1},
            f".committed_offset is -1; it must be a whole number from 0 to {2**63 - 1}",
        ),
        ({**COMMIT, "leader_epoch": -1}, ".leader_epoch is -1; it must be a whole number from 0 to 2147483647"),
        (
            {**COMMIT, "partition": 10**99},
            f".partition is 1{'0' * 39}…; it must be a whole number from 0 to 2147483647",
        ),
        ({**COMMIT, "topic": None}, ".topic is missing; the action commit needs it"),
        ({**COMMIT, "topic": ""}, ".topic is missing; the action commit needs it"),
        ({**COMMIT, "partition": None}, ".partition is missing; the action commit needs it"),
        ({**COMMIT, "new_offset": None}, ".new_offset is missing; the action commit needs it"),
        (
            {"action": "delete_offsets", "group": "g", "topic": "t"},
            ".partition is missing; the action delete_offsets needs it",
        ),
        (
            {"action": "delete_group", "group": "g", "partition": 0},
            ".topic is missing; topic and partition belong together",
        ),
        (
            {"action": "remove_member", "group": "g"},
            " names no member; the action remove_member needs member_id or group_instance_id",
        ),
    ],
)
def test_a_malformed_change_is_an_error_that_names_its_key(change: object, reason: str) -> None:
    assert error_of(document_of({**COMMIT, "partition": 1}, change)) == f"plan.json: changes[1]{reason}"


def test_two_changes_of_one_partition_are_an_error() -> None:
    other = {**COMMIT, "partition": 1}
    deletion = {"action": "delete_offsets", "group": "g", "topic": "t", "partition": 0}
    assert error_of(document_of(COMMIT, other, deletion)) == (
        "plan.json: changes[0] and changes[2] are both for group 'g', partition 0 of topic 't'; remove one"
    )


def test_two_deletions_of_one_group_are_an_error() -> None:
    group = {"action": "delete_group", "group": "g"}
    assert error_of(document_of(group, group)) == (
        "plan.json: changes[0] and changes[1] are both for group 'g', delete_group; remove one"
    )


def test_changes_of_two_members_or_two_groups_are_accepted() -> None:
    members = [{"action": "remove_member", "group": "g", "group_instance_id": each} for each in "ab"]
    text = document_of(*members, COMMIT, {**COMMIT, "group": "h"})
    assert len(read_plan(text, name="plan.json").changes) == 4


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("f", '{"schema": 1}', True),
        ("f.csv", '\ufeff \n{\n "schema"', True),
        ("f", "{}", True),
        ("f", "{", True),
        ("f.json", "t,0,5\n", False),
        ("f", "{app},t,0,5\n", False),
        ("f", '"{",t,0,5\n', False),
        ("f.JSON", " \n", True),
        ("f.csv", "", False),
    ],
)
def test_a_plan_is_recognised_by_its_content(name: str, text: str, expected: bool) -> None:
    assert is_plan(name, text) is expected


values = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2**64) | st.floats() | st.sampled_from(["", "t", *Action]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["topic", "a"]), inner),
    max_leaves=3,
)


@pytest.mark.slow
@given(
    st.lists(
        values
        | st.fixed_dictionaries(
            {"action": st.sampled_from(Action), "group": st.just("g")},
            optional=dict.fromkeys(Change._fields[2:], values),
        )
    )
)
def test_any_document_is_read_or_refused(listed: list[object]) -> None:
    with suppress(PlanFileError):
        read = read_plan(document_of(*listed), name="plan.json")
        assert read_plan(format_plan(read), name="plan.json") == read
