"""The JSON Schemas of the commands that change groups, of `undo --list`, and of plans."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator, ValidationError

from kafka_groups.model import CommittedOffset, TopicPartition
from kafka_groups.rendering.views.plan import plan_schema
from tests.fakes.command_line import run
from tests.fakes.fake_admin import FakeCluster, failure, member, unreachable

Json = dict[str, Any]
EXECUTE = ("--execute", "--yes")
CHANGES = {
    "reset": ("reset", "a", "b", "busy", "--topic", "t", "--shift-by", "-1"),
    "delete": ("delete", "a", "none", "busy", "nope"),
    "delete-offsets": ("delete-offsets", "a", "busy", "nope", "--topic", "t", "--topic", "u:0"),
    "remove-members": ("remove-members", "--group", "busy", "--all"),
}
every_command = pytest.mark.parametrize("command", CHANGES)


@pytest.fixture(autouse=True)
def groups(cluster: FakeCluster) -> None:
    """Add groups with and without commits and members, and partitions that brokers refuse."""
    cluster.end("t", 100, 50, starts=(10, 0))
    cluster.end("u", 9, starts=(0,))
    cluster.add("a", commits={("t", 0): CommittedOffset(60, 2, "note"), ("t", 1): 7})
    cluster.add("b", commits={("t", 1): 0}, refused={("t", 0): 29})
    cluster.add("none")
    members = [member("m1", {"t": (0,)}, group_instance_id="i"), member("m2")]
    cluster.add("busy", state="Stable", members=members, commits={("t", 0): 1, ("u", 0): 1})
    cluster.refused_items["a", TopicPartition("t", 1)] = failure("TIMEOUT", code=None, group="a")


def schema_of(name: str) -> Json:
    """Return the schema that the tool prints."""
    outcome = run("schema", name, bootstrap=None)
    assert (outcome.exit_code, outcome.stderr) == (0, "")
    schema: Json = json.loads(outcome.stdout)
    return schema


def check(document: str, name: str) -> Json:
    """Return the document; raise ValidationError if it does not conform to its schema."""
    found: Json = json.loads(document)
    Draft202012Validator(schema_of(name)).validate(found)
    return found


@pytest.mark.parametrize("name", [*CHANGES, "undo", "undo-list"])
def test_schemas_are_valid_and_contain_the_name_of_their_document(name: str) -> None:
    schema = schema_of(name)
    Draft202012Validator.check_schema(schema)
    assert schema["properties"]["schema"]["const"] == f"kafka-groups/{name}/1"


@every_command
@pytest.mark.parametrize("execute", [(), EXECUTE])
def test_documents_conform_to_their_schema(command: str, execute: tuple[str, ...]) -> None:
    document = check(run(*CHANGES[command], *execute, "--format", "json").stdout, command)
    assert document["groups"]


@every_command
def test_a_failed_document_conforms_to_its_schema(cluster: FakeCluster, command: str) -> None:
    cluster.refuse(unreachable())
    assert check(run(*CHANGES[command], "--format", "json").stdout, command)["status"] == "failed"


@every_command
def test_a_line_of_ndjson_conforms_to_its_schema(command: str) -> None:
    validator = Draft202012Validator(schema_of(command)["$defs"]["row"])
    lines = run(*CHANGES[command], *EXECUTE, "--format", "ndjson").stdout.splitlines()
    assert len(lines) >= 2
    assert [list(validator.iter_errors(json.loads(line))) for line in lines] == [[]] * len(lines)


@every_command
def test_every_status_but_those_of_the_contract_is_invalid(command: str) -> None:
    text = run(*CHANGES[command], "--format", "json").stdout
    with pytest.raises(ValidationError, match="'broken' is not one of"):
        check(text.replace('"status": "planned"', '"status": "broken"'), command)


def test_undo_and_its_list_conform_to_their_schemas() -> None:
    run(*CHANGES["reset"], *EXECUTE)
    assert check(run("undo", "--format", "json").stdout, "undo")["groups"]
    assert check(run("undo", *EXECUTE, "--format", "json").stdout, "undo")["groups"]
    runs = check(run("undo", "--list", "--format", "json").stdout, "undo-list")["runs"]
    validator = Draft202012Validator(schema_of("undo-list")["$defs"]["row"])
    for line in run("undo", "--list", "--format", "ndjson").stdout.splitlines():
        validator.validate(json.loads(line))
    # Older runs are those of other tests.
    assert [(each["command"], each["status"]) for each in runs[:2]] == [("undo", "done"), ("reset", "undone")]
    rows = {"planned": 0, "done": 2, "refused": 2, "failed": 1, "unknown": 0}
    assert runs[1]["rows"] == rows


def test_the_note_of_an_empty_journal_conforms_to_the_schema(tmp_path: Path) -> None:
    outcome = run("undo", "--list", "--journal", str(tmp_path), "--format", "json")
    document = check(outcome.stdout, "undo-list")
    assert document["notes"] == [{"kind": "journal", "cluster": None, "group": None, "text": "No change is recorded."}]
    with pytest.raises(ValidationError, match="'text' is a required property"):
        check(outcome.stdout.replace('"text"', '"other"'), "undo-list")


@pytest.mark.parametrize("command", [*CHANGES, "undo"])
def test_an_exported_plan_conforms_to_the_schema_of_plans(command: str, tmp_path: Path) -> None:
    run(*CHANGES["reset"], *EXECUTE)
    file = tmp_path / "plan.json"
    run(*CHANGES.get(command, ("undo",)), "--export", str(file))
    document = json.loads(file.read_text())
    Draft202012Validator(plan_schema()).validate(document)
    assert document["changes"]
