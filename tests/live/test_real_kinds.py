"""Real share, streams and Connect groups: they are listed, and Kafka's own tools and interfaces show their members."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.live.groups.clients import run_command
from tests.live.groups.kafka_tools import describe_share_groups, describe_streams_groups
from tests.live.groups.real_kinds import PARTITIONS, RECORDS, RealGroups
from tests.live.groups.streams_application import PARTITIONS as TASKS

pytestmark = [pytest.mark.live, pytest.mark.timeout(180)]


def test_each_kind_is_listed_with_type_protocol_and_state(real_groups: RealGroups) -> None:
    document = run_command(real_groups.bootstrap, "list", "--state", "--format", "json").json
    listed = {row["group"]: (row["type"], row["protocol_type"], row["state"]) for row in document["groups"]}
    assert listed == {
        real_groups.share: ("Share", "share", "Stable"),
        real_groups.empty_share: ("Share", "share", "Empty"),
        real_groups.streams.group: ("Streams", "streams", "Stable"),
        real_groups.connect.group: ("Classic", "connect", "Stable"),
        real_groups.connect.sink_group: ("Classic", "consumer", "Stable"),
    }


def test_kafkas_tool_shows_both_members_of_the_share_group(real_groups: RealGroups, run_directory: Path) -> None:
    rows = describe_share_groups(
        real_groups.bootstrap, run_directory, "--group", real_groups.share, "--members", "--verbose"
    )
    assert sorted(row["CLIENT-ID"] for row in rows) == [f"{real_groups.share}-{number}" for number in (1, 2)]
    assert {row["ASSIGNMENT"].partition(":")[0] for row in rows} == {real_groups.shared}
    states = describe_share_groups(real_groups.bootstrap, run_directory, "--all-groups", "--state", "--verbose")
    assert {row["GROUP"]: (row["STATE"], row["#MEMBERS"]) for row in states} == {
        real_groups.share: ("Stable", "2"),
        real_groups.empty_share: ("Empty", "0"),
    }


def test_kafkas_tool_shows_what_a_share_group_has_not_accepted(real_groups: RealGroups, run_directory: Path) -> None:
    rows = describe_share_groups(real_groups.bootstrap, run_directory, "--all-groups", "--offsets", "--verbose")
    lags = {(row["GROUP"], int(row["PARTITION"])): int(row["LAG"]) for row in rows}
    expected = {0: RECORDS - 4, 1: RECORDS - 2, 2: RECORDS}
    assert lags == {
        (group, partition): expected[partition]
        for group in (real_groups.share, real_groups.empty_share)
        for partition in range(PARTITIONS)
    }
    assert {row["TOPIC"] for row in rows} == {real_groups.shared}


def test_kafkas_tool_shows_tasks_and_standbys_of_the_application(real_groups: RealGroups, run_directory: Path) -> None:
    group = real_groups.streams.group
    rows = describe_streams_groups(real_groups.bootstrap, run_directory, "--group", group, "--members", "--verbose")
    assert len({row["PROCESS"] for row in rows}) == 2
    assert {row["MEMBER-PROTOCOL"] for row in rows} == {"streams"}
    for row in rows:
        assert "ACTIVE: 0:[" in row["ASSIGNMENTS"]
        assert "STANDBY: 1:[" in row["ASSIGNMENTS"]
    (state,) = describe_streams_groups(real_groups.bootstrap, run_directory, "--group", group, "--state")
    assert (state["STATE"], state["#MEMBERS"]) == ("Stable", "2")


def test_kafkas_tool_shows_source_and_repartition_topics(real_groups: RealGroups, run_directory: Path) -> None:
    application = real_groups.streams
    rows = describe_streams_groups(
        real_groups.bootstrap, run_directory, "--group", application.group, "--offsets", "--verbose"
    )
    topics = (application.input_topic, application.repartition_topic)
    assert sorted((row["TOPIC"], int(row["PARTITION"])) for row in rows) == sorted(
        (topic, partition) for topic in topics for partition in range(TASKS)
    )


def test_rest_shows_connectors_and_tasks_on_both_workers(real_groups: RealGroups) -> None:
    workers = real_groups.connect
    running = workers.running()
    assert {f"http://{worker}/" for worker in running} == {workers.url(number) for number in (1, 2)}
    assert sum(map(len, running.values())) == 3 + 4


def test_members_that_stop_leave_their_work_to_the_others_until_they_return(real_groups: RealGroups) -> None:
    application, workers = real_groups.streams, real_groups.connect
    both = workers.running()
    application.stop(2)
    workers.stop(2)
    application.await_stable(members=1)
    workers.await_balanced()
    (remaining,) = workers.running().values()
    application.start(2)
    workers.start(2)
    application.await_stable(members=2)
    workers.await_balanced()
    assert remaining == set().union(*both.values()) == set().union(*workers.running().values())
