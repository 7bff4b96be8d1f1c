"""`kafka-groups describe --members` and `--state`."""

from __future__ import annotations

import json
from textwrap import dedent
from typing import Any

import pytest

from kafka_groups.model import Assignment
from tests.fakes.command_line import run
from tests.fakes.fake_admin import FakeCluster, member

HEADER = ["GROUP", "CONSUMER-ID", "GROUP-INSTANCE-ID", "HOST", "CLIENT-ID", "#PARTITIONS"]


@pytest.fixture(autouse=True)
def a_group_of_each_protocol(cluster: FakeCluster) -> None:
    """Add the classic `old`, the Empty `gone`, and `new` of KIP-848 with an upgraded and a classic member."""
    owner = member("m-one", {"t": (0, 1), "u": (0,)})
    cluster.add("old", state="Stable", members=[member("m-idle"), owner], assignor="range")
    target = (Assignment(topic="t", partitions=(0,)),)
    upgraded = member(
        "m-new", {"t": (0,)}, epoch=5, target_epoch=6, target_assignment=target, upgraded=True, group_instance_id="i-1"
    )
    classic = member("m-old", epoch=5, target_epoch=6, target_assignment=(), upgraded=False)
    epochs: dict[str, Any] = {"group_epoch": 6, "target_assignment_epoch": 6, "assignor": "uniform"}
    cluster.add("new", state="Reconciling", kind="Consumer", members=[classic, upgraded], **epochs)
    cluster.add("gone", state="Empty")


def test_members_with_most_partitions_come_first_and_idle_members_have_a_row() -> None:
    screen = dedent("""\

        GROUP  CONSUMER-ID  HOST       CLIENT-ID  #PARTITIONS
        old    m-one        /10.0.0.1  client               3
        old    m-idle       /10.0.0.1  client               0
        """)
    assert run("describe", "old", "--members") == (0, screen, "")


def test_verbose_members_of_a_classic_group_have_assignments_and_no_epochs() -> None:
    outcome = run("describe", "old", "--members", "--verbose")
    assert [line.split() for line in outcome.stdout.splitlines()[2:]] == [
        ["old", "m-one", "/10.0.0.1", "client", "3", "-", "t:0,1;u:0", "-", "-"],
        ["old", "m-idle", "/10.0.0.1", "client", "0", "-", "-", "-", "-"],
    ]
    assert outcome.stdout.splitlines()[1].split()[-4:] == [
        "CURRENT-EPOCH",
        "CURRENT-ASSIGNMENT",
        "TARGET-EPOCH",
        "TARGET-ASSIGNMENT",
    ]


def test_columns_for_instance_ids_and_upgraded_members_appear_if_they_have_values() -> None:
    outcome = run("describe", "new", "--members", "--verbose")
    assert [line.split() for line in outcome.stdout.splitlines()[1:]] == [
        [*HEADER, "CURRENT-EPOCH", "CURRENT-ASSIGNMENT", "TARGET-EPOCH", "TARGET-ASSIGNMENT", "UPGRADED"],
        ["new", "m-new", "i-1", "/10.0.0.1", "client", "1", "5", "t:0", "6", "t:0", "true"],
        ["new", "m-old", "-", "/10.0.0.1", "client", "0", "5", "-", "6", "-", "false"],
    ]


def test_members_of_an_empty_group_are_a_header_and_a_note() -> None:
    screen = "\nGROUP  CONSUMER-ID  HOST  CLIENT-ID  #PARTITIONS\n"
    assert run("describe", "gone", "--members") == (0, screen, "Consumer group 'gone' has no active members.\n")


def test_csv_members_have_the_same_columns_for_every_group() -> None:
    screen = dedent("""\
        GROUP,CONSUMER-ID,GROUP-INSTANCE-ID,HOST,CLIENT-ID,#PARTITIONS
        new,m-new,i-1,/10.0.0.1,client,1
        new,m-old,,/10.0.0.1,client,0
        old,m-one,,/10.0.0.1,client,3
        old,m-idle,,/10.0.0.1,client,0
        """)
    assert run("describe", "old", "new", "--members", "--format", "csv").stdout == screen


def test_ndjson_members_have_the_keys_of_the_document_and_their_group() -> None:
    outcome = run("describe", "new", "--members", "--format", "ndjson")
    assert json.loads(outcome.stdout.splitlines()[0]) == {
        "cluster": "fake",
        "cluster_id": "fake",
        "group": "new",
        "member_id": "m-new",
        "group_instance_id": "i-1",
        "host": "/10.0.0.1",
        "client_id": "client",
        "epoch": 5,
        "assignment": [{"topic": "t", "partitions": [0]}],
        "target_epoch": 6,
        "target_assignment": [{"topic": "t", "partitions": [0]}],
        "upgraded": True,
    }


def test_members_have_one_order_in_every_format() -> None:
    document = json.loads(run("describe", "old", "--format", "json").stdout)
    assert [found["member_id"] for found in document["groups"][0]["members"]] == ["m-one", "m-idle"]
    lines = run("describe", "old", "--members", "--format", "ndjson").stdout.splitlines()
    assert [json.loads(line)["member_id"] for line in lines] == ["m-one", "m-idle"]


