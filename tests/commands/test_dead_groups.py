"""Groups that their brokers call Dead, although they have commits, as Azure Event Hubs does without members."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kafka_groups.groups.lag.group_lag import list_lag
from tests.commands.idle_polls import COMMITS, write_history
from tests.fakes.command_line import run
from tests.fakes.fake_admin import FakeCluster

NO_MEMBERS = "Consumer group 'dead' has no active members.\n"


def bury(cluster: FakeCluster, group: str) -> None:
    """Let the broker describe a group as Dead, which the client reports as an absent group."""
    del cluster.descriptions[group]


@pytest.fixture(autouse=True)
def groups(cluster: FakeCluster) -> None:
    """Add a dead group with commits, and one without, which was deleted."""
    cluster.add("dead", state="Dead", commits={("t", 0): 5})
    cluster.add("deleted", state="Stable")
    cluster.end("t", 9, starts=(0,))
    bury(cluster, "dead")
    bury(cluster, "deleted")


@pytest.mark.parametrize("selector", [("dead",), ("--all-groups",)])
def test_offsets_and_lag_are_shown(selector: tuple[str, ...]) -> None:
    outcome = run("describe", *selector)
    assert outcome.stdout.splitlines()[2].split()[:6] == ["dead", "t", "0", "5", "9", "4"]
    assert outcome.exit_code == 0
    assert NO_MEMBERS in outcome.stderr
    assert ("1 of the listed groups were deleted" in outcome.stderr) == (selector == ("--all-groups",))


@pytest.mark.parametrize("selector", [("dead",), ("--all-groups",)])
def test_the_state_is_that_of_the_broker(selector: tuple[str, ...]) -> None:
    outcome = run("describe", *selector, "--state")
    assert outcome.exit_code == 0
    assert outcome.stdout.splitlines()[2].split() == ["dead", "b1:9092", "(1)", "-", "Dead", "0"]


def test_the_view_of_members_has_none() -> None:
    outcome = run("describe", "dead", "--members")
    assert (outcome.exit_code, outcome.stderr) == (0, NO_MEMBERS)


def test_json_has_the_state_and_the_commits() -> None:
    (group,) = json.loads(run("describe", "dead", "--members", "--format", "json").stdout)["groups"]
    assert (group["state"], group["members"], group["offsets"][0]["committed_offset"]) == ("Dead", [], 5)


def test_the_lag_is_shown_and_an_alert_fires() -> None:
    outcome = run("lag")
    assert outcome.stdout.splitlines()[1].split()[:4] == ["dead", "Dead", "0", "4"]
    assert outcome.exit_code == 0
    assert run("lag", "dead", "--fail-if", "lag>3 and state==Dead").exit_code == 4
    assert run("wait", "dead", "--until", "lag<=4", "--for", "1ms").exit_code == 0


def test_the_group_reads_the_topic() -> None:
    assert run("list", "--topic", "t").stdout.splitlines()[1].split() == ["dead", "Dead", "0", "1"]


def test_its_commits_on_deleted_topics_are_orphans(cluster: FakeCluster) -> None:
    cluster.add("dead", state="Dead", commits={("gone", 0): 5, ("t", 0): 5})
    bury(cluster, "dead")
    outcome = run("orphans", "dead")
    assert [line.split() for line in outcome.stdout.splitlines()[1:]] == [["dead", "gone", "0", "5", "topic_deleted"]]
    assert outcome.exit_code == 0


def test_it_is_idle_if_it_has_not_moved(cluster: FakeCluster, tmp_path: Path) -> None:
    cluster.add("idle", state="Dead", commits=COMMITS)
    cluster.end("u", 9)
    bury(cluster, "idle")
    history = write_history(tmp_path / "history", 7.1)
    reasons = [line.split()[-1] for line in run("orphans", "idle", "--polls", history).stdout.splitlines()[1:]]
    assert reasons == ["idle", "idle"]


def test_the_library_lists_its_lag(cluster: FakeCluster) -> None:
    lags = list_lag(cluster.admin, timeout=30.0).succeeded
    assert [(group, lag.description.state, lag.total) for group, lag in lags.items()] == [("dead", "Dead", 4)]


def test_a_group_that_no_broker_lists_is_shown_without_a_coordinator(cluster: FakeCluster) -> None:
    del cluster.listings["dead"]
    outcome = run("describe", "dead", "--state")
    assert outcome.stdout.splitlines()[2].split() == ["dead", "-", "-", "Dead", "0"]


def test_a_deleted_group_stays_an_error_if_it_is_named() -> None:
    for command in (("describe",), ("describe", "--members"), ("describe", "--state"), ("lag",)):
        outcome = run(*command, "deleted")
        assert outcome.exit_code == 1
        assert "Error: group 'deleted': there is no such group (GROUP_ID_NOT_FOUND)" in outcome.stderr


@pytest.mark.parametrize("kind", ["Share", "Streams"])
def test_a_group_of_another_type_with_commits_is_not_called_dead(cluster: FakeCluster, kind: str) -> None:
    cluster.add("other", kind=kind, state="Stable", protocol_type=kind.lower(), commits={("t", 0): 5})
    bury(cluster, "other")
    outcome = run("describe", "other")
    assert (outcome.exit_code, outcome.stdout) == (1, "")


def test_only_such_a_group_costs_a_listing(cluster: FakeCluster) -> None:
    def calls(*arguments: str) -> list[str]:
        cluster.admin.reset_mock()
        run(*arguments)
        names = [call[0] for call in cluster.admin.method_calls]
        return [name for name in names if name not in {"brokers", "deadline", "__exit__"}]

    # Nothing is similar to an empty id, so that no suggestion needs a listing.
    assert calls("describe", "--group", "") == ["describe_with_offsets"]
    assert calls("describe", "deleted") == ["describe_with_offsets", "list_groups"]
    assert calls("describe", "dead")[:2] == ["describe_with_offsets", "list_groups"]
    assert calls("describe", "--all-groups")[:3] == ["list_groups", "describe_with_offsets", "list_offsets"]
