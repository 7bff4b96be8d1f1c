"""`kafka-groups schema COMMAND`: a schema with every key that the command prints."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator, ValidationError

from kafka_groups.errors import AdminError
from kafka_groups.model import Assignment, CommittedOffset, GroupListing, TopicPartition
from kafka_groups.pipeline.commands.schemas import pipeline_schemas
from kafka_groups.rendering.views import view_schemas
from tests.fakes.command_line import run
from tests.fakes.fake_admin import Commits, FakeCluster, failure, member, unreachable

COMMANDS = {
    "list": (),
    "describe": (),
    "offsets": (),
    "lag": ("--by", "partition"),
    "wait": ("--until", "lag>=0 or members>=0"),
    "orphans": (),
    "why": ("--samples", "1"),
}
every_command = pytest.mark.parametrize("command", COMMANDS)
Json = dict[str, Any]


def schema_of(command: str) -> Json:
    """Return the schema that the tool prints."""
    outcome = run("schema", command, bootstrap=None)
    assert (outcome.exit_code, outcome.stderr) == (0, "")
    schema: Json = json.loads(outcome.stdout)
    return schema


def check(document: str, schema: Json) -> None:
    """Raise ValidationError if the document does not conform to the schema."""
    Draft202012Validator(schema).validate(json.loads(document))


@pytest.fixture(autouse=True)
def groups_with_everything(cluster: FakeCluster) -> None:
    """Add groups of both protocols, members of both kinds, and commits with and without optional values."""
    targets = (Assignment(topic="t", partitions=(0, 1)),)
    upgraded = member("m1", {"t": (0,)}, epoch=3, target_epoch=4, target_assignment=targets, upgraded=True)
    classic = member("m2", {"t": (1,)}, group_instance_id="i", epoch=3, target_epoch=4, target_assignment=())
    epochs: dict[str, Any] = {"group_epoch": 4, "target_assignment_epoch": 4, "assignor": "uniform"}
    commits: Commits = {("t", 0): CommittedOffset(9, 2, "note"), ("gone", 0): 1}
    cluster.add("new", state="Stable", kind="Consumer", members=[upgraded, classic], commits=commits, **epochs)
    cluster.add("old", state="Stable", members=[member("m3", {"t": (0,)})])
    cluster.add("lost", coordinator=None, commits={("t", 0): 1})
    cluster.end("t", 5, 5, starts=(1, 1))


@every_command
def test_schemas_are_valid_and_contain_the_name_of_their_document(command: str) -> None:
    schema = schema_of(command)
    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["properties"]["schema"]["const"] == f"kafka-groups/{command}/1"


@pytest.mark.parametrize(
    "arguments",
    [
        ("list", "--all-groups"),
        ("list", "new", "nope"),
        ("list", "--match", "none"),
        ("describe", "--match", "none"),
        ("describe", "--all-groups"),
        ("describe", "--all-groups", "--verbose"),
        ("describe", "new", "nope", "--members"),
        ("describe", "nope"),
        ("offsets", "--all-groups"),
        ("offsets", "new", "nope", "--topic", "t", "--topic", "nope"),
        ("list", "--topic", "t"),
        ("lag", "--all-groups"),
        ("lag", "new", "nope", "--by", "topic", "--isolation", "committed"),
        ("lag", "--by", "member"),
        ("lag", "--by", "partition"),
        ("wait", "new", "--until", "members>0"),
        ("orphans",),
        ("orphans", "new", "nope"),
        ("why", "--all-groups", "--samples", "1"),
        ("why", "new", "nope", "--samples", "1"),
    ],
    ids=" ".join,
)
def test_documents_conform_to_their_schema(arguments: tuple[str, ...]) -> None:
    check(run(*arguments, "--format", "json").stdout, schema_of(arguments[0]))


def test_a_partial_document_conforms_to_its_schema(cluster: FakeCluster) -> None:
    cluster.unfetchable["old"] = failure("TIMEOUT", code=None, group="old", broker=1)
    cluster.leaderless[TopicPartition("t", 1)] = failure("LEADER_NOT_AVAILABLE", code=5, topic="t", partition=1)
    text = run("describe", "--all-groups", "--format", "json").stdout
    assert len(json.loads(text)["errors"]) == 2
    check(text, schema_of("describe"))


@every_command
def test_a_failed_document_conforms_to_its_schema(cluster: FakeCluster, command: str) -> None:
    cluster.refuse(unreachable())
    check(run(command, "new", *COMMANDS[command], "--format", "json").stdout, schema_of(command))


@every_command
def test_an_error_name_that_the_contract_does_not_list_is_invalid(cluster: FakeCluster, command: str) -> None:
    cluster.refuse(AdminError("something else"))
    with pytest.raises(ValidationError, match="'UNKNOWN_SERVER_ERROR' is not one of"):
        check(run(command, "new", *COMMANDS[command], "--format", "json").stdout, schema_of(command))


def test_fields_that_old_brokers_do_not_return_are_null(cluster: FakeCluster) -> None:
    cluster.listings = {"g": GroupListing(group="g", type=None, state=None, protocol_type="", coordinator=1)}
    check(run("list", "--format", "json").stdout, schema_of("list"))


@pytest.mark.parametrize(
    ("arguments", "row"),
    [
        (("list",), "row"),
        (("describe", "--all-groups", "--verbose"), "offsets_row"),
        (("describe", "--all-groups", "--members"), "members_row"),
        (("describe", "--all-groups", "--state"), "state_row"),
        (("offsets", "--all-groups"), "row"),
        (("list", "--topic", "t", "--topic", "gone"), "row_of_topic"),
        (("lag",), "row_by_group"),
        (("lag", "--by", "topic"), "row_by_topic"),
        (("lag", "--by", "member"), "row_by_member"),
        (("lag", "--by", "partition"), "row_by_partition"),
        (("lag", "--watch", "1s", "--samples", "1"), "row_with_polls"),
        (("wait", "--all-groups", "--until", "members>=0"), "row_by_group"),
    ],
)
def test_a_line_of_ndjson_conforms_to_its_schema(arguments: tuple[str, ...], row: str) -> None:
    schema = schema_of(arguments[0])["$defs"][row]
    lines = run(*arguments, "--format", "ndjson").stdout.splitlines()
    assert len(lines) >= 3
    assert [list(Draft202012Validator(schema).iter_errors(json.loads(line))) for line in lines] == [[]] * len(lines)


def objects_in(schema: Any) -> Iterator[Json]:
    """Yield every schema of an object inside this schema, itself included."""
    keywords = schema if isinstance(schema, dict) else {}
    yield from [keywords][: "required" in keywords]
    for value in keywords.values():
        yield from objects_in(value)


@every_command
def test_every_key_is_required_described_and_typed(command: str) -> None:
    objects = list(objects_in(schema_of(command)))
    assert len(objects) >= 4
    assert [set(found["required"]) ^ set(found["properties"]) for found in objects] == [set()] * len(objects)
    keys = [key for found in objects for key in found["properties"].values()]
    assert [key for key in keys if not key.get("description", "").strip() and "enum" not in key] == []
    assert [key for key in keys if not {"type", "enum", "const"} & set(key)] == []


@every_command
def test_every_object_allows_additional_keys(command: str) -> None:
    assert {found["additionalProperties"] for found in objects_in(schema_of(command))} == {True}


@every_command
@pytest.mark.parametrize("key", ["schema", "status", "groups", "errors"])
def test_a_document_without_a_required_key_is_invalid(command: str, key: str) -> None:
    document = json.loads(run(command, "new", *COMMANDS[command], "--format", "json").stdout)
    del document[key]
    with pytest.raises(ValidationError, match=f"'{key}' is a required property"):
        check(json.dumps(document), schema_of(command))


def test_minus_one_instead_of_null_is_invalid() -> None:
    document = json.loads(run("describe", "new", "--format", "json").stdout)
    document["groups"][0]["offsets"][0]["committed_offset"] = -1
    with pytest.raises(ValidationError, match="is not valid under any of the given schemas"):
        check(json.dumps(document), schema_of("describe"))


def test_an_unknown_command_is_a_usage_error_that_names_the_known_ones() -> None:
    outcome = run("schema", "nope")
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert outcome.stderr.startswith("Error: Invalid value for 'COMMAND': 'nope' is not one of 'list', 'describe', ")
    assert [name for name in (*view_schemas(), *pipeline_schemas()) if f"'{name}'" not in outcome.stderr] == []
