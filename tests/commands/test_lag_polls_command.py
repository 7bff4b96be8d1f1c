"""`kafka-groups lag --polls`: rates and verdicts between runs, and the file that is kept."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from kafka_groups.model import TopicPartition
from tests.commands.lag_groups import add_lag_groups
from tests.fakes.command_line import Outcome, run
from tests.fakes.fake_admin import FakeCluster, failure, member, unreachable

if TYPE_CHECKING:
    from pytest_mock import MockerFixture


@pytest.fixture(autouse=True)
def groups(cluster: FakeCluster) -> None:
    add_lag_groups(cluster)


class History(NamedTuple):
    """The file of a history, and the function that returns the time of a poll."""

    file: Path
    time_ns: Any


def poll(cluster: FakeCluster, history: History, at_s: int, committed: int, end: int, *arguments: str) -> Outcome:
    """Run `lag --polls` for a group at a time."""
    cluster.add("moving", state="Stable", members=[member("m", {"v": (0,)})], commits={("v", 0): committed})
    cluster.end("v", end, starts=(0,))
    history.time_ns.return_value = (1_700_000_000 + at_s) * 1_000_000_000
    return run("lag", "moving", "--polls", str(history.file), *arguments)


@pytest.fixture
def history(cluster: FakeCluster, tmp_path: Path, mocker: MockerFixture) -> History:
    """Return a history whose file does not exist yet."""
    cluster.admin.cluster_id.side_effect = lambda **_: "cluster-1"
    return History(tmp_path / "history", mocker.patch("kafka_groups.commands.lag_measurement.time.time_ns"))


def test_the_second_run_with_a_history_shows_rates_and_a_verdict(cluster: FakeCluster, history: History) -> None:
    first = poll(cluster, history, 0, 0, 1000)
    assert (first.exit_code, first.stderr) == (0, "")
    assert first.stdout.splitlines()[1].split() == [
        *("moving", "Stable", "1", "1000", "1", "-", "-", "-", "-", "█", "UNKNOWN", "incomplete", "0", "-")
    ]
    second = poll(cluster, history, 10, 100, 1050)
    assert second.stdout == dedent("""\
        GROUP   STATE   MEMBERS  LAG  PARTITIONS-BEHIND  CONSUME/S  PRODUCE/S  TREND  CATCH-UP  LAGS  VERDICT  RULE        UNCOMMITTED  NOTE
        moving  Stable        1  950                  1       10.0        5.0    -50     3m10s  ██    UNKNOWN  incomplete            0  -
        """)  # noqa: E501 - the table as it is printed


def test_json_has_rates_verdict_and_retention(cluster: FakeCluster, history: History) -> None:
    poll(cluster, history, 0, 100, 1000)
    (group,) = json.loads(poll(cluster, history, 10, 90, 1000, "--format", "json").stdout)["groups"]
    keys = ("consume_rate", "produce_rate", "trend", "catch_up_ms", "lags", "verdict", "rule", "retention_margin")
    assert [group[key] for key in keys] == [-1.0, 0.0, 10, None, [900, 910], "REWIND", "rewound", 90]


def test_a_condition_may_compare_verdicts_and_rates(cluster: FakeCluster, history: History) -> None:
    poll(cluster, history, 0, 100, 1000)
    assert poll(cluster, history, 10, 90, 1000, "--fail-if", "verdict==REWIND and consume_rate<0").exit_code == 4


def test_a_group_whose_commits_were_deleted_has_no_verdict_any_longer(cluster: FakeCluster, history: History) -> None:
    poll(cluster, history, 0, 100, 1000)
    cluster.add("moving", commits={("u", 0): 20})
    history.time_ns.return_value += 10**10
    (group,) = json.loads(run("lag", "moving", "--polls", str(history.file), "--format", "json").stdout)["groups"]
    assert (group["verdict"], group["lags"][-1]) == ("OK", 0)


def test_a_run_of_some_groups_keeps_the_history_of_the_others(cluster: FakeCluster, history: History) -> None:
    poll(cluster, history, 0, 100, 1000)
    for arguments in (("lost",), ("--state", "Empty"), ("--exclude", "mov.*"), ("--type", "Consumer")):
        history.time_ns.return_value += 10**9
        run("lag", *arguments, "--polls", str(history.file))
        assert '"moving"' in history.file.read_text()
    del cluster.listings["moving"]
    run("lag", "--polls", str(history.file))
    assert '"moving"' not in history.file.read_text()
    assert '"lost"' in history.file.read_text()


@pytest.mark.parametrize("cause", [unreachable(), KeyboardInterrupt()])
def test_a_run_that_fails_keeps_the_history(cluster: FakeCluster, history: History, cause: BaseException) -> None:
    poll(cluster, history, 0, 100, 1000)
    before = history.file.read_text()
    cluster.refuse(cause)
    assert run("lag", "--polls", str(history.file)).exit_code in {1, 130}
    assert history.file.read_text() == before


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"\xff\xfe", "is not a file of lag --polls: it is not UTF-8; use another file"),
        (b"GROUP,LAG\n", "is not a file of lag --polls, or it is damaged; use another file, or remove it"),
        (b"[1, 2]\n", "is not a file of lag --polls, or it is damaged; use another file, or remove it"),
        (
            b'{"schema": "kafka-groups/polls/4", "isolation": "uncommitted", "clusters": 0}\n',
            (
                "has the schema kafka-groups/polls/4, not kafka-groups/polls/3: a newer version of "
                "kafka-groups wrote it; use that version, or another file"
            ),
        ),
    ],
)
def test_a_foreign_or_damaged_history_is_refused_and_not_changed(
    history: History, content: bytes, problem: str
) -> None:
    history.file.write_bytes(content)
    assert run("lag", "--polls", str(history.file)) == (2, "", f"Error: {history.file} {problem}\n")
    assert history.file.read_bytes() == content


def test_a_run_on_another_cluster_keeps_the_history_of_the_first(cluster: FakeCluster, history: History) -> None:
    poll(cluster, history, 0, 100, 1000)
    first = history.file.read_text().splitlines()[1:]
    cluster.admin.cluster_id.side_effect = lambda **_: "cluster-2"
    outcome = poll(cluster, history, 10, 90, 1000, "--format", "json")
    assert json.loads(outcome.stdout)["groups"][0]["lags"] == [910]
    assert history.file.read_text().splitlines()[1 : 1 + len(first)] == first


def test_a_history_that_was_cut_off_is_refused(cluster: FakeCluster, history: History) -> None:
    poll(cluster, history, 0, 100, 1000)
    lines = history.file.read_text().splitlines(keepends=True)
    history.file.write_text(lines[0])
    outcome = run("lag", "--polls", str(history.file), "--format", "json")
    assert outcome.exit_code == 2
    document = json.loads(outcome.stdout)
    assert (document["status"], [error["name"] for error in document["errors"]]) == ("failed", ["REFUSED"])


def test_a_history_that_cannot_be_written_is_an_error_behind_the_output(cluster: FakeCluster, history: History) -> None:
    missing = history._replace(file=history.file / "missing")
    outcome = poll(cluster, missing, 0, 100, 1000, "--format", "json")
    assert json.loads(outcome.stdout)["status"] == "complete"
    text = f"Error: cannot write the polls to {missing.file}: No such file or directory\n"
    assert (outcome.exit_code, outcome.stderr) == (1, text)
    failing = poll(cluster, missing, 10, 100, 1000, "--fail-if", "lag>0")
    assert (failing.exit_code, failing.stderr) == (4, f"{text}Error: the condition of --fail-if holds for 'moving'\n")


def test_a_history_has_one_isolation_level(cluster: FakeCluster, history: History) -> None:
    poll(cluster, history, 0, 100, 1000)
    outcome = poll(cluster, history, 10, 100, 1000, "--isolation", "committed")
    assert outcome.exit_code == 2
    assert "has the polls of --isolation uncommitted, and this is --isolation committed" in outcome.stderr


def test_a_group_without_commits_has_a_verdict(cluster: FakeCluster, history: History) -> None:
    cluster.add("idle", state="Stable", members=[member("m", {"v": (0,)})])
    cluster.end("v", 10, starts=(0,))
    (group,) = json.loads(run("lag", "idle", "--polls", str(history.file), "--format", "json").stdout)["groups"]
    assert (group["verdict"], group["rule"]) == ("UNKNOWN", "no_commits")


def test_a_group_whose_log_ends_are_unknown_has_a_verdict(cluster: FakeCluster, history: History) -> None:
    cluster.leaderless[TopicPartition("u", 0)] = failure("TIMEOUT", code=None, topic="u", partition=0)
    found = json.loads(run("lag", "lost", "--polls", str(history.file), "--format", "json").stdout)["groups"]
    assert [(group["verdict"], group["rule"]) for group in found] == [("UNKNOWN", "lag_unknown")]


@pytest.mark.parametrize("signal_name", ["SIGTERM", "SIGHUP"])
def test_a_watch_that_is_terminated_keeps_the_history(
    history: History, mocker: MockerFixture, signal_name: str
) -> None:
    number = signal.Signals[signal_name]
    mocker.patch("kafka_groups.commands.lag_watch.pause", side_effect=lambda _: signal.raise_signal(number))
    outcome = run("lag", "--watch", "1s", "--polls", str(history.file), "--format", "ndjson")
    assert outcome.exit_code == 143
    assert '"lost"' in history.file.read_text()
