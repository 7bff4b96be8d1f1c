"""The documents and lines of groups of every kind conform to the schema of `kafka-groups schema describe`."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest
from jsonschema import Draft202012Validator, ValidationError

from tests.fakes.cluster_of_kinds import WITH_NODES, kinds_cluster, run_on
from tests.fakes.command_line import run
from tests.fakes.kind_members import connect_member
from tests.fakes.scripted_cluster import Group

UNREADABLE = connect_member("w-3", [], member_metadata=b"{}")


@cache
def describe_schema() -> Any:
    """Return the schema that the tool prints."""
    return json.loads(run("schema", "describe", bootstrap=None).stdout)


def check(document: str) -> None:
    """Raise ValidationError if the document does not conform to the schema."""
    Draft202012Validator(describe_schema()).validate(json.loads(document))


@pytest.mark.parametrize("with_nodes", [False, True], ids=["Kafka 4.3", "Kafka 4.4"])
@pytest.mark.parametrize("arguments", [(), ("--verbose",), ("--topology",)], ids=" ".join)
def test_documents_of_all_kinds_conform_to_their_schema(arguments: tuple[str, ...], with_nodes: bool) -> None:
    with kinds_cluster(**(WITH_NODES if with_nodes else {})) as running:
        running.groups["empty-share"] = Group(type="Share", protocol_type="share", state="Empty")
        running.groups["not-ready"] = Group(type="Streams", protocol_type="streams", state="NotReady")
        running.groups["rebalancing"] = Group(protocol_type="connect", members=[UNREADABLE])
        text = run_on(running, "describe", "--all-groups", *arguments, "--format", "json").stdout
    document = json.loads(text)
    assert len(document["groups"]) == (2 if arguments == ("--topology",) else 7)
    check(text)


def test_a_group_has_the_rows_of_its_own_kind() -> None:
    with kinds_cluster() as running:
        groups = json.loads(run_on(running, "describe", "--all-groups", "--format", "json").stdout)["groups"]
    definitions = describe_schema()["$defs"]
    for group, prefix in zip(groups, ("streams_", "share_", "", "connect_"), strict=True):
        for name in ("offsets", "members"):
            validator = Draft202012Validator(definitions[f"{prefix}{name}_row"])
            rows = [{**{key: group[key] for key in ("cluster", "cluster_id", "group")}, **row} for row in group[name]]
            assert [list(validator.iter_errors(row)) for row in rows] == [[]] * len(rows)


@pytest.mark.parametrize(
    ("arguments", "row"),
    [
        (("clicks-sampler", "--verbose"), "share_offsets_row"),
        (("clicks-sampler", "--members"), "share_members_row"),
        (("app",), "streams_offsets_row"),
        (("app", "--members"), "streams_members_row"),
        (("app", "--topology"), "topology_row"),
        (("workers",), "connect_offsets_row"),
        (("workers", "--members"), "connect_members_row"),
        (("clicks-sampler", "app", "workers", "--state"), "state_row"),
    ],
)
def test_a_line_of_ndjson_of_each_kind_conforms_to_its_schema(arguments: tuple[str, ...], row: str) -> None:
    with kinds_cluster(**WITH_NODES) as running:
        lines = run_on(running, "describe", *arguments, "--format", "ndjson").stdout.splitlines()
    validator = Draft202012Validator(describe_schema()["$defs"][row])
    assert len(lines) >= 2
    assert [list(validator.iter_errors(json.loads(line))) for line in lines] == [[]] * len(lines)


@pytest.mark.parametrize("key", ["lag", "start_offset"])
def test_minus_one_for_a_share_group_is_invalid(key: str) -> None:
    with kinds_cluster() as running:
        document = json.loads(run_on(running, "describe", "clicks-sampler", "--format", "json").stdout)
    document["groups"][0]["offsets"][0][key] = -1
    with pytest.raises(ValidationError, match="is not valid under any of the given schemas"):
        check(json.dumps(document))
