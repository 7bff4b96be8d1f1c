"""What `kafka-groups describe` does about groups that it cannot describe, and what it leaves untouched."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.live.groups.asking import ask, member_ids
from tests.live.groups.members import delete_group, simple, stable
from tests.live.groups.other_kinds import share, streams
from tests.live.groups.raw_members import connect
from tests.live.groups.together import together
from tests.live.groups.topics import delete_topic, make_topic

if TYPE_CHECKING:
    from tests.live.conftest import Cluster

pytestmark = pytest.mark.live


@pytest.fixture(scope="module")
def topic(cluster: Cluster) -> str:
    return make_topic(cluster.bootstrap, partitions=2, records=5)


@pytest.fixture(scope="module")
def held(cluster: Cluster, topic: str) -> Iterator[dict[str, str]]:
    where, commits = cluster.bootstrap, [(topic, 0, 3)]
    with together(
        classic=stable(where, topic, commits=commits),
        consumer=stable(where, topic, commits=commits, consumer_protocol=True),
        simple=simple(where, commits=commits),
    ) as groups:
        yield groups


@pytest.fixture(scope="module")
def other_kinds(cluster: Cluster, topic: str) -> Iterator[dict[str, str]]:
    where = cluster.bootstrap
    with together(connect=connect(where), share=share(where, topic), streams=streams(where, topic)) as groups:
        yield groups


def test_a_group_that_does_not_exist_is_an_error(cluster: Cluster) -> None:
    answer = ask(cluster.bootstrap, "describe", "no-such-group")

    assert (answer.out, answer.code) == ("", 1)
    assert answer.err == "Error: group 'no-such-group': Group no-such-group not found. (GROUP_ID_NOT_FOUND)\n"


@pytest.mark.parametrize("view", [[], ["--members"], ["--state", "--verbose"], ["--format", "kafka"]])
def test_a_missing_group_does_not_hide_the_other(cluster: Cluster, held: dict[str, str], view: list[str]) -> None:
    alone = ask(cluster.bootstrap, "describe", held["consumer"], *view)
    both = ask(cluster.bootstrap, "describe", held["consumer"], "no-such-group", *view)

    assert both.out == alone.out
    assert both.err.startswith("Error: group 'no-such-group'")
    assert (alone.code, both.code) == (0, 3)


def test_a_deleted_group_is_not_found(cluster: Cluster, topic: str) -> None:
    with simple(cluster.bootstrap, commits=[(topic, 0, 1)]) as group:
        delete_group(cluster.bootstrap, group)
        answer = ask(cluster.bootstrap, "describe", group, "--format", "json")

    assert [(each["group"], each["code"], each["name"]) for each in answer.json["errors"]] == [
        (group, 69, "GROUP_ID_NOT_FOUND")
    ]
    assert (answer.json["status"], answer.json["groups"], answer.code) == ("failed", [], 1)


def test_a_topic_that_was_deleted_takes_only_its_own_rows_with_it(cluster: Cluster, topic: str) -> None:
    doomed = make_topic(cluster.bootstrap, records=1)
    with simple(cluster.bootstrap, commits=[(topic, 0, 1), (doomed, 0, 1)]) as group:
        before = ask(cluster.bootstrap, "describe", group)
        delete_topic(cluster.bootstrap, doomed)
        after = ask(cluster.bootstrap, "describe", group)

    assert [row[1] for row in before.rows[1:]] == sorted([topic, doomed])
    assert [row[1:6] for row in after.rows[1:]] == [[topic, "0", "1", "5", "4"]]
    assert (after.err, after.code) == (f"Consumer group '{group}' has no active members.\n", 0)


@pytest.mark.parametrize("kind", ["connect", "share", "streams"])
def test_a_group_of_another_kind_is_an_error_only_if_it_was_named(
    cluster: Cluster, held: dict[str, str], other_kinds: dict[str, str], kind: str
) -> None:
    named = ask(cluster.bootstrap, "describe", other_kinds[kind], held["simple"])
    matched = ask(cluster.bootstrap, "describe", "--match", f"{other_kinds[kind]}|{held['simple']}")

    assert named.notes[-1].startswith(f"Error: group '{other_kinds[kind]}'")
    assert "is not a consumer group" in named.notes[-1]
    assert named.code == 3
    assert "skipped" in matched.notes[0]
    assert (matched.out, matched.code) == (named.out, 0)


def test_describing_makes_no_group_and_joins_none(cluster: Cluster, held: dict[str, str]) -> None:
    before = ask(cluster.bootstrap, "list", "--state", "--type", "--verbose")
    seen = member_ids(cluster.bootstrap, held["consumer"]), member_ids(cluster.bootstrap, held["classic"])

    for view in ("--offsets", "--members", "--state"):
        ask(cluster.bootstrap, "describe", held["consumer"], held["classic"], "never-made", view, "--verbose")
    ask(cluster.bootstrap, "offsets", held["consumer"], "never-made")

    assert ask(cluster.bootstrap, "list", "--state", "--type", "--verbose") == before
    assert seen == (member_ids(cluster.bootstrap, held["consumer"]), member_ids(cluster.bootstrap, held["classic"]))
