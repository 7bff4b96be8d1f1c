"""Old brokers: Kafka 2.8 takes one group a request, and ListGroups of Kafka 2.5 returns no states."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions
from confluent_kafka.admin import AdminClient

from tests.live.groups.clients import open_admin, run_command
from tests.live.groups.members import many_simple, stable
from tests.live.groups.topics import client_properties, make_topic

if TYPE_CHECKING:
    from tests.live.conftest import Cluster, KafkaTool

pytestmark = pytest.mark.live

NUMBER = 50
VERSIONS = ["kafka_2_8", "kafka_2_5"]


@pytest.fixture(params=VERSIONS)
def old(request: pytest.FixtureRequest) -> Cluster:
    """Return a broker of each old version in turn."""
    cluster: Cluster = request.getfixturevalue(request.param)
    return cluster


@pytest.fixture(scope="module")
def topic_2_8(kafka_2_8: Cluster) -> str:
    return make_topic(kafka_2_8.bootstrap, partitions=2, records=9)


@pytest.fixture(scope="module")
def groups_2_8(kafka_2_8: Cluster, topic_2_8: str) -> Iterator[list[str]]:
    with many_simple(kafka_2_8.bootstrap, NUMBER, commits=[(topic_2_8, 0, 4), (topic_2_8, 1, 9)]) as groups:
        yield groups


def test_offsets_of_fifty_groups_are_those_of_one_request_a_group(kafka_2_8: Cluster, groups_2_8: list[str]) -> None:
    with open_admin(kafka_2_8.bootstrap) as admin:
        found = admin.list_consumer_group_offsets(dict.fromkeys(groups_2_8)).all()

    ours = {g: {(*key, commit.offset) for key, commit in found[g].items() if commit} for g in groups_2_8}
    assert ours == _fetch_one_by_one(kafka_2_8.bootstrap, groups_2_8)


def _fetch_one_by_one(bootstrap: str, groups: list[str]) -> dict[str, set[tuple[str, int, int]]]:
    client = AdminClient(client_properties(bootstrap))
    futures = {g: client.list_consumer_group_offsets([ConsumerGroupTopicPartitions(g)])[g] for g in groups}
    return {
        group: {(each.topic, each.partition, each.offset) for each in future.result(30).topic_partitions}
        for group, future in futures.items()
    }


def test_an_old_broker_receives_one_request_a_group_and_no_more(kafka_2_8: Cluster, groups_2_8: list[str]) -> None:
    with open_admin(kafka_2_8.bootstrap) as admin:
        admin.list_consumer_group_offsets(dict.fromkeys(groups_2_8))
        sent = admin.requests_sent

    assert sent["FindCoordinator", 3] == NUMBER
    assert sent["OffsetFetch", 7] == NUMBER


def test_the_offsets_command_prints_rows_of_fifty_groups(
    kafka_2_8: Cluster, groups_2_8: list[str], topic_2_8: str
) -> None:
    result = run_command(kafka_2_8.bootstrap, "offsets", *groups_2_8)

    commits = (["0", "4", "-", "-"], ["1", "9", "-", "-"])
    expected = [[group, topic_2_8, *commit] for group in sorted(groups_2_8) for commit in commits]
    assert result.rows[1:] == expected
    assert (result.err, result.code) == ("", 0)


def test_states_are_filtered_since_2_6(kafka_2_8: Cluster, groups_2_8: list[str]) -> None:
    empty = run_command(kafka_2_8.bootstrap, "list", "--state", "empty")
    in_stable = run_command(kafka_2_8.bootstrap, "list", "--state", "Stable")

    assert {(group, "Empty") for group in groups_2_8} <= {(row[0], row[1]) for row in empty.rows[1:]}
    assert in_stable.rows == [["GROUP", "STATE"]]
    assert (empty.err, empty.code, in_stable.code) == ("", 0, 0)


@pytest.mark.usefixtures("groups_2_8")
def test_types_cannot_be_filtered_before_3_8(kafka_2_8: Cluster) -> None:
    result = run_command(kafka_2_8.bootstrap, "list", "--type", "consumer")

    assert "UNSUPPORTED_VERSION" in result.err
    assert "3.8" in result.err
    assert (len(result.notes), result.code) == (1, 1)


def test_the_type_classic_matches_all_groups_of_an_old_broker(kafka_2_8: Cluster, groups_2_8: list[str]) -> None:
    result = run_command(kafka_2_8.bootstrap, "list", "--type", "classic")

    assert {row[0] for row in result.rows[1:]} >= {*groups_2_8}
    assert (result.err, result.code) == ("", 0)


def test_states_cannot_be_filtered_before_2_6(kafka_2_5: Cluster) -> None:
    result = run_command(kafka_2_5.bootstrap, "list", "--state", "Stable")

    assert "Kafka 2.6" in result.err
    assert (len(result.notes), result.code) == (1, 1)


def test_groups_are_listed_and_described_on_every_old_broker(old: Cluster) -> None:
    topic = make_topic(old.bootstrap, partitions=2, records=3)
    with stable(old.bootstrap, topic, commits=[(topic, 0, 1)]) as group:
        listed = run_command(old.bootstrap, "list")
        described = run_command(old.bootstrap, "describe", "--group", group)
        missing = run_command(old.bootstrap, "describe", "no-such-group", group, "--state")

    assert [group] in listed.rows
    assert [row[1:6] for row in described.rows[1:]] == [[topic, "0", "1", "3", "2"], [topic, "1", "-", "3", "-"]]
    assert (described.err, described.code) == ("", 0)
    assert [row[3:] for row in missing.rows[1:]] == [["range", "Stable", "1"]]
    assert "no-such-group" in missing.err
    assert missing.code == 3


def test_a_partition_without_a_commit_is_null_on_every_old_broker(old: Cluster) -> None:
    topic = make_topic(old.bootstrap, partitions=2, records=3)
    with many_simple(old.bootstrap, 1, commits=[(topic, 0, 1)]) as (group,):
        result = run_command(old.bootstrap, "offsets", group, "--topic", f"{topic}:0,1", "--format", "json")

    offsets = [(each["partition"], each["committed_offset"]) for each in result.json["groups"][0]["offsets"]]
    assert offsets == [(0, 1), (1, None)]
    assert (result.err, result.code) == ("", 0)


def test_describe_prints_the_same_as_the_old_brokers_own_tool(old: Cluster, kafka_tool: KafkaTool) -> None:
    topic = make_topic(old.bootstrap, partitions=2, records=3)
    with stable(old.bootstrap, topic, members=2, commits=[(topic, 0, 1)]) as group:
        theirs, _, _ = kafka_tool(old, "--describe", "--group", group)
        ours = run_command(old.bootstrap, "describe", group, "--format", "kafka")

    assert sorted(ours.out.split("\n")) == sorted(theirs.split("\n"))
