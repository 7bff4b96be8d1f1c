"""`kafka-groups describe`: offsets and lag, the default view."""

from __future__ import annotations

import json
from textwrap import dedent
from typing import Any

import pytest

from kafka_groups.admin import OffsetSpec
from kafka_groups.model import CommittedOffset, TopicPartition
from tests.fakes.command_line import run
from tests.fakes.fake_admin import Commits, FakeCluster, member


@pytest.fixture(autouse=True)
def a_busy_and_an_empty_group(cluster: FakeCluster) -> None:
    """Add `busy` with two members and commits on unowned partitions, and `idle` with commits only."""
    commits: Commits = {("t", 0): 3, ("t", 2): CommittedOffset(12, 4, "note"), ("u", 10): 9, ("u", 9): 1}
    members = [member("m-one", {"t": (2,)}), member("m-two", {"t": (0, 1)})]
    cluster.add("busy", state="Stable", members=members, commits=commits)
    cluster.add("idle", commits={("t", 1): 7})
    cluster.end("t", 10, 10, 10, starts=(0, 0, 2))
    cluster.ends[TopicPartition("u", 9)] = 1


BUSY = dedent("""\

    GROUP  TOPIC  PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG  CONSUMER-ID  HOST       CLIENT-ID
    busy   t              0               3              10    7  m-two        /10.0.0.1  client
    busy   t              1               -              10    -  m-two        /10.0.0.1  client
    busy   t              2              12              10   -2  m-one        /10.0.0.1  client
    busy   u              9               1               1    0  -            -          -
    busy   u             10               9               -    -  -            -          -
    """)
IDLE = dedent("""\

    GROUP  TOPIC  PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG  CONSUMER-ID  HOST  CLIENT-ID
    idle   t              1               7              10    3  -            -     -
    """)


@pytest.mark.parametrize("flags", [(), ("--offsets",)])
def test_members_with_most_partitions_come_first_and_unowned_commits_last(flags: tuple[str, ...]) -> None:
    assert run("describe", "busy", *flags) == (0, BUSY, "")


def test_an_empty_group_has_its_commits_and_a_note() -> None:
    assert run("describe", "idle") == (0, IDLE, "Consumer group 'idle' has no active members.\n")


def test_each_group_has_a_block_in_the_order_of_ids() -> None:
    assert run("describe", "idle", "busy").stdout == BUSY + IDLE


def test_verbose_adds_leader_epochs_log_start_offsets_and_metadata() -> None:
    screen = (
        "\n"
        "GROUP  TOPIC  PARTITION  LEADER-EPOCH  CURRENT-OFFSET  LOG-END-OFFSET  LAG  CONSUMER-ID  HOST  CLIENT-ID"
        "  LOG-START-OFFSET  METADATA\n"
        "idle   t              1             -               7              10    3  -            -     -        "
        "                 0  -\n"
    )
    assert run("describe", "idle", "--verbose").stdout == screen


def test_a_verbose_row_has_the_leader_epoch_and_the_metadata_of_the_commit() -> None:
    rows = [line.split() for line in run("describe", "busy", "--verbose").stdout.splitlines()[2:]]
    assert rows[2] == ["busy", "t", "2", "4", "12", "10", "-2", "m-one", "/10.0.0.1", "client", "2", "note"]


def test_csv_has_one_header_and_empty_fields() -> None:
    screen = dedent("""\
        GROUP,TOPIC,PARTITION,CURRENT-OFFSET,LOG-END-OFFSET,LAG,CONSUMER-ID,HOST,CLIENT-ID
        busy,t,0,3,10,7,m-two,/10.0.0.1,client
        busy,t,1,,10,,m-two,/10.0.0.1,client
        busy,t,2,12,10,-2,m-one,/10.0.0.1,client
        busy,u,9,1,1,0,,,
        busy,u,10,9,,,,,
        idle,t,1,7,10,3,,,
        """)
    assert run("describe", "--all-groups", "--format", "csv").stdout == screen


def test_ndjson_has_the_group_on_every_row() -> None:
    outcome = run("describe", "idle", "--format", "ndjson")
    assert [json.loads(line) for line in outcome.stdout.splitlines()] == [
        {
            "cluster": "fake",
            "cluster_id": "fake",
            "group": "idle",
            "topic": "t",
            "partition": 1,
            "leader_epoch": None,
            "committed_offset": 7,
            "log_end_offset": 10,
            "lag": 3,
            "member_id": None,
            "host": None,
            "client_id": None,
            "log_start_offset": None,
            "metadata": "",
        }
    ]


