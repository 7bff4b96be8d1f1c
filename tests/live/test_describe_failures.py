"""`kafka-groups describe` of groups that it cannot describe, and its lack of side effects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.live.groups.clients import list_member_ids, run_command
from tests.live.groups.contexts import enter_concurrently
from tests.live.groups.members import delete_group, simple, stable
from tests.live.groups.raw_members import connect
from tests.live.groups.topics import delete_topic, make_topic

if TYPE_CHECKING:
    from tests.live.conftest import Cluster

pytestmark = pytest.mark.live


@pytest.fixture(scope="module")
def topic(cluster: Cluster) -> str:
    return make_topic(cluster.bootstrap, partitions=2, records=5)


@pytest.fixture(scope="module")
def groups(cluster: Cluster, topic: str) -> Iterator[dict[str, str]]:
    bootstrap, commits = cluster.bootstrap, [(topic, 0, 3)]
    with enter_concurrently(
        classic=stable(bootstrap, topic, commits=commits),
        consumer=stable(bootstrap, topic, commits=commits, consumer_protocol=True),
        simple=simple(bootstrap, commits=commits),
    ) as groups:
        yield groups


@pytest.fixture(scope="module")
def other_group(cluster: Cluster) -> Iterator[str]:
    """Yield a group of another classic protocol, such as that of a schema registry."""
    with connect(cluster.bootstrap, protocol_type="sr") as group:
        yield group


def test_a_group_that_does_not_exist_is_an_error(cluster: Cluster) -> None:
    result = run_command(cluster.bootstrap, "describe", "no-such-group")

    assert (result.out, result.code) == ("", 1)
    assert result.err == "Error: group 'no-such-group': Group no-such-group not found. (GROUP_ID_NOT_FOUND)\n"


@pytest.mark.parametrize("command", [["describe"], ["lag"], ["offsets"], ["delete"]], ids=" ".join)
def test_a_misspelt_group_gets_the_nearest_id(cluster: Cluster, groups: dict[str, str], command: list[str]) -> None:
    misspelt = f"{groups['simple'][0]}{groups['simple'][2:]}"
    result = run_command(cluster.bootstrap, *command, misspelt)

    assert (result.out, result.code) == ("", 1)
    assert f"; did you mean '{groups['simple']}'? (GROUP_ID_NOT_FOUND)\n" in result.err
    assert ".; did" not in result.err


@pytest.mark.parametrize("view", [[], ["--members"], ["--state", "--verbose"], ["--format", "kafka"]])
def test_a_missing_group_does_not_hide_another_group(cluster: Cluster, groups: dict[str, str], view: list[str]) -> None:
    alone = run_command(cluster.bootstrap, "describe", groups["consumer"], *view)
    both = run_command(cluster.bootstrap, "describe", groups["consumer"], "no-such-group", *view)

    assert both.out == alone.out
    assert both.err.startswith("Error: group 'no-such-group'")
    assert (alone.code, both.code) == (0, 3)


def test_a_deleted_group_is_not_found(cluster: Cluster, topic: str) -> None:
    with simple(cluster.bootstrap, commits=[(topic, 0, 1)]) as group:
        delete_group(cluster.bootstrap, group)
        result = run_command(cluster.bootstrap, "describe", group, "--format", "json")

    assert [(each["group"], each["code"], each["name"]) for each in result.json["errors"]] == [
        (group, 69, "GROUP_ID_NOT_FOUND")
    ]
    assert (result.json["status"], result.json["groups"], result.code) == ("failed", [], 1)


def test_only_the_rows_of_a_deleted_topic_disappear(cluster: Cluster, topic: str) -> None:
    deleted = make_topic(cluster.bootstrap, records=1)
    with simple(cluster.bootstrap, commits=[(topic, 0, 1), (deleted, 0, 1)]) as group:
        before = run_command(cluster.bootstrap, "describe", group)
        delete_topic(cluster.bootstrap, deleted)
        after = run_command(cluster.bootstrap, "describe", group)

    assert [row[1] for row in before.rows[1:]] == sorted([topic, deleted])
    assert [row[1:6] for row in after.rows[1:]] == [[topic, "0", "1", "5", "4"]]
    assert (after.err, after.code) == (f"Consumer group '{group}' has no active members.\n", 0)


def test_a_group_of_another_kind_is_an_error_only_if_it_was_named(
    cluster: Cluster, groups: dict[str, str], other_group: str
) -> None:
    named = run_command(cluster.bootstrap, "describe", other_group, groups["simple"])
    matched = run_command(cluster.bootstrap, "describe", "--match", f"{other_group}|{groups['simple']}")

    assert named.notes[-1].startswith(f"Error: group '{other_group}'")
    assert "is not a consumer group" in named.notes[-1]
    assert named.code == 3
    assert "skipped" in matched.notes[0]
    assert (matched.out, matched.code) == (named.out, 0)


def test_describe_creates_no_group_and_joins_none(cluster: Cluster, groups: dict[str, str]) -> None:
    before = run_command(cluster.bootstrap, "list", "--state", "--type", "--verbose")
    before_ids = (
        list_member_ids(cluster.bootstrap, groups["consumer"]),
        list_member_ids(cluster.bootstrap, groups["classic"]),
    )

    for view in ("--offsets", "--members", "--state"):
        run_command(
            cluster.bootstrap, "describe", groups["consumer"], groups["classic"], "never-made", view, "--verbose"
        )
    run_command(cluster.bootstrap, "offsets", groups["consumer"], "never-made")

    assert run_command(cluster.bootstrap, "list", "--state", "--type", "--verbose") == before
    assert before_ids == (
        list_member_ids(cluster.bootstrap, groups["consumer"]),
        list_member_ids(cluster.bootstrap, groups["classic"]),
    )
