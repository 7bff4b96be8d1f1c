"""`describe` and `lag` of real share, streams and Connect groups, against Kafka's own tools and REST interface."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.live.groups.clients import open_admin, run_command
from tests.live.groups.kafka_tools import Row, describe_share_groups, describe_streams_groups, parse_rows
from tests.live.groups.real_kinds import RECORDS, RealGroups
from tests.live.groups.streams_application import PARTITIONS as TASKS

if TYPE_CHECKING:
    from tests.live.conftest import Cluster

pytestmark = [pytest.mark.live, pytest.mark.timeout(240)]

# The lags of both share groups, by partition: what their members have not accepted.
SHARE_LAGS = {0: RECORDS - 4, 1: RECORDS - 2, 2: RECORDS}
VIEWS = [["--offsets"], ["--offsets", "--verbose"], ["--members"], ["--members", "--verbose"], ["--state", "--verbose"]]


def document_of(groups: RealGroups, *arguments: str) -> dict[str, Any]:
    """Return the JSON objects of described groups, by id."""
    outcome = run_command(groups.bootstrap, "describe", *arguments, "--format", "json")
    assert outcome.code == 0, outcome
    return {group["group"]: group for group in outcome.json["groups"]}


def sorted_rows(rows: list[Row]) -> list[Row]:
    """Return rows in an order that does not depend on the tool."""
    return sorted(rows, key=lambda row: sorted(row.items()))


def assert_same_as(tool: Callable[..., list[Row]], groups: RealGroups, group: str, view: list[str], run: Path) -> None:
    """Compare a view of a group in Kafka's format with the same view of Kafka's own tool."""
    ours = run_command(groups.bootstrap, "describe", group, *view, "--format", "kafka")
    theirs = tool(groups.bootstrap, run, "--group", group, *view)
    assert sorted_rows(parse_rows(ours.out)) == sorted_rows(theirs)


@pytest.mark.parametrize("view", VIEWS, ids=" ".join)
def test_a_share_group_has_the_cells_of_kafkas_tool(
    real_groups: RealGroups, run_directory: Path, view: list[str]
) -> None:
    assert_same_as(describe_share_groups, real_groups, real_groups.share, view, run_directory)


@pytest.mark.parametrize("view", VIEWS, ids=" ".join)
def test_a_streams_group_has_the_cells_of_kafkas_tool(
    real_groups: RealGroups, run_directory: Path, view: list[str]
) -> None:
    assert_same_as(describe_streams_groups, real_groups, real_groups.streams.group, view, run_directory)


def test_share_groups_have_the_lag_of_what_was_not_accepted(real_groups: RealGroups) -> None:
    groups = document_of(real_groups, real_groups.share, real_groups.empty_share)
    for group in groups.values():
        assert {row["partition"]: row["lag"] for row in group["offsets"]} == SHARE_LAGS
        # Kafka 4.4 does not move a start offset at once, but counts delivered records.
        for row in group["offsets"]:
            assert row["start_offset"] + row["delivered"] + row["lag"] == row["log_end_offset"] == RECORDS
    assert len(groups[real_groups.share]["members"]) == 2
    assert groups[real_groups.empty_share]["members"] == []
    assert {tuple(each["subscription"]) for each in groups[real_groups.share]["members"]} == {(real_groups.shared,)}


def test_lag_takes_share_and_streams_groups(real_groups: RealGroups) -> None:
    application = real_groups.streams.group
    outcome = run_command(real_groups.bootstrap, "lag", real_groups.share, application, "--format", "json")
    lags = {group["group"]: (group["lag"], group["members"]) for group in outcome.json["groups"]}
    assert lags[real_groups.share] == (sum(SHARE_LAGS.values()), 2)
    assert lags[application][1] == 2


def test_a_connect_group_has_no_lag_but_its_sink_has(real_groups: RealGroups) -> None:
    outcome = run_command(real_groups.bootstrap, "lag", real_groups.connect.group, real_groups.connect.sink_group)
    assert "Connect groups have no offsets" in outcome.err
    assert real_groups.connect.sink_group in outcome.out


def test_members_of_a_streams_group_have_their_tasks(real_groups: RealGroups) -> None:
    group = document_of(real_groups, real_groups.streams.group, "--members")[real_groups.streams.group]
    roles = [member["tasks"] for member in group["members"]]
    for role, subtopologies in (("active", ["0", "1"]), ("standby", ["1"])):
        found = sorted(
            (tasks["subtopology"], number) for each in roles for tasks in each[role] for number in tasks["partitions"]
        )
        assert found == sorted((name, number) for name in subtopologies for number in range(TASKS))
    assert len({member["process_id"] for member in group["members"]}) == 2
    topics = {topic for each in group["topology"]["subtopologies"] for topic in each["source_topics"]}
    assert topics == {real_groups.streams.input_topic}


def test_a_topology_has_the_nodes_of_the_application_since_4_4(
    real_groups: RealGroups, request: pytest.FixtureRequest
) -> None:
    application = real_groups.streams
    outcome = run_command(real_groups.bootstrap, "describe", application.group, "--topology", "--format", "json")
    if request.node.callspec.params["real_groups"] == "4.3.1":
        assert (outcome.code, "this needs Kafka 4.4" in outcome.err) == (3, True)
        return
    (group,) = outcome.json["groups"]
    nodes = group["topology"]["nodes"]
    assert {node["type"] for node in nodes} == {"source", "processor", "sink"}
    topics = {topic for node in nodes for topic in node["topics"]}
    assert {application.input_topic, application.repartition_topic} <= topics


def test_the_restoration_lag_of_copies_is_a_number_of_records_or_unknown(real_groups: RealGroups) -> None:
    members = document_of(real_groups, real_groups.streams.group)[real_groups.streams.group]["members"]
    assert all(member["restoration_lag"] is None or member["restoration_lag"] < RECORDS * 1_000 for member in members)


def test_workers_run_what_the_rest_interface_shows(real_groups: RealGroups) -> None:
    workers = real_groups.connect
    group = document_of(real_groups, workers.group)[workers.group]
    running = {
        worker["url"]: {
            (each["connector"], number)
            for each in worker["connectors"]
            for number in [*([-1] if each["has_connector"] else []), *each["tasks"]]
        }
        for worker in group["members"]
    }
    assert running == {f"http://{worker}/": found for worker, found in workers.running().items()}
    assert [worker["is_leader"] for worker in group["members"]].count(True) == 1


def test_a_streams_group_without_members_has_its_offsets(real_groups: RealGroups) -> None:
    application = real_groups.streams
    before = document_of(real_groups, application.group)[application.group]["offsets"]
    application.stop_all()
    try:
        group = document_of(real_groups, application.group)[application.group]
        assert (group["state"], group["members"]) == ("Empty", [])
        committed = [row for row in before if row["committed_offset"] is not None]
        assert {(row["topic"], row["partition"]) for row in group["offsets"]} >= {
            (row["topic"], row["partition"]) for row in committed
        }
    finally:
        application.start(1)
        application.start(2)
        application.await_stable(members=2)


def test_kinds_that_are_not_enabled_are_reported_as_such(without_kinds: Cluster) -> None:
    with open_admin(without_kinds.bootstrap) as admin:
        failures = [
            admin.describe_share_groups(["g"]).failed["g"],
            admin.describe_streams_groups(["g"]).failed["g"],
            admin.list_share_group_offsets({"g": None}).failed["g"],
        ]
    assert [(failure.name, failure.message.partition(" (")[0]) for failure in failures] == [
        ("UNSUPPORTED_VERSION", f"{kind} groups are not enabled on this cluster")
        for kind in ("share", "streams", "share")
    ]


def test_an_absent_group_is_absent_also_where_kinds_are_not_enabled(without_kinds: Cluster) -> None:
    outcome = run_command(without_kinds.bootstrap, "describe", "absent")
    assert (outcome.code, outcome.out) == (1, "")
    assert "GROUP_ID_NOT_FOUND" in outcome.err
