"""A connection that is cut after a change was sent: the change is not sent again, and its outcome is read back."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import pytest

from tests.live.groups.clients import list_member_ids, read_offsets, run_command
from tests.live.groups.cutting_proxy import Cut, cutting
from tests.live.groups.members import many_simple, simple, stable
from tests.live.groups.topics import make_topic

if TYPE_CHECKING:
    from tests.live.conftest import Cluster

pytestmark = pytest.mark.live

EXECUTE: Final = ("--execute", "--yes")
LEAVE_GROUP: Final = 13


class ChangeCase(NamedTuple):
    """A command, the API key of its request, and the commits of its group on partition 0 and 1 if it is done."""

    arguments: str
    api_key: int
    done: dict[int, int]


BEFORE: Final = {0: 3, 1: 4}
CASES: Final = {
    "reset": ChangeCase("--all-topics --to-latest", 8, {0: 9, 1: 9}),
    "delete": ChangeCase("", 42, {}),
    "delete-offsets": ChangeCase("--topic {topic}:0", 47, {1: 4}),
}


@pytest.fixture(scope="module")
def topic(cluster: Cluster) -> str:
    return make_topic(cluster.bootstrap, partitions=2, records=9)


@pytest.mark.parametrize(
    ("command", "cut"),
    [
        *((command, cut) for command in CASES for cut in (Cut.REQUEST, Cut.RESPONSE)),
        # It lasts until the timeout.
        ("reset", Cut.SILENCE),
    ],
    ids=str,
)
def test_a_change_is_sent_once_and_read_back(
    cluster: Cluster, topic: str, tmp_path: Path, command: str, cut: Cut
) -> None:
    case = CASES[command]
    is_done = cut is not Cut.REQUEST
    commits = [(topic, partition, offset) for partition, offset in BEFORE.items()]
    arguments = case.arguments.format(topic=topic).split()
    timeout = ("--timeout", "2s") if cut is Cut.SILENCE else ()
    with simple(cluster.bootstrap, commits=commits) as name:
        with cutting(cluster.bootstrap, api_key=case.api_key, cut=cut) as proxy:
            result = run_command(
                *(proxy.bootstrap, command, name, *arguments, *EXECUTE, *timeout, "--format", "ndjson"), home=tmp_path
            )
        offsets = read_offsets(cluster.bootstrap, name)
        # The run kept the address of the proxy, so an undo elsewhere needs the ID.
        (run_id,) = re.findall(r"Recorded as (\S+) in ", result.err)
        undone = run_command(cluster.bootstrap, "undo", run_id, *EXECUTE, home=tmp_path)
        restored = read_offsets(cluster.bootstrap, name)
    assert proxy.requests[case.api_key] == 1
    assert offsets == {(topic, at): offset for at, offset in (case.done if is_done else BEFORE).items()}
    assert '"done"' in result.out if is_done else '"unknown"' in result.out
    assert ("response lost, read back" in result.out) == is_done
    assert ("and the broker may make the change later" in result.err) == (not is_done)
    assert result.code == (0 if is_done else 3)
    assert (restored, undone.code) == ({(topic, at): offset for at, offset in BEFORE.items()}, 0)


def test_the_other_groups_of_the_run_are_not_affected(cluster: Cluster, topic: str, tmp_path: Path) -> None:
    with many_simple(cluster.bootstrap, 6, commits=[(topic, 0, 3)]) as groups:
        with cutting(cluster.bootstrap, api_key=CASES["reset"].api_key, cut=Cut.REQUEST) as proxy:
            result = run_command(
                *(proxy.bootstrap, "reset", *groups, "--all-topics", "--to-latest", *EXECUTE, "--format", "json"),
                home=tmp_path,
            )
        offsets = {name: read_offsets(cluster.bootstrap, name)[topic, 0] for name in groups}
    statuses = {group["group"]: group["offsets"][0]["status"] for group in result.json["groups"]}
    assert {*statuses.values()} == {"done", "unknown"}
    assert offsets == {name: 9 if status == "done" else 3 for name, status in statuses.items()}
    assert {error["name"] for error in result.json["errors"]} == {"OUTCOME_UNKNOWN"}
    assert proxy.requests[CASES["reset"].api_key] <= len(groups)
    assert result.code == 3


@pytest.mark.parametrize("cut", [Cut.REQUEST, Cut.RESPONSE], ids=lambda cut: cut.name.lower())
def test_a_removal_of_a_member_is_sent_once_and_read_back(
    cluster: Cluster, topic: str, tmp_path: Path, cut: Cut
) -> None:
    with stable(cluster.bootstrap, topic, is_static=True) as name:
        (before,) = list_member_ids(cluster.bootstrap, name).values()
        with cutting(cluster.bootstrap, api_key=LEAVE_GROUP, cut=cut) as proxy:
            result = run_command(
                *(proxy.bootstrap, "remove-members", "--group", name, "--all", *EXECUTE), home=tmp_path
            )
        after = {*list_member_ids(cluster.bootstrap, name).values()}
    assert proxy.requests[LEAVE_GROUP] == 1
    assert (before in after, result.rows[1][-1]) == ((True, "unknown") if cut is Cut.REQUEST else (False, "done"))
    assert result.code == (3 if cut is Cut.REQUEST else 0)
