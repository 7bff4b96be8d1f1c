"""An independent implementation of the brokers: what commands print agrees with what its members committed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.live.groups.clients import list_member_ids, run_command
from tests.live.groups.contexts import enter_concurrently
from tests.live.groups.members import empty, simple, stable
from tests.live.groups.topics import make_topic
from tests.live.kfake_cluster import run_kfake

# The first build of the program takes a minute.
pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def kfake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with run_kfake(tmp_path_factory.mktemp("kfake")) as bootstrap:
        yield bootstrap


@pytest.fixture(scope="module")
def topic(kfake: str) -> str:
    return make_topic(kfake, partitions=2, records=5)


@pytest.fixture(scope="module")
def groups(kfake: str, topic: str) -> Iterator[dict[str, str]]:
    with enter_concurrently(
        classic=stable(kfake, topic, commits=[(topic, 0, 3)]),
        consumer=stable(kfake, topic, members=2, commits=[(topic, 0, 2), (topic, 1, 4)], consumer_protocol=True),
        classic_empty=empty(kfake, topic, commits=[(topic, 1, 1)]),
        consumer_empty=empty(kfake, topic, commits=[(topic, 1, 5)], consumer_protocol=True),
        simple=simple(kfake, commits=[(topic, 0, 0)]),
    ) as groups:
        yield groups


def test_groups_are_listed_with_their_states_and_types(kfake: str, groups: dict[str, str]) -> None:
    everything = run_command(kfake, "list", "--state", "--type")
    consumers = run_command(kfake, "list", "--type", "consumer", "--state", "stable")

    assert sorted(everything.rows[1:]) == sorted(
        [
            [groups["classic"], "Classic", "Stable"],
            [groups["consumer"], "Consumer", "Stable"],
            [groups["classic_empty"], "Classic", "Empty"],
            [groups["consumer_empty"], "Consumer", "Empty"],
            [groups["simple"], "Classic", "Empty"],
        ]
    )
    assert consumers.rows[1:] == [[groups["consumer"], "Consumer", "Stable"]]
    assert (everything.err, everything.code, consumers.err, consumers.code) == ("", 0, "", 0)


def test_each_partition_of_a_live_group_is_one_row_with_its_member(
    kfake: str, groups: dict[str, str], topic: str
) -> None:
    ours = run_command(kfake, "describe", groups["classic"], groups["consumer"], "--format", "json")

    rows = {
        (each["group"], row["topic"], row["partition"], row["committed_offset"], row["log_end_offset"], row["lag"])
        for each in ours.json["groups"]
        for row in each["offsets"]
    }
    assert rows == {
        (groups["classic"], topic, 0, 3, 5, 2),
        (groups["classic"], topic, 1, None, 5, None),
        (groups["consumer"], topic, 0, 2, 5, 3),
        (groups["consumer"], topic, 1, 4, 5, 1),
    }
    owners = {row["client_id"] for each in ours.json["groups"] for row in each["offsets"]}
    assert owners == {f"{groups['classic']}-c1", *(f"{groups['consumer']}-c{number}" for number in (1, 2))}
    assert sum(len(each["offsets"]) for each in ours.json["groups"]) == len(rows)
    assert (ours.err, ours.code) == ("", 0)


def test_groups_without_members_have_their_commits(kfake: str, groups: dict[str, str], topic: str) -> None:
    kinds = ["classic_empty", "consumer_empty", "simple"]
    ours = run_command(kfake, "describe", *(groups[kind] for kind in kinds))

    assert sorted(row for row in ours.rows if row[0] != "GROUP") == sorted(
        [
            [groups["classic_empty"], topic, "1", "1", "5", "4", "-", "-", "-"],
            [groups["consumer_empty"], topic, "1", "5", "5", "0", "-", "-", "-"],
            [groups["simple"], topic, "0", "0", "5", "5", "-", "-", "-"],
        ]
    )
    assert sorted(ours.notes) == sorted(f"Consumer group '{groups[kind]}' has no active members." for kind in kinds)
    assert ours.code == 0


def test_members_have_the_names_of_their_topics(kfake: str, groups: dict[str, str], topic: str) -> None:
    ours = run_command(kfake, "describe", groups["classic"], groups["consumer"], "--members", "--format", "json")

    found = {each["group"]: each["members"] for each in ours.json["groups"]}
    (classic,) = found[groups["classic"]]
    assert classic["assignment"] == [{"topic": topic, "partitions": [0, 1]}]
    members = {member["client_id"]: member for member in found[groups["consumer"]]}
    assert {client: member["member_id"] for client, member in members.items()} == list_member_ids(
        kfake, groups["consumer"]
    )
    assigned = [member["assignment"] for member in members.values()]
    assert sorted(assigned, key=str) == [[{"topic": topic, "partitions": [number]}] for number in (0, 1)]
    assert [member["target_assignment"] for member in members.values()] == assigned
    assert (ours.err, ours.code) == ("", 0)


def test_offsets_are_those_that_were_committed(kfake: str, groups: dict[str, str], topic: str) -> None:
    ours = run_command(kfake, "offsets", *groups.values())

    assert sorted(row[:4] for row in ours.rows[1:]) == sorted(
        [
            [groups["classic"], topic, "0", "3"],
            [groups["consumer"], topic, "0", "2"],
            [groups["consumer"], topic, "1", "4"],
            [groups["classic_empty"], topic, "1", "1"],
            [groups["consumer_empty"], topic, "1", "5"],
            [groups["simple"], topic, "0", "0"],
        ]
    )
    assert (ours.err, ours.code) == ("", 0)


def test_an_absent_group_is_not_found(kfake: str, groups: dict[str, str]) -> None:
    ours = run_command(kfake, "describe", "no-such-group", groups["simple"])

    assert [row[0] for row in ours.rows[1:]] == [groups["simple"]]
    assert "group 'no-such-group'" in ours.err
    assert "GROUP_ID_NOT_FOUND" in ours.err
    assert ours.code == 3
