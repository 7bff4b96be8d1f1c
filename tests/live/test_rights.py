"""Users without some rights: what brokers leave out, what they refuse, and that the other groups are printed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka.admin import AclOperation, ResourceType

from tests.live.groups.clients import run_command
from tests.live.groups.contexts import enter_concurrently
from tests.live.groups.members import simple, stable
from tests.live.groups.topics import make_topic
from tests.live.secured_broker import SecuredBroker

pytestmark = pytest.mark.live


@pytest.fixture(scope="module")
def topics(secured: SecuredBroker) -> tuple[str, str]:
    """Return an open topic, and one that only the operator may describe."""
    return make_topic(secured.bootstrap, records=5), make_topic(secured.bootstrap, records=5)


@pytest.fixture(scope="module")
def groups(secured: SecuredBroker, topics: tuple[str, str]) -> Iterator[dict[str, str]]:
    """Groups by what is closed to an anonymous user: the group itself, or one of its topics."""
    visible, closed = topics
    bootstrap, commits = secured.bootstrap, [(closed, 0, 2)]
    with enter_concurrently(
        mixed=simple(bootstrap, commits=[(visible, 0, 3), *commits]),
        denied=simple(bootstrap, commits=[(visible, 0, 1)]),
        classic=stable(bootstrap, closed, commits=commits),
        consumer=stable(bootstrap, closed, commits=commits, consumer_protocol=True),
    ) as groups:
        secured.allow("operator", AclOperation.READ, closed)
        secured.allow("operator", AclOperation.READ, groups["denied"], kind=ResourceType.GROUP)
        yield groups


def test_a_denied_group_is_an_error_and_the_other_is_printed(
    secured: SecuredBroker, topics: tuple[str, str], groups: dict[str, str]
) -> None:
    for command in ("describe", "offsets"):
        result = run_command(secured.bootstrap, command, groups["denied"], groups["mixed"])
        assert [row[:4] for row in result.rows[1:]] == [[groups["mixed"], topics[0], "0", "3"]]
        assert result.notes[-1] == (
            f"Error: group '{groups['denied']}': not allowed: this needs Describe on the group "
            "(GROUP_AUTHORIZATION_FAILED)"
        )
        assert result.code == 3


def test_brokers_leave_out_commits_on_denied_topics_without_an_error(
    secured: SecuredBroker, topics: tuple[str, str], groups: dict[str, str]
) -> None:
    result = run_command(secured.bootstrap, "offsets", groups["mixed"])
    assert [row[:4] for row in result.rows[1:]] == [[groups["mixed"], topics[0], "0", "3"]]
    assert (result.err, result.code) == ("", 0)


def test_a_denied_topic_that_is_named_is_an_error(
    secured: SecuredBroker, topics: tuple[str, str], groups: dict[str, str]
) -> None:
    result = run_command(secured.bootstrap, "offsets", groups["mixed"], "--topic", f"{topics[1]}:0")
    where = f"group '{groups['mixed']}', partition {topics[1]}-0"
    assert result.notes == [
        f"Error: {where}: not allowed: this needs Describe on the topic (TOPIC_AUTHORIZATION_FAILED)"
    ]
    assert result.code == 3


def test_a_denied_topic_that_is_assigned_to_a_classic_member_is_an_error_of_its_partition(
    secured: SecuredBroker, topics: tuple[str, str], groups: dict[str, str]
) -> None:
    result = run_command(secured.bootstrap, "describe", groups["classic"])
    assert [row[:6] for row in result.rows[1:]] == [[groups["classic"], topics[1], "0", "-", "-", "-"]]
    assert result.notes == [
        f"Error: partition {topics[1]}-0: not allowed: this needs Describe on the topic (TOPIC_AUTHORIZATION_FAILED)"
    ]
    assert result.code == 3


@pytest.mark.parametrize("view", ["--offsets", "--members"])
def test_a_denied_topic_hides_a_whole_kip_848_group(secured: SecuredBroker, groups: dict[str, str], view: str) -> None:
    result = run_command(secured.bootstrap, "describe", groups["consumer"], view)
    assert result.out == ""
    assert [line.startswith(f"Error: group '{groups['consumer']}': ") for line in result.notes] == [True]
    assert "TOPIC_AUTHORIZATION_FAILED" in result.err
    assert result.code == 1
