"""`kafka-groups describe` of groups of Connect workers."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

from tests.fakes.cluster_of_kinds import kinds_cluster, run_on
from tests.fakes.fake_terminal import pretend_terminal
from tests.fakes.kind_members import connect_member
from tests.fakes.scripted_cluster import ScriptedCluster
from tests.protocol.connect_bytes import assigned, state, work

if TYPE_CHECKING:
    from pytest_mock import MockerFixture


@pytest.fixture
def cluster() -> Iterator[ScriptedCluster]:
    """Return the cluster with a group of each kind."""
    with kinds_cluster() as running:
        yield running


TABLE = dedent("""\

    GROUP    URL          LEADER  CONFIG-OFFSET  CONNECTORS  TASKS           DELAY-MS
    workers  http://w-1/  no                  3  files       files:0                0
    workers  http://w-1/  yes                 3  sink        files:1;sink:0         0
    """)


@pytest.mark.parametrize("view", ["--offsets", "--members"])
def test_workers_have_the_connectors_and_tasks_that_they_run(cluster: ScriptedCluster, view: str) -> None:
    assert run_on(cluster, "describe", "workers", view) == (0, TABLE, "")
    assert cluster.requests()["ListOffsets"] == 0


def test_a_terminal_shows_the_same_cells(cluster: ScriptedCluster, mocker: MockerFixture) -> None:
    pretend_terminal(mocker)
    shown = run_on(cluster, "describe", "workers").stdout
    assert [line.split() for line in shown.splitlines()] == [line.split() for line in TABLE.splitlines()]


def test_verbose_workers_have_their_member_and_their_leader(cluster: ScriptedCluster) -> None:
    outcome = run_on(cluster, "describe", "workers", "--verbose", "--format", "csv")
    assert outcome.stdout == dedent("""\
        GROUP,URL,LEADER,CONFIG-OFFSET,CONNECTORS,TASKS,DELAY-MS,WORKER-ID,HOST,CLIENT-ID,LEADER-URL
        workers,http://w-1/,no,3,files,files:0,0,w-1,/10.0.0.3,connect-w-1,http://w-2/
        workers,http://w-1/,yes,3,sink,files:1;sink:0,0,w-2,/10.0.0.3,connect-w-2,http://w-2/
        """)


def test_ndjson_has_connectors_with_their_tasks(cluster: ScriptedCluster) -> None:
    line = run_on(cluster, "describe", "workers", "--format", "ndjson").stdout.splitlines()[1]
    assert json.loads(line) == {
        "cluster": "scripted",
        "cluster_id": "scripted",
        "group": "workers",
        "url": "http://w-1/",
        "is_leader": True,
        "config_offset": 3,
        "scheduled_delay_ms": 0,
        "member_id": "w-2",
        "host": "/10.0.0.3",
        "client_id": "connect-w-2",
        "leader_url": "http://w-2/",
        "connectors": [
            {"connector": "files", "has_connector": False, "tasks": [1]},
            {"connector": "sink", "has_connector": True, "tasks": [0]},
        ],
        "has_config_mismatch": False,
    }


def test_the_document_has_workers_as_members_and_no_offsets(cluster: ScriptedCluster) -> None:
    (group,) = json.loads(run_on(cluster, "describe", "workers", "--format", "json").stdout)["groups"]
    assert (group["protocol_type"], group["assignor"], group["offsets"], group["topology"]) == (
        "connect",
        "sessioned",
        [],
        None,
    )
    assert [member["member_id"] for member in group["members"]] == ["w-1", "w-2"]


def test_the_state_has_the_protocol_of_the_workers(cluster: ScriptedCluster) -> None:
    row = run_on(cluster, "describe", "workers", "--state", "--format", "csv").stdout.splitlines()[1]
    assert row == f"workers,127.0.0.1:{cluster.brokers[2].endpoint.port}  (2),sessioned,Stable,2"


def test_withheld_tasks_have_a_delay(cluster: ScriptedCluster) -> None:
    assignment = assigned(2, work()) + work() + struct.pack(">i", 299_000)
    cluster.groups["workers"].members = [connect_member("w-1", [("files", (0,))], member_assignment=assignment)]
    assert run_on(cluster, "describe", "workers").stdout.splitlines()[-1].split()[-2:] == ["files:0", "299000"]


def test_a_rebalancing_group_has_workers_whose_work_is_unknown(cluster: ScriptedCluster) -> None:
    cluster.groups["workers"].state = "PreparingRebalance"
    cluster.groups["workers"].members = [connect_member("w-1", [], member_metadata=b"", member_assignment=b"")]
    outcome = run_on(cluster, "describe", "workers", "--verbose")
    assert outcome.stdout.splitlines()[-1].split() == [
        "workers",
        *["-"] * 6,
        "w-1",
        "/10.0.0.3",
        "connect-w-1",
        "-",
    ]
    # Without a URL only the member id identifies a worker.
    assert run_on(cluster, "describe", "workers").stdout.splitlines()[-1].split() == ["workers", *["-"] * 6, "w-1"]
    assert (outcome.exit_code, outcome.stderr) == (0, "Warning: Connect group 'workers' is rebalancing.\n")


def test_a_worker_without_an_assignment_has_its_url_and_unknown_work(cluster: ScriptedCluster) -> None:
    cluster.groups["workers"].members = [connect_member("w-1", [], member_metadata=state(2), member_assignment=b"")]
    (group,) = json.loads(run_on(cluster, "describe", "workers", "--format", "json").stdout)["groups"]
    (member,) = group["members"]
    assert (member["url"], member["config_offset"]) == ("http://w-1/", 3)
    assert [member[key] for key in ("connectors", "is_leader", "scheduled_delay_ms", "has_config_mismatch")] == [
        None
    ] * 4


def test_an_unreadable_worker_hides_no_other(cluster: ScriptedCluster) -> None:
    members = [connect_member("w-3", [], member_metadata=b"{}"), connect_member("w-1", [("files", (0,))])]
    cluster.groups["workers"].members = members
    rows = run_on(cluster, "describe", "workers", "--format", "csv").stdout.splitlines()[1:]
    assert rows == ["workers,,,,,,", "workers,http://w-1/,no,3,,files:0,0"]


UNREADABLE = "Group 'workers': what worker w-3 runs is unknown: its metadata or its assignment cannot be read."


@pytest.mark.parametrize(
    "part", [{"member_metadata": b"{}"}, {"member_assignment": b"\x7f"}, {"member_assignment": b""}]
)
@pytest.mark.parametrize("output_format", ["table", "csv", "ndjson", "json", "kafka"])
def test_an_unreadable_worker_has_a_note(cluster: ScriptedCluster, output_format: str, part: dict[str, bytes]) -> None:
    cluster.groups["workers"].members = [connect_member("w-3", [], **part), connect_member("w-1", [("files", (0,))])]
    outcome = run_on(cluster, "describe", "workers", "--format", output_format)
    assert (outcome.exit_code, outcome.stderr) == (0, f"{UNREADABLE}\n")
    if output_format == "json":
        note = {"kind": "unreadable_worker", "cluster": "scripted", "group": "workers", "text": UNREADABLE}
        assert json.loads(outcome.stdout)["notes"] == [note]


def test_one_note_names_the_unreadable_workers_of_a_group(cluster: ScriptedCluster) -> None:
    cluster.groups["workers"].members = [connect_member(f"w-{number}", [], member_metadata=b"{}") for number in (1, 2)]
    assert run_on(cluster, "describe", "workers").stderr == (
        "Group 'workers': what 2 workers (w-1, w-2) run is unknown: "
        "their metadata or their assignments cannot be read.\n"
    )


def test_an_empty_connect_group_has_a_note(cluster: ScriptedCluster) -> None:
    cluster.groups["workers"].state, cluster.groups["workers"].members = "Empty", ()
    outcome = run_on(cluster, "describe", "workers")
    assert (outcome.exit_code, outcome.stdout) == (0, "")
    assert outcome.stderr == "Connect group 'workers' has no active members.\n"


def test_a_listed_connect_group_costs_one_describe_and_no_offsets(cluster: ScriptedCluster) -> None:
    assert run_on(cluster, "describe", "--match", "workers").exit_code == 0
    requests = cluster.requests()
    assert (requests["DescribeGroups"], requests["ConsumerGroupDescribe"], requests["OffsetFetch"]) == (1, 0, 0)
