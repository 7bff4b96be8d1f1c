"""What the commands need, which is what docs/security.md says, and the texts on it."""

from __future__ import annotations

import pytest

from kafka_groups.acl_operations import AclOperation
from kafka_groups.checks.check import Status
from kafka_groups.checks.operations import NEEDS, Resource, describe_operations
from tests.contracts.test_documented_rights import rights_in_page

COMMANDS = [
    (resource, operation, command)
    for resource, needs in NEEDS.items()
    for operation, commands in needs.items()
    for command in commands
    if resource is not Resource.CLUSTER
]


@pytest.mark.parametrize(("resource", "operation", "command"), COMMANDS)
def test_the_page_on_security_has_the_same_needs(resource: Resource, operation: AclOperation, command: str) -> None:
    assert operation.name in rights_in_page("docs/security.md")[command.split(maxsplit=1)[0]], resource


@pytest.mark.parametrize("resource", Resource)
def test_operations_that_no_command_needs_are_not_named(resource: Resource) -> None:
    every = describe_operations(resource, frozenset(AclOperation))
    assert every == describe_operations(resource, [*NEEDS[resource]])
    assert every[0] is Status.OK
    assert "WRITE" not in every[1]


def test_without_any_operation_each_is_named_with_its_commands() -> None:
    status, detail = describe_operations(Resource.CLUSTER, ())
    assert status is Status.WARNING
    assert detail == "no DESCRIBE, which list of all groups needs; no DESCRIBE_CONFIGS, which pipeline doctor needs"


def test_an_operation_that_a_command_needs_for_one_purpose_names_both() -> None:
    held = [operation for operation in NEEDS[Resource.TOPIC] if operation is not AclOperation.DESCRIBE_CONFIGS]
    _, detail = describe_operations(Resource.TOPIC, held)
    assert detail.endswith("; no DESCRIBE_CONFIGS, which lag --time --watch needs to warn before records are lost")
