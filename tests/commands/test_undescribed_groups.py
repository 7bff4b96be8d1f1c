"""Groups whose descriptions fail: their offsets are read, and nothing is concluded about what their members own."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from tests.fakes.command_line import run
from tests.fakes.fake_admin import FakeCluster, failure, member

if TYPE_CHECKING:
    from pytest_mock import MockerFixture

ERROR = "Error: group 'g': refused (UNKNOWN_SERVER_ERROR)\n"


@pytest.fixture(autouse=True)
def groups(cluster: FakeCluster) -> None:
    """Add a group that has read all of `t`, and whose member also owns partitions of `u` without commits."""
    members = [member("m", {"t": (0,), "u": (0, 1)})]
    cluster.add("g", state="Stable", members=members, commits={("t", 0): 10})
    cluster.end("t", 10, starts=(0,))
    cluster.end("u", 10, 10, starts=(0, 0))
    hide(cluster, "g")


def hide(cluster: FakeCluster, group: str) -> None:
    """Let the description of a group fail."""
    cluster.undescribable[group] = failure("UNKNOWN_SERVER_ERROR", code=-1, group=group)


def test_the_number_of_partitions_without_a_commit_is_unknown(cluster: FakeCluster) -> None:
    (group,) = json.loads(run("lag", "g", "--format", "json").stdout)["groups"]
    assert (group["lag"], group["uncommitted_partitions"], group["note"]) == (0, None, ["unknown_assignment"])
    cluster.undescribable.clear()
    (group,) = json.loads(run("lag", "g", "--format", "json").stdout)["groups"]
    assert (group["lag"], group["uncommitted_partitions"], group["note"]) == (0, 2, [])


def test_a_table_and_topics_show_no_number_either() -> None:
    header, row = (line.split() for line in run("lag", "g").stdout.splitlines())
    assert dict(zip(header, row, strict=True))["UNCOMMITTED"] == "-"
    (topic,) = json.loads(run("lag", "g", "--by", "topic", "--format", "json").stdout)["groups"][0]["rows"]
    assert (topic["topic"], topic["uncommitted_partitions"], topic["note"]) == ("t", None, ["unknown_assignment"])


def test_its_metric_has_no_sample(cluster: FakeCluster) -> None:
    assert "uncommitted_partitions{" not in run("lag", "g", "--format", "openmetrics").stdout
    cluster.undescribable.clear()
    assert (
        'uncommitted_partitions{cluster="fake",group="g",type="Classic"} 2\n'
        in run("lag", "g", "--format", "openmetrics").stdout
    )


@pytest.mark.parametrize("condition", ["uncommitted_partitions>0", "uncommitted_partitions==0"])
def test_a_condition_on_that_number_does_not_hold(condition: str) -> None:
    outcome = run("lag", "g", "--fail-if", condition)
    assert (outcome.exit_code, "--fail-if holds" in outcome.stderr) == (3, False)


def test_a_wait_does_not_end_with_a_poll_without_a_description(cluster: FakeCluster, mocker: MockerFixture) -> None:
    def commit_the_rest() -> None:
        cluster.add("g", commits={("t", 0): 10, ("u", 0): 10, ("u", 1): 10})

    changes: list[Callable[[], None]] = [lambda: None, cluster.undescribable.clear, commit_the_rest]
    mocker.patch("kafka_groups.commands.wait.pause", side_effect=lambda _: changes.pop(0)())
    outcome = run("wait", "g", "--until", "lag<=0 and uncommitted_partitions==0")
    assert (outcome.exit_code, changes) == (0, [])
    assert outcome.stderr == f"Waiting for {ERROR.removeprefix('Error: ')}"


def test_the_groups_of_a_topic_show_no_number_of_members_and_the_error() -> None:
    outcome = run("list", "g", "--topic", "t")
    assert [line.split() for line in outcome.stdout.splitlines()[1:]] == [["g", "-", "-", "1"]]
    assert (outcome.exit_code, outcome.stderr) == (3, ERROR)


def test_a_group_without_a_description_and_a_commit_on_the_topic_is_only_an_error(cluster: FakeCluster) -> None:
    outcome = run("list", "g", "--topic", "u")
    assert (outcome.exit_code, outcome.stdout, outcome.stderr) == (1, "", ERROR)
    cluster.add("other", commits={("u", 1): 5})
    outcome = run("list", "--topic", "u", "-q")
    assert (outcome.exit_code, outcome.stdout, outcome.stderr) == (3, "other\n", ERROR)


def test_a_kip_848_group_whose_topics_are_denied_is_listed_for_the_topics_of_its_commits(cluster: FakeCluster) -> None:
    cluster.listings["g"] = cluster.listings["g"]._replace(type="Consumer")
    cluster.undescribable["g"] = failure("TOPIC_AUTHORIZATION_FAILED", code=29, group="g")
    assert run("list", "--topic", "t", "-q").stdout == "g\n"
    assert run("list", "--topic", "u", "-q").stdout == ""
    (group,) = json.loads(run("list", "--topic", "t", "--format", "json").stdout)["groups"]
    assert (group["type"], group["state"], group["members"], group["committed_partitions"]) == (
        "Consumer",
        None,
        None,
        1,
    )
