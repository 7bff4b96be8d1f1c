"""Named groups and topics that do not exist: the error suggests the nearest one, from one more request at most."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from kafka_groups.admin import Deadline
from kafka_groups.model import Failure
from tests.commands.change_commands import EXECUTE, changes
from tests.fakes.command_line import run
from tests.fakes.fake_admin import FakeCluster, failure, member, unreachable

HINT = "; did you mean 'checkout'?"
ABSENT = f"there is no such group{HINT} (GROUP_ID_NOT_FOUND)"


@pytest.fixture(autouse=True)
def groups(cluster: FakeCluster) -> None:
    """Add groups of several kinds, with commits on one topic."""
    cluster.add("checkout", commits={("orders", 0): 5})
    cluster.add("billing", state="Stable", members=[member("m", {"orders": (0,)})], commits={("orders", 0): 5})
    cluster.add("chekshare", kind="Share", protocol_type="share")
    cluster.end("orders", 10, starts=(0,))
    cluster.end("payments", 10, starts=(0,))


def listings(cluster: FakeCluster) -> int:
    """Return how often the command listed groups."""
    return int(cluster.admin.list_groups.call_count)


reading = pytest.mark.parametrize(
    "command",
    [
        ("describe",),
        ("describe", "--state"),
        ("offsets",),
        ("lag",),
        ("orphans",),
        ("list",),
        ("list", "--topic", "orders"),
        ("wait", "--until", "lag<=99", "--for", "0s"),
        ("lag", "--watch", "1s", "--samples", "1"),
    ],
    ids=" ".join,
)
changing = pytest.mark.parametrize(
    ("command", "why"),
    [
        (("delete",), "there is no such group"),
        (("delete-offsets", "--topic", "orders"), "there is no such group"),
        (
            ("reset", "--topic", "orders", "--to-earliest"),
            "there is no such group; --create creates it, by committing offsets for it",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)


@reading
def test_the_error_of_an_absent_group_suggests_the_nearest_one(cluster: FakeCluster, command: tuple[str, ...]) -> None:
    outcome = run(*command, "chekout")
    assert outcome.exit_code == (4 if "wait" in command else 1)
    assert f"Error: group 'chekout': {ABSENT}" in outcome.stderr.splitlines()
    assert listings(cluster) == 1


@reading
def test_no_group_is_listed_for_a_suggestion_if_all_groups_exist(
    cluster: FakeCluster, command: tuple[str, ...]
) -> None:
    assert run(*command, "checkout").exit_code == 0
    assert listings(cluster) == (1 if command == ("list",) else 0)


@reading
def test_a_listing_that_the_command_needs_is_the_only_one(cluster: FakeCluster, command: tuple[str, ...]) -> None:
    outcome = run(*command, "chekout", "--match", "bill.*")
    assert ABSENT in outcome.stderr
    assert listings(cluster) == 1


@changing
def test_a_change_of_an_absent_group_suggests_the_nearest_one_and_changes_nothing(
    cluster: FakeCluster, command: tuple[str, ...], why: str
) -> None:
    for options in ((), EXECUTE):
        cluster.admin.list_groups.reset_mock()
        outcome = run(*command, "chekout", *options)
        assert outcome.exit_code == 1
        assert f"Error: group 'chekout': {why}{HINT} (GROUP_ID_NOT_FOUND)" in outcome.stderr.splitlines()
        assert listings(cluster) == 1
    assert changes(cluster) == []


def test_an_absent_group_of_remove_members_gets_a_suggestion_and_so_does_an_instance(cluster: FakeCluster) -> None:
    outcome = run("remove-members", "-g", "chekout", "--all")
    assert (outcome.exit_code, ABSENT in outcome.stderr, listings(cluster)) == (1, True, 1)
    cluster.add("billing", state="Stable", members=[member("m", group_instance_id="worker-3"), member("n")])
    outcome = run("remove-members", "-g", "billing", "--instance", "wroker-3")
    assert "no member has the group instance id 'wroker-3'; did you mean 'worker-3'?" in outcome.stderr
    assert listings(cluster) == 1


def test_an_absent_group_whose_offsets_are_wanted_gets_a_suggestion(cluster: FakeCluster) -> None:
    outcome = run("reset", "checkout", "--topic", "orders", "--to-group", "biling")
    assert outcome.exit_code == 1
    assert "group 'biling': there is no such group; did you mean 'billing'? (GROUP_ID_NOT_FOUND)" in outcome.stderr
    assert listings(cluster) == 1


@pytest.mark.parametrize("command", [("describe",), ("lag",), ("delete",), ("list",)], ids=" ".join)
def test_the_message_of_the_json_document_has_the_suggestion(command: tuple[str, ...]) -> None:
    document = json.loads(run(*command, "chekout", "checkout", "--format", "json").stdout)
    assert [(error["group"], error["name"]) for error in document["errors"]] == [("chekout", "GROUP_ID_NOT_FOUND")]
    assert document["errors"][0]["message"] == f"there is no such group{HINT}"


def test_all_absent_groups_of_a_command_share_one_listing(cluster: FakeCluster) -> None:
    outcome = run("describe", "chekout", "BILLING", "payments-of-others", "checkout")
    assert outcome.exit_code == 3
    errors = [line for line in outcome.stderr.splitlines() if line.startswith("Error")]
    assert errors == [
        "Error: group 'BILLING': there is no such group; did you mean 'billing'? (GROUP_ID_NOT_FOUND)",
        f"Error: group 'chekout': {ABSENT}",
        "Error: group 'payments-of-others': there is no such group (GROUP_ID_NOT_FOUND)",
    ]
    assert listings(cluster) == 1


def test_a_full_stop_of_the_broker_does_not_stand_before_the_suggestion(cluster: FakeCluster) -> None:
    why = Failure(69, "GROUP_ID_NOT_FOUND", "Group chekout not found.", "chekout")
    cluster.undescribable["chekout"] = why
    assert f"group 'chekout': Group chekout not found{HINT} (GROUP" in run("describe", "chekout").stderr


def test_a_group_that_the_command_does_not_support_is_not_suggested(cluster: FakeCluster) -> None:
    cluster.add("registry", protocol_type="sr")
    assert "did you mean" not in run("describe", "registri").stderr
    assert "did you mean 'registry'?" in run("list", "registri").stderr
    assert "did you mean 'chekshare'?" in run("describe", "chekshar").stderr
    # A share group exists, although no describe finds it.
    cluster.add("chekshares")
    cluster.undescribable["chekshare"] = failure("GROUP_ID_NOT_FOUND", code=69, group="chekshare")
    assert "did you mean" not in run("describe", "chekshare").stderr


def test_an_empty_id_gets_no_suggestion_and_no_listing(cluster: FakeCluster) -> None:
    assert "did you mean" not in run("describe", "").stderr
    assert listings(cluster) == 0


def test_other_errors_of_a_group_cost_no_listing(cluster: FakeCluster) -> None:
    cluster.undescribable["checkout"] = failure(group="checkout")
    assert run("describe", "checkout").exit_code == 1
    assert listings(cluster) == 0


def test_a_suggested_name_is_escaped(cluster: FakeCluster) -> None:
    cluster.add("check\x1b[31mout")
    outcome = run("describe", "check[31mout")
    assert r"did you mean 'check\x1b[31mout'?" in outcome.stderr


def test_a_listing_that_fails_leaves_the_error_as_it_is(cluster: FakeCluster) -> None:
    cluster.admin.list_groups.side_effect = unreachable()
    message = "Error: group 'chekout': there is no such group (GROUP_ID_NOT_FOUND)\n"
    assert run("describe", "chekout") == (1, "", message)


def test_a_listing_that_fails_at_one_broker_is_silent(cluster: FakeCluster) -> None:
    cluster.unlistable[2] = failure(broker=2)
    assert run("describe", "chekout") == (1, "", f"Error: group 'chekout': {ABSENT}\n")


def test_without_time_left_nothing_is_listed(cluster: FakeCluster) -> None:
    cluster.admin.deadline.side_effect = lambda *_: Deadline.after(0)
    assert "did you mean" not in run("describe", "chekout").stderr
    assert listings(cluster) == 0


def test_a_listing_for_a_suggestion_takes_two_seconds_at_most(cluster: FakeCluster) -> None:
    run("describe", "chekout")
    assert cluster.admin.list_groups.call_args.kwargs["timeout"].timeout_s == 2
    cluster.admin.deadline.side_effect = lambda *_: Deadline.after(1)
    run("describe", "chekout")
    assert 0 < cluster.admin.list_groups.call_args.kwargs["timeout"].timeout_s <= 1


def deleting(cluster: FakeCluster) -> Callable[..., None]:
    """Return a pause in which a group is deleted."""

    def pause(_seconds: float) -> None:
        cluster.descriptions.pop("billing", None)
        cluster.offsets.pop("billing", None)

    return pause


def test_a_watch_lists_groups_at_its_first_poll_only(cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafka_groups.commands.lag_watch.pause", deleting(cluster))
    outcome = run("lag", "chekout", "billing", "--watch", "1s", "--samples", "3")
    assert (outcome.stderr.count(ABSENT), listings(cluster)) == (3, 1)
    assert "group 'billing': there is no such group (GROUP_ID_NOT_FOUND)" in outcome.stderr


def test_a_group_that_is_deleted_during_a_watch_costs_no_listing(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kafka_groups.commands.lag_watch.pause", deleting(cluster))
    outcome = run("lag", "billing", "checkout", "--watch", "1s", "--samples", "3")
    assert "group 'billing': there is no such group (GROUP_ID_NOT_FOUND)" in outcome.stderr
    assert listings(cluster) == 0


def test_a_wait_prints_the_suggestion_once_and_lists_groups_once(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr("kafka_groups.commands.wait.time.monotonic", lambda: now[0])
    monkeypatch.setattr("kafka_groups.commands.wait.pause", lambda seconds: now.__setitem__(0, now[0] + seconds))
    outcome = run("wait", "chekout", "--until", "lag<=0", "--for", "30s")
    assert outcome.exit_code == 4
    assert outcome.stderr.count(f"Waiting for group 'chekout': {ABSENT}\n") == 1
    assert listings(cluster) == 1


with_topic = pytest.mark.parametrize(
    "command",
    [
        ("list",),
        ("offsets", "billing"),
        ("reset", "checkout", "--to-earliest"),
        ("delete-offsets", "checkout"),
    ],
    ids=" ".join,
)


@with_topic
def test_the_error_of_an_absent_topic_suggests_the_nearest_one(cluster: FakeCluster, command: tuple[str, ...]) -> None:
    outcome = run(*command, "--topic", "ordres", "--topic", "PAYMENTS", "--topic", "invoices")
    assert outcome.exit_code == 1
    errors = sorted(line for line in outcome.stderr.splitlines() if line.startswith("Error"))
    why = "the topic does not exist"
    assert errors == [
        f"Error: topic 'PAYMENTS': {why}; did you mean 'payments'? (UNKNOWN_TOPIC_OR_PARTITION)",
        f"Error: topic 'invoices': {why} (UNKNOWN_TOPIC_OR_PARTITION)",
        f"Error: topic 'ordres': {why}; did you mean 'orders'? (UNKNOWN_TOPIC_OR_PARTITION)",
    ]
    assert cluster.admin.list_topics.call_count == 1
    assert changes(cluster) == []


@with_topic
def test_topics_are_listed_only_for_one_that_does_not_exist(cluster: FakeCluster, command: tuple[str, ...]) -> None:
    run(*command, "--topic", "orders")
    run(*command, "--topic", "orders:7")
    assert cluster.admin.list_topics.call_count == 0


@with_topic
def test_a_listing_of_topics_that_fails_is_silent(cluster: FakeCluster, command: tuple[str, ...]) -> None:
    cluster.admin.list_topics.side_effect = unreachable()
    outcome = run(*command, "--topic", "ordres")
    assert outcome.exit_code == 1
    assert "Error: topic 'ordres': the topic does not exist (UNKNOWN_TOPIC_OR_PARTITION)\n" in outcome.stderr
