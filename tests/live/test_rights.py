"""The rights that list, describe and offsets need, as their help names them, for a user with few rights."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka.admin import AclOperation, ResourceType

from tests.fakes.command_line import Outcome, run
from tests.live.groups.conditions import wait_until
from tests.live.groups.members import simple, stable
from tests.live.groups.topics import make_topic
from tests.live.secured_broker import SecuredBroker

pytestmark = pytest.mark.live


@pytest.fixture(scope="module")
def topic(secured: SecuredBroker) -> str:
    """Return a topic that every user may describe."""
    return make_topic(secured.bootstrap, records=8)


@pytest.fixture(scope="module")
def hidden_topic(secured: SecuredBroker) -> str:
    """Return a topic that the describer may not describe."""
    name = make_topic(secured.bootstrap, records=8)
    secured.allow("ANONYMOUS", AclOperation.ALL, name)
    return name


@pytest.fixture(scope="module")
def group(secured: SecuredBroker, topic: str, hidden_topic: str) -> Iterator[str]:
    """Yield a group that every user may describe, with commits on both topics."""
    with simple(secured.bootstrap, commits=[(topic, 0, 3), (hidden_topic, 0, 5)]) as name:
        yield name


@pytest.fixture(scope="module")
def hidden_group(secured: SecuredBroker, topic: str) -> Iterator[str]:
    """Yield a group that the describer may not describe."""
    with simple(secured.bootstrap, commits=[(topic, 0, 3)]) as name:
        secured.allow("ANONYMOUS", AclOperation.ALL, name, kind=ResourceType.GROUP)
        yield name


def run_as_describer(secured: SecuredBroker, *arguments: str) -> Outcome:
    return run(*arguments, *secured.flags("describer"), bootstrap=None)


def document_for_describer(secured: SecuredBroker, *arguments: str) -> tuple[int, Any]:
    outcome = run_as_describer(secured, *arguments, "--format", "json")
    return outcome.exit_code, json.loads(outcome.stdout)


def names_of(document: Any) -> list[tuple[str, str]]:
    return [(error["group"] or error["topic"], error["name"]) for error in document["errors"]]


def test_a_group_without_describe_is_not_listed_and_no_error(
    secured: SecuredBroker, group: str, hidden_group: str
) -> None:
    with secured.cluster_rights():
        wait_until(
            lambda: hidden_group not in run_as_describer(secured, "list").stdout, lambda: f"{hidden_group} is listed"
        )
        listed = run_as_describer(secured, "list")
        named = run_as_describer(secured, "list", hidden_group, group)
    assert (group in listed.stdout.split(), listed.stderr, listed.exit_code) == (True, "", 0)
    assert (named.stdout.split(), named.exit_code) == ([group], 3)
    assert named.stderr == f"Error: group '{hidden_group}': there is no such group (GROUP_ID_NOT_FOUND)\n"


def test_describe_on_the_cluster_lists_all_groups_and_describes_none(
    secured: SecuredBroker, group: str, hidden_group: str
) -> None:
    with secured.cluster_rights(describer=AclOperation.DESCRIBE):
        wait_until(
            lambda: hidden_group in run_as_describer(secured, "list").stdout, lambda: f"{hidden_group} is not listed"
        )
        code, document = document_for_describer(secured, "describe", group, hidden_group, "--state")
    assert (code, [found["group"] for found in document["groups"]]) == (3, [group])
    assert (hidden_group, "GROUP_AUTHORIZATION_FAILED") in names_of(document)


def test_read_on_a_group_implies_describe(secured: SecuredBroker, topic: str) -> None:
    with simple(secured.bootstrap, commits=[(topic, 0, 3)]) as readable, secured.cluster_rights():
        secured.allow("describer", AclOperation.READ, readable, kind=ResourceType.GROUP)
        wait_until(lambda: readable in run_as_describer(secured, "list").stdout, lambda: f"{readable} is not listed")
        code, document = document_for_describer(secured, "describe", readable)
        # The right of anonymous clients is gone, and simple() deletes nothing.
    assert (code, [row["lag"] for row in document["groups"][0]["offsets"]]) == (0, [5])


def test_commits_on_a_topic_without_describe_are_left_out_without_an_error(
    secured: SecuredBroker, group: str, topic: str, hidden_topic: str
) -> None:
    for command in ("offsets", "describe"):
        code, document = document_for_describer(secured, command, group)
        assert (code, [row["topic"] for row in document["groups"][0]["offsets"]]) == (0, [topic])
    code, document = document_for_describer(
        secured, "offsets", group, "--topic", f"{topic}:0", "--topic", f"{hidden_topic}:0"
    )
    assert (code, names_of(document)) == (3, [(group, "TOPIC_AUTHORIZATION_FAILED")])


def test_a_topic_without_describe_hides_its_log_end_offsets(secured: SecuredBroker, hidden_topic: str) -> None:
    with stable(secured.bootstrap, hidden_topic) as name:
        code, document = document_for_describer(secured, "describe", name)
    (found,) = document["groups"]
    assert (code, bool(found["members"])) == (3, True)
    assert [row["log_end_offset"] for row in found["offsets"]] == [None]
    assert {error for _, error in names_of(document)} == {"TOPIC_AUTHORIZATION_FAILED"}


@pytest.mark.parametrize("view", ["--offsets", "--members"])
def test_a_topic_without_describe_hides_a_kip_848_group_without_other_commits(
    secured: SecuredBroker, hidden_topic: str, view: str
) -> None:
    with stable(secured.bootstrap, hidden_topic, consumer_protocol=True) as name:
        outcome = run_as_describer(secured, "describe", name, view)
    assert (outcome.exit_code, outcome.stdout) == (1, "")
    assert outcome.stderr.startswith(f"Error: group '{name}': ")
    assert outcome.stderr.endswith("(TOPIC_AUTHORIZATION_FAILED)\n")
    assert outcome.stderr.count("\n") == 1
