"""`kafka-groups why`: its formats, its polls, its conditions and exit codes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from kafka_groups.causes.catalogue import CAUSES
from kafka_groups.causes.diagnosis import explain
from kafka_groups.model import TopicPartition
from kafka_groups.rendering.screen import inspect_streams
from tests.fakes.command_line import Outcome, run
from tests.fakes.fake_admin import FakeCluster, failure, member, unreachable
from tests.fakes.fake_terminal import pretend_terminal

if TYPE_CHECKING:
    from pytest_mock import MockerFixture


class Pauses:
    """The pauses between polls, which end at once; before some of them `before` changes the cluster or raises.

    `now` is the time of a clock that only pauses move.
    """

    def __init__(self) -> None:
        self.now = 0.0
        self.seconds: list[float] = []
        self.before: dict[int, Any] = {}

    def pause(self, seconds: float) -> None:
        """Begin the next poll at once."""
        self.seconds.append(seconds)
        self.now += seconds
        change = self.before.get(len(self.seconds) + 1)
        if change is not None:
            change()


@pytest.fixture(autouse=True)
def pauses(mocker: MockerFixture) -> Pauses:
    """Return polls without pauses."""
    pauses = Pauses()
    mocker.patch("kafka_groups.commands.why_run.pause", side_effect=pauses.pause)
    mocker.patch("kafka_groups.commands.why_run.monotonic", side_effect=lambda: pauses.now)
    return pauses


@pytest.fixture(autouse=True)
def groups(cluster: FakeCluster) -> None:
    """Add an Empty group that is behind, a group that has read everything, and one with a lag and a member."""
    cluster.add("empty", commits={("t", 0): 40})
    cluster.add("healthy", state="Stable", members=[member("m", {"u": (0,)})], commits={("u", 0): 100})
    cluster.end("t", 100, starts=(0,))
    cluster.end("u", 100, starts=(0,))
    cluster.found = {TopicPartition("t", 0): 100, TopicPartition("u", 0): 100}


def document(*arguments: str) -> Any:
    return json.loads(run("why", *arguments, "--format", "json").stdout)


def interrupt() -> None:
    raise KeyboardInterrupt


# What is printed.


def test_a_finding_has_its_rank_its_evidence_and_the_next_step() -> None:
    outcome = run("why", "empty")
    lines = outcome.stdout.splitlines()
    assert (outcome.exit_code, outcome.stderr) == (0, "")
    assert lines[0].startswith("empty: Empty, 0 members, 60 records behind (6 polls")
    assert lines[2] == "1. CERTAIN  group_empty  The group is Empty: nobody reads its 60 records."
    assert [line.split()[0] for line in lines[3:7]] == ["since", "evidence", "refuted", "next"]
    assert "or earlier" in lines[3]


def test_a_healthy_group_has_nothing_wrong_and_what_was_checked() -> None:
    text = run("why", "healthy").stdout
    assert "healthy: Stable, 1 member, 0 records behind" in text
    assert "Nothing wrong was found." in text
    assert "Checked and not found: group_empty, " in text


def test_a_lag_without_a_finding_is_named_as_unexplained(mocker: MockerFixture) -> None:
    mocker.patch("kafka_groups.commands.why_run.explain", side_effect=lambda evidence: explain(evidence, ()))
    text = run("why", "empty").stdout
    assert "60 records behind on t-0, and no cause was found" in text
    assert "Nothing wrong" not in text
    assert document("empty")["groups"][0]["unexplained"] == [{"topic": "t", "partition": 0, "lag": 60}]


def test_the_heading_counts_partitions_without_a_commit(cluster: FakeCluster) -> None:
    cluster.add("new", state="Stable", members=[member("m", {"t": (0,)})])
    assert run("why", "new").stdout.startswith("new: Stable, 1 member, 1 partition without a commit (6 polls")


def test_json_has_the_findings_of_each_group_and_what_was_checked() -> None:
    empty, healthy = document("empty", "healthy")["groups"]
    (finding,) = empty["findings"]
    assert {key: finding[key] for key in ("rank", "cause", "kind", "certainty", "lag")} == {
        "rank": 1,
        "cause": "group_empty",
        "kind": "trouble",
        "certainty": "certain",
        "lag": 60,
    }
    assert finding["since"] == {"earliest": None, "latest": empty["first_poll"]}
    assert finding["partitions"] == [{"topic": "t", "partition": 0}]
    assert finding["evidence"][0]["at"] == empty["last_poll"]
    assert (healthy["findings"], healthy["lag"], healthy["polls"]) == ([], 0, 6)
    known = {*healthy["checked"], *(each["cause"] for each in healthy["untested"])}
    assert known <= {cause.name for cause in CAUSES}
    assert "group_empty" in known


def test_csv_and_ndjson_have_a_row_for_each_finding() -> None:
    header, row = run("why", "empty", "healthy", "--format", "csv").stdout.splitlines()
    assert header.startswith("GROUP,RANK,CAUSE,KIND,CERTAINTY,LAG,SINCE,SUMMARY,")
    assert row.startswith("empty,1,group_empty,trouble,certain,60,../")
    (line,) = run("why", "empty", "healthy", "--format", "ndjson").stdout.splitlines()
    assert json.loads(line)["cause"] == "group_empty"


def test_a_terminal_folds_sentences_and_escapes_names(cluster: FakeCluster, mocker: MockerFixture) -> None:
    pretend_terminal(mocker, width=60)
    cluster.add("bad\x1b[2J", commits={("t", 0): 40})
    text = run("why", "bad\x1b[2J", TERM="xterm").stdout
    assert "\x1b[2J" not in text
    assert "bad\\x1b[2J: Empty" in text
    assert max(map(len, text.splitlines()[1:])) <= 60


# Polls.


def test_six_polls_are_spread_over_thirty_seconds(pauses: Pauses, cluster: FakeCluster) -> None:
    run("why", "empty")
    assert pauses.seconds == [6.0] * 5
    assert len(cluster.admin.describe_with_offsets.mock_calls) == 2 * 6


def test_a_terminal_shows_the_progress_of_the_polls(mocker: MockerFixture) -> None:
    bar = mocker.patch("kafka_groups.options.cluster_session.ProgressBar")
    mocker.patch(
        "kafka_groups.options.cluster_session.inspect_streams",
        side_effect=lambda _colour: inspect_streams("never")._replace(err_is_terminal=True),
    )
    run("why", "empty", "--samples", "3")
    assert bar.return_value.call_args_list[-3:] == [mocker.call("polls", done, 3) for done in (1, 2, 3)]


def test_samples_and_interval_are_options(pauses: Pauses) -> None:
    (group,) = document("empty", "--samples", "3", "--interval", "2s")["groups"]
    assert (group["polls"], pauses.seconds) == (3, [2.0, 2.0])


def test_a_poll_that_takes_longer_than_the_interval_is_followed_at_once(pauses: Pauses, cluster: FakeCluster) -> None:
    answer = cluster.admin.describe_topics.side_effect

    def respond_late(*arguments: Any, **options: Any) -> Any:
        pauses.now += 7
        return answer(*arguments, **options)

    cluster.admin.describe_topics.side_effect = respond_late
    run("why", "empty", "--samples", "3")
    assert pauses.seconds == [0.0, 0.0]


def test_an_absent_group_ends_the_command_at_the_first_poll(pauses: Pauses) -> None:
    outcome = run("why", "emtpy")
    assert (outcome.exit_code, pauses.seconds) == (1, [])
    assert "did you mean 'empty'?" in outcome.stderr


def test_a_group_that_fails_is_an_error_beside_the_others(cluster: FakeCluster) -> None:
    cluster.undescribable["healthy"] = failure(group="healthy")
    outcome = run("why", "empty", "healthy")
    assert outcome.exit_code == 3
    assert outcome.stdout.startswith("empty: ")
    assert "group 'healthy': refused (GROUP_AUTHORIZATION_FAILED)" in outcome.stderr


def test_no_match_is_a_note() -> None:
    outcome = run("why", "--match", "x.*")
    assert outcome == Outcome(0, "", "No group matches.\n")


def test_ctrl_c_prints_what_the_polls_so_far_show(pauses: Pauses) -> None:
    pauses.before[3] = interrupt
    outcome = run("why", "empty", "--format", "json")
    result = json.loads(outcome.stdout)
    assert outcome.exit_code == 130
    assert [group["polls"] for group in result["groups"]] == [2]
    assert (result["status"], result["errors"][0]["name"]) == ("partial", "INTERRUPTED")
    assert "after 2 of 6 polls" in outcome.stderr


def test_ctrl_c_in_the_first_poll_has_a_complete_document(cluster: FakeCluster) -> None:
    cluster.admin.describe_with_offsets.side_effect = KeyboardInterrupt
    outcome = run("why", "empty", "--format", "json")
    assert (outcome.exit_code, json.loads(outcome.stdout)["status"]) == (130, "failed")


def test_a_cluster_that_cannot_be_reached_is_an_error(cluster: FakeCluster) -> None:
    cluster.refuse(unreachable())
    outcome = run("why", "empty")
    assert (outcome.exit_code, outcome.stdout) == (1, "")


# A watch.


def test_a_watch_has_a_judgement_after_each_interval(pauses: Pauses) -> None:
    pauses.before[12] = interrupt
    outcome = run("why", "empty", "--watch", "30s", "--format", "ndjson")
    rows = [json.loads(line) for line in outcome.stdout.splitlines()]
    assert outcome.exit_code == 130
    assert [row["cause"] for row in rows] == ["group_empty", "group_empty"]


def test_a_watch_judges_the_newest_polls_alone(pauses: Pauses, cluster: FakeCluster) -> None:
    pauses.before = {7: lambda: cluster.end("t", 40, starts=(0,)), 12: interrupt}
    outcome = run("why", "empty", "--watch", "30s")
    assert outcome.stdout.count("1. CERTAIN  group_empty") == 1
    assert outcome.stdout.count("Nothing wrong was found.") == 1


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((), "no group is selected"),
        (("g", "--watch", "0s"), "--watch needs an interval above 0"),
        (("g", "--interval", "0s"), "--interval needs an interval above 0"),
        (("g", "--watch", "30s", "--format", "json"), "--watch writes table or ndjson"),
        (("g", "--watch", "30s", "--fail-if", "cause==group_empty"), "--fail-if contradicts --watch"),
        (("g", "--watch", "30s", "--interval", "1m"), "--interval is longer than that of --watch"),
        (("g", "--watch", "1h", "--interval", "1s"), "needs more than 600 polls"),
        (("g", "--fail-if", "certainty>sure"), "certainty is never 'sure'; write one of likely, strong, certain"),
        (("g", "--fail-if", "cause==group_emty"), "did you mean 'group_empty'?"),
        (("g", "--fail-if", "lag>5"), "there is no field 'lag'"),
    ],
)
def test_a_wrong_option_is_a_usage_error(arguments: tuple[str, ...], problem: str) -> None:
    outcome = run("why", *arguments)
    assert outcome.exit_code == 2
    assert problem in outcome.stderr


# Conditions.


@pytest.mark.parametrize(
    ("condition", "exit_code"),
    [
        ("certainty>=strong", 4),
        ("certainty==certain and cause==group_empty", 4),
        ("certainty<certain", 0),
        ("cause!=group_empty", 0),
    ],
)
def test_a_condition_is_judged_on_findings(condition: str, exit_code: int) -> None:
    outcome = run("why", "empty", "healthy", "--fail-if", condition)
    assert outcome.exit_code == exit_code
    assert ("holds for 'empty'" in outcome.stderr) == (exit_code == 4)


def test_a_condition_that_holds_beats_a_group_that_fails(cluster: FakeCluster) -> None:
    cluster.undescribable["healthy"] = failure(group="healthy")
    assert run("why", "empty", "healthy", "--fail-if", "certainty>=likely").exit_code == 4


def test_a_condition_without_a_group_was_not_checked() -> None:
    outcome = run("why", "--match", "x.*", "--fail-if", "certainty>=likely")
    assert outcome.exit_code == 1
    assert "The condition of --fail-if was not checked." in outcome.stderr