def test_json_is_one_document() -> None:
    outcome = run("describe", "idle", "--format", "json")
    assert json.loads(outcome.stdout) == {
        "schema": "kafka-groups/describe/1",
        "status": "complete",
        "groups": [
            {
                "cluster": "fake",
                "cluster_id": "fake",
                "group": "idle",
                "type": "Classic",
                "state": "Empty",
                "protocol_type": "consumer",
                "coordinator": {"id": 1, "host": "b1", "port": 9092},
                "assignor": None,
                "group_epoch": None,
                "target_assignment_epoch": None,
                "offsets": [
                    {
                        "topic": "t",
                        "partition": 1,
                        "committed_offset": 7,
                        "leader_epoch": None,
                        "metadata": "",
                        "log_start_offset": None,
                        "log_end_offset": 10,
                        "lag": 3,
                        "member_id": None,
                        "host": None,
                        "client_id": None,
                    }
                ],
                "members": [],
                "topology": None,
            }
        ],
        "notes": [
            {
                "kind": "no_active_members",
                "cluster": "fake",
                "group": "idle",
                "text": "Consumer group 'idle' has no active members.",
            }
        ],
        "errors": [],
    }
    assert (outcome.exit_code, outcome.stderr) == (0, "Consumer group 'idle' has no active members.\n")


@pytest.mark.parametrize("view", ["--offsets", "--members", "--state"])
def test_json_is_the_same_in_every_view(view: str) -> None:
    assert (
        run("describe", "busy", view, "--format", "json").stdout == run("describe", "busy", "--format", "json").stdout
    )


def log_start_offsets(stdout: str) -> list[Any]:
    """Return the log start offsets of the first group of a document."""
    return [row["log_start_offset"] for row in json.loads(stdout)["groups"][0]["offsets"]]


def test_log_start_offsets_are_fetched_only_if_they_are_shown(cluster: FakeCluster) -> None:
    assert log_start_offsets(run("describe", "busy", "--format", "json").stdout) == [None] * 5
    assert cluster.admin.list_offsets.call_count == 1
    assert log_start_offsets(run("describe", "busy", "--format", "json", "--verbose").stdout) == [0, 0, 2, None, None]
    assert [call.kwargs.get("spec") for call in cluster.admin.list_offsets.call_args_list].count(
        OffsetSpec.earliest()
    ) == 1


KAFKA_OFFSETS = (
    "\n"
    "GROUP           TOPIC           PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG             "
    "CONSUMER-ID     HOST            CLIENT-ID\n"
    "idle            t               1          7               10              3               "
    "-               -               -\n"
)
KAFKA_VERBOSE = (
    "\n"
    "GROUP           TOPIC           PARTITION  LEADER-EPOCH    CURRENT-OFFSET  LOG-END-OFFSET  LAG             "
    "CONSUMER-ID     HOST            CLIENT-ID\n"
    "idle            t               1          -               7               10              3               "
    "-               -               -\n"
)


@pytest.mark.parametrize(("flags", "screen"), [((), KAFKA_OFFSETS), (("--verbose",), KAFKA_VERBOSE)])
def test_kafka_format_has_kafkas_columns_and_no_more(flags: tuple[str, ...], screen: str) -> None:
    assert run("describe", "idle", "--format", "kafka", *flags).stdout == screen


def test_a_missing_value_is_never_printed_as_minus_one(cluster: FakeCluster) -> None:
    cluster.ends.clear()
    outcome = run("describe", "busy", "idle", "--verbose")
    assert "-1" not in outcome.stdout.replace("10.0.0.1", "")
    assert "-1" not in run("describe", "busy", "--format", "csv", "--verbose").stdout
    assert "-1" not in run("describe", "busy", "--format", "json", "--verbose").stdout


def test_a_group_without_commits_and_assignments_is_a_note_without_a_block(cluster: FakeCluster) -> None:
    cluster.add("new", state="Stable", members=[member("m")])
    note = "Consumer group 'new' has no committed offsets and no assigned partitions.\n"
    assert run("describe", "new") == (0, "", note)


def test_a_partition_without_a_leader_keeps_its_row_and_its_member(cluster: FakeCluster) -> None:
    del cluster.ends[TopicPartition("t", 0)]
    outcome = run("describe", "busy", "--format", "csv")
    assert outcome.stdout.splitlines()[1] == "busy,t,0,3,,,m-two,/10.0.0.1,client"


def test_listed_empty_groups_are_not_described(cluster: FakeCluster) -> None:
    run("describe", "--all-groups")
    assert cluster.admin.describe_with_offsets.call_args.args == (["busy"], {"busy": None, "idle": None})