def test_kafka_format_pads_members_as_kafkas_tool() -> None:
    screen = (
        "\n"
        "GROUP           CONSUMER-ID     HOST            CLIENT-ID       #PARTITIONS     \n"
        "old             m-one           /10.0.0.1       client          3               \n"
        "old             m-idle          /10.0.0.1       client          0               \n"
    )
    assert run("describe", "old", "--members", "--format", "kafka") == (0, screen, "")


def test_the_state_view_has_a_block_for_each_group() -> None:
    screen = dedent("""\

        GROUP  COORDINATOR (ID)  ASSIGNMENT-STRATEGY  STATE        #MEMBERS
        new    b1:9092  (1)      uniform              Reconciling         2

        GROUP  COORDINATOR (ID)  ASSIGNMENT-STRATEGY  STATE   #MEMBERS
        old    b1:9092  (1)      range                Stable         2
        """)
    warning = "Warning: Consumer group 'new' is rebalancing.\n"
    assert run("describe", "old", "new", "--state") == (0, screen, warning)


def test_the_verbose_state_view_has_epochs_before_the_members() -> None:
    outcome = run("describe", "old", "new", "--state", "--verbose", "--format", "csv")
    screen = dedent("""\
        GROUP,COORDINATOR (ID),ASSIGNMENT-STRATEGY,STATE,GROUP-EPOCH,TARGET-ASSIGNMENT-EPOCH,#MEMBERS
        new,b1:9092  (1),uniform,Reconciling,6,6,2
        old,b1:9092  (1),range,Stable,,,2
        """)
    assert outcome.stdout == screen


def test_the_state_of_an_empty_group_is_a_row_and_a_note() -> None:
    screen = dedent("""\

        GROUP  COORDINATOR (ID)  ASSIGNMENT-STRATEGY  STATE  #MEMBERS
        gone   b1:9092  (1)      -                    Empty         0
        """)
    assert run("describe", "gone", "--state") == (0, screen, "Consumer group 'gone' has no active members.\n")


def test_kafka_format_pads_states_as_kafkas_tool() -> None:
    screen = (
        "\n"
        "GROUP           COORDINATOR (ID)          ASSIGNMENT-STRATEGY  STATE                "
        "GROUP-EPOCH     TARGET-ASSIGNMENT-EPOCH   #MEMBERS\n"
        "new             b1:9092  (1)              uniform              Reconciling          "
        "6               6                         2\n"
    )
    assert run("describe", "new", "--state", "--verbose", "--format", "kafka").stdout == screen


def test_ndjson_states_have_the_number_of_members() -> None:
    outcome = run("describe", "old", "--state", "--format", "ndjson")
    assert json.loads(outcome.stdout) == {
        "cluster": "fake",
        "cluster_id": "fake",
        "group": "old",
        "type": "Classic",
        "state": "Stable",
        "protocol_type": "consumer",
        "coordinator": {"id": 1, "host": "b1", "port": 9092},
        "assignor": "range",
        "group_epoch": None,
        "target_assignment_epoch": None,
        "members": 2,
    }


@pytest.mark.parametrize("view", ["--members", "--state"])
def test_views_without_offsets_fetch_none(cluster: FakeCluster, view: str) -> None:
    run("describe", "old", view)
    cluster.admin.list_group_offsets.assert_not_called()
    cluster.admin.describe_with_offsets.assert_not_called()
    cluster.admin.list_offsets.assert_not_called()


@pytest.mark.parametrize("output", ["csv", "kafka"])
def test_upgraded_is_spelled_as_kafka_does_and_a_boolean_in_json(output: str) -> None:
    lines = run("describe", "new", "--members", "--verbose", "--format", output).stdout.strip().splitlines()
    assert [line.replace(",", " ").split()[-1] for line in lines] == ["UPGRADED", "true", "false"]
    document = json.loads(run("describe", "new", "--members", "--format", "json").stdout)
    assert [found["upgraded"] for found in document["groups"][0]["members"]] == [True, False]


def test_a_missing_group_with_the_name_of_a_state_is_an_error_and_a_hint() -> None:
    assert run("describe", "--state", "stable").stderr == (
        "'stable' was read as a group id; for groups in that state, use --in-state Stable\n"
        "Error: group 'stable': there is no such group (GROUP_ID_NOT_FOUND)\n"
    )


def test_an_existing_group_may_have_the_name_of_a_state(cluster: FakeCluster) -> None:
    cluster.add("Stable", state="Stable")
    assert run("describe", "--state", "Stable").stderr == ""


def test_groups_of_any_named_state_and_type_are_selected() -> None:
    several = ("--in-state", "Empty", "--in-state", "stable", "--type", "Consumer", "--type", "Classic")
    outcome = run("describe", "--all-groups", "--state", *several, "--format", "csv")
    assert [line.split(",")[0] for line in outcome.stdout.splitlines()] == ["GROUP", "gone", "old"]
