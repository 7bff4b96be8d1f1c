"""The rights that share and streams groups need, for a user who may not describe one of their topics."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka.admin import AclOperation, ResourceType

from kafka_groups import GroupAdmin
from tests.fakes.command_line import run
from tests.live.groups.other_kinds import streams
from tests.live.groups.share_consumers import share_pair
from tests.live.groups.topics import make_topic
from tests.live.secured_broker import SecuredBroker

pytestmark = [pytest.mark.live, pytest.mark.timeout(120)]


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
def share_group(secured: SecuredBroker, topic: str, hidden_topic: str) -> str:
    """Return a share group without members, with start offsets on both topics."""
    name = f"share-of-{topic}"
    with GroupAdmin({"bootstrap.servers": secured.bootstrap}) as admin:
        outcome = admin.alter_share_group_offsets({name: {(topic, 0): 3, (hidden_topic, 0): 5}}).all()[name]
    assert set(outcome.values()) == {None}
    return name


@pytest.fixture
def hidden_member(secured: SecuredBroker, hidden_topic: str) -> Iterator[str]:
    """Yield a share group whose members subscribe to the topic that the describer may not describe."""
    with share_pair(secured.bootstrap, hidden_topic) as name:
        yield name


def describe(secured: SecuredBroker, group: str, *, user: str = "describer") -> tuple[int, Any]:
    """Return the exit code of a description and its document."""
    outcome = run("describe", group, "--format", "json", *secured.flags(user), bootstrap=None)
    return outcome.exit_code, json.loads(outcome.stdout)


def test_a_denied_topic_is_left_out_of_start_offsets_without_an_error(
    secured: SecuredBroker, share_group: str, topic: str, hidden_topic: str
) -> None:
    code, document = describe(secured, share_group)
    (group,) = document["groups"]
    assert (code, document["errors"]) == (0, [])
    assert [(row["topic"], row["start_offset"]) for row in group["offsets"]] == [(topic, 3)]
    _, whole = describe(secured, share_group, user="operator")
    assert {row["topic"] for row in whole["groups"][0]["offsets"]} == {topic, hidden_topic}


def test_a_share_group_whose_members_read_a_denied_topic_is_not_described(
    secured: SecuredBroker, hidden_member: str
) -> None:
    code, document = describe(secured, hidden_member)
    assert (code, document["groups"]) == (1, [])
    assert [(error["group"], error["name"]) for error in document["errors"]] == [
        (hidden_member, "TOPIC_AUTHORIZATION_FAILED")
    ]


def test_a_streams_group_whose_source_topic_is_denied_is_not_described(
    secured: SecuredBroker, hidden_topic: str
) -> None:
    with streams(secured.bootstrap, hidden_topic) as group:
        code, document = describe(secured, group)
        assert (code, document["groups"]) == (1, [])
        assert [(error["group"], error["name"]) for error in document["errors"]] == [
            (group, "TOPIC_AUTHORIZATION_FAILED")
        ]
        assert describe(secured, group, user="operator")[0] == 0


def test_describe_on_the_group_is_needed_for_start_offsets(secured: SecuredBroker, topic: str) -> None:

    name = f"denied-{topic}"
    with GroupAdmin({"bootstrap.servers": secured.bootstrap}) as admin:
        admin.alter_share_group_offsets({name: {(topic, 0): 3}}).all()
    secured.allow("ANONYMOUS", AclOperation.ALL, name, kind=ResourceType.GROUP)
    code, document = describe(secured, name)
    assert (code, document["groups"]) == (1, [])
    assert {error["name"] for error in document["errors"]} == {"GROUP_AUTHORIZATION_FAILED"}
