"""`kafka-groups reset`: what is printed in each format, what is changed, what is recorded, and the exit code."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from textwrap import dedent

import pytest

from kafka_groups.model import TopicPartition
from tests.commands.change_commands import (
    DRY_RUN,
    EXECUTE,
    NOTHING,
    attempt,
    changes,
    committed,
    journal_files,
    last_line,
    last_run,
    recorded_statuses,
)
from tests.fakes.command_line import run
from tests.fakes.fake_admin import NAMED, FakeCluster, failure, member, unreachable

RESET = ("reset", "a", "--topic", "t", "--to-earliest")
BUSY = "Error: group 'busy': it is Stable with 1 member on 10.0.0.1; stop its consumers first (NON_EMPTY_GROUP)"


@pytest.fixture(autouse=True)
def two_groups(cluster: FakeCluster) -> None:
    """Add `a` with two commits, and `busy` with a member; the logs of `t` are 10 to 100 and 0 to 50."""
    cluster.end("t", 100, 50, starts=(10, 0))
    cluster.add("a", commits={("t", 0): 60, ("t", 1): 7})
    cluster.add("busy", state="Stable", members=[member("m")], commits={("t", 0): 1})


def test_the_plan_is_a_table_and_the_last_line_says_that_nothing_was_changed(cluster: FakeCluster) -> None:
    screen = dedent("""\
        GROUP  TOPIC  PARTITION  CURRENT-OFFSET  NEW-OFFSET  DELTA  NOTE
        a      t              0              60          10    -50  -
        a      t              1               7           0     -7  -
        """)
    notes = "1 group, 2 partitions, 57 records to read again, 0 records to skip.\n"
    assert run(*RESET) == (0, screen, f"{notes}{DRY_RUN}\n")
    assert (changes(cluster), journal_files()) == ([], [])


def test_dry_run_says_the_same_without_a_hint() -> None:
    plain, dry = run(*RESET), run(*RESET, "--dry-run")
    assert (dry.exit_code, dry.stdout) == (0, plain.stdout)
    assert last_line(dry) == NOTHING


def test_ndjson_is_a_partition_a_line() -> None:
    rows = [json.loads(line) for line in run(*RESET, "--format", "ndjson").stdout.splitlines()]
    first = {"group": "a", "topic": "t", "partition": 0, "committed_offset": 60, "new_offset": 10, "delta": -50}
    assert rows[0] == {**NAMED, **first, "note": None, "status": "planned"}
    assert [row["partition"] for row in rows] == [0, 1]


def test_json_is_one_document_with_what_failed() -> None:
    outcome = run("reset", "a", "busy", "--topic", "t:1", "--to-offset", "50", "--format", "json")
    document = json.loads(outcome.stdout)
    row = {"topic": "t", "partition": 1, "committed_offset": 7, "new_offset": 50, "delta": 43}
    assert document["groups"] == [{**NAMED, "group": "a", "offsets": [{**row, "note": None, "status": "planned"}]}]
    assert (document["schema"], document["status"]) == ("kafka-groups/reset/1", "partial")
    assert [(error["group"], error["name"]) for error in document["errors"]] == [("busy", "NON_EMPTY_GROUP")]
    assert (outcome.exit_code, outcome.stderr.splitlines()[1:]) == (3, [BUSY, DRY_RUN])


def test_csv_has_empty_fields_for_missing_values(cluster: FakeCluster) -> None:
    cluster.leaderless[TopicPartition("t", 1)] = failure("LEADER_NOT_AVAILABLE", code=5, topic="t", partition=1)
    outcome = run(*RESET, "--format", "csv")
    assert outcome.stdout == dedent("""\
        GROUP,TOPIC,PARTITION,CURRENT-OFFSET,NEW-OFFSET,DELTA,NOTE,STATUS
        a,t,0,60,10,-50,,planned
        a,t,1,7,,,refused,refused
        """)
    assert outcome.exit_code == 3


def test_the_kafka_format_has_the_columns_of_kafkas_tool() -> None:
    lines = run(*RESET, "--format", "kafka").stdout.splitlines()
    assert [line.split() for line in lines if line] == [
        ["GROUP", "TOPIC", "PARTITION", "NEW-OFFSET"],
        ["a", "t", "0", "10"],
        ["a", "t", "1", "0"],
    ]


@pytest.mark.parametrize("output", ["table", "json", "ndjson", "csv", "kafka"])
def test_a_plan_of_which_everything_is_refused_is_exit_1(output: str, cluster: FakeCluster) -> None:
    outcome = run("reset", "busy", "--topic", "t", "--to-earliest", "--format", output, *EXECUTE)
    assert (outcome.exit_code, outcome.stderr.splitlines()) == (1, [BUSY, attempt()])
    assert (changes(cluster), len(journal_files())) == ([], 1)
    assert output == "json" or outcome.stdout == ""


def test_a_group_whose_rows_are_all_refused_is_exit_1_and_recorded_as_unchanged(cluster: FakeCluster) -> None:
    cluster.add("a")
    outcome = run("reset", "a", "--topic", "t", "--shift-by", "1", *EXECUTE)
    assert (outcome.exit_code, last_line(outcome), changes(cluster)) == (1, attempt(), [])
    recorded = last_run()
    assert (recorded.command, recorded.refused, recorded.failures, recorded.other_groups) == ("reset", 2, 0, ("a",))
    assert recorded.plan.changes == ()


def test_execute_commits_and_prints_the_status_of_each_partition(cluster: FakeCluster) -> None:
    outcome = run(*RESET, *EXECUTE)
    assert [line.split()[-1] for line in outcome.stdout.splitlines()] == ["STATUS", "done", "done"]
    assert (outcome.exit_code, committed(cluster, "a")) == (0, {("t", 0): 10, ("t", 1): 0})
    (path,) = journal_files()
    text = f"Recorded as {path.stem} in {path.parent}; `kafka-groups undo {path.stem}` takes it back."
    assert last_line(outcome) == text


def test_the_run_is_recorded_for_the_user_alone(state_home: Path) -> None:
    run(*RESET, *EXECUTE)
    (path,) = journal_files()
    assert path.parent == state_home / "kafka-groups" / "journal"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    recorded = last_run()
    assert (recorded.command, recorded.plan.cluster_id, recorded.undoes) == ("reset", "fake", None)
    assert [(each.committed_offset, each.new_offset) for each in recorded.plan.changes] == [(60, 10), (7, 0)]
    assert (recorded_statuses(), recorded.is_finished) == (["done", "done"], True)
    assert (recorded.bootstrap_servers, recorded.sequence) == (("b1:9092",), 1)


def test_one_refused_group_is_exit_3_and_the_others_are_changed(cluster: FakeCluster) -> None:
    outcome = run("reset", "a", "busy", "--topic", "t", "--to-latest", *EXECUTE)
    assert (outcome.exit_code, committed(cluster, "a")) == (3, {("t", 0): 100, ("t", 1): 50})
    assert BUSY in outcome.stderr.splitlines()


def test_a_partition_that_fails_is_exit_3_and_recorded(cluster: FakeCluster) -> None:
    key = TopicPartition("t", 1)
    cluster.refused_items["a", key] = failure("TOPIC_AUTHORIZATION_FAILED", code=29, group="a", topic="t", partition=1)
    outcome = run(*RESET, *EXECUTE, "--format", "json")
    document = json.loads(outcome.stdout)
    assert [row["status"] for row in document["groups"][0]["offsets"]] == ["done", "failed"]
    assert (outcome.exit_code, document["status"]) == (3, "partial")
    assert recorded_statuses() == ["done", "failed"]


def test_a_run_of_which_everything_failed_is_exit_1_and_cannot_be_taken_back(cluster: FakeCluster) -> None:
    cluster.unchangeable["a"] = failure(group="a")
    outcome = run(*RESET, *EXECUTE)
    assert outcome.exit_code == 1
    assert outcome.stderr.count("Error: ") == 1
    assert (last_line(outcome), recorded_statuses()) == (attempt(), ["failed", "failed"])


def test_an_absent_group_is_an_error_that_names_create() -> None:
    outcome = run("reset", "new", "--topic", "t", "--to-latest")
    assert (outcome.exit_code, outcome.stdout) == (1, "")
    assert "--create" in outcome.stderr


def test_create_commits_offsets_for_an_absent_group(cluster: FakeCluster) -> None:
    outcome = run("reset", "new", "--topic", "t:0", "--to-latest", "--create", *EXECUTE, "--format", "csv")
    assert outcome.stdout.splitlines()[1:] == ["new,t,0,,100,,no commit before,done"]
    assert (outcome.exit_code, committed(cluster, "new")) == (0, {("t", 0): 100})
    assert "1 partition without a commit before" in outcome.stderr


def test_create_without_commits_and_topics_has_nothing_to_do() -> None:
    outcome = run("reset", "new", "--all-topics", "--to-latest", "--create", *EXECUTE)
    assert (outcome.exit_code, last_line(outcome), last_run().plan.changes) == (0, attempt(), ())


@pytest.mark.parametrize(
    ("narrowing", "groups"),
    [
        (("--all-groups", "--state", "Empty"), ["a", "new"]),
        (("--match", ".*", "--exclude", "busy|new"), ["a"]),
        (("--all-groups", "--type", "consumer"), ["new"]),
        (("--all-groups", "--state", "empty", "--type", "Classic,Consumer"), ["a", "new"]),
    ],
)
def test_states_types_and_patterns_narrow_the_groups(
    cluster: FakeCluster, narrowing: tuple[str, ...], groups: list[str]
) -> None:
    cluster.add("new", kind="Consumer", commits={("t", 0): 1})
    outcome = run("reset", *narrowing, "--all-topics", "--to-latest", "--format", "ndjson")
    assert list(dict.fromkeys(json.loads(line)["group"] for line in outcome.stdout.splitlines())) == groups
    assert outcome.exit_code == 0


def test_a_pattern_that_matches_nothing_is_a_note() -> None:
    outcome = run("reset", "--match", "x", "--all-topics", "--to-latest", *EXECUTE)
    assert (outcome.exit_code, outcome.stderr) == (0, f"No group matches.\n{attempt()}\n")


def test_unreadable_commits_on_other_topics_do_no_harm(cluster: FakeCluster) -> None:
    cluster.add("a", commits={("t", 0): 60}, refused={("secret", 0): 29})
    assert run("reset", "a", "--topic", "t:0", "--to-latest").exit_code == 0
    assert run("reset", "a", "--all-topics", "--to-latest").exit_code == 3


@pytest.mark.parametrize("topics", [("typo",), ("t", "typo"), ("t:2",)])
def test_a_topic_or_partition_that_does_not_exist_changes_nothing(
    cluster: FakeCluster, topics: tuple[str, ...]
) -> None:
    arguments = [part for topic in topics for part in ("--topic", topic)]
    outcome = run("reset", "a", *arguments, "--to-latest", *EXECUTE)
    assert (outcome.exit_code, outcome.stdout, last_line(outcome)) == (1, "", attempt())
    assert changes(cluster) == []


@pytest.mark.parametrize("output", ["table", "json"])
def test_an_unreachable_cluster_is_exit_1(cluster: FakeCluster, output: str) -> None:
    cluster.refuse(unreachable())
    outcome = run(*RESET, *EXECUTE, "--format", output)
    unrecorded = "Nothing was changed. The attempt could not be recorded: give `kafka-groups undo` an ID."
    assert outcome.stderr.splitlines() == [unrecorded, "Error: no broker responded at b1:9092; is it running?"]
    assert outcome.exit_code == 1
    assert output == "table" or json.loads(outcome.stdout)["status"] == "failed"


@pytest.mark.parametrize("output", ["table", "json", "csv"])
def test_a_journal_that_cannot_be_written_stops_the_change(cluster: FakeCluster, state_home: Path, output: str) -> None:
    state_home.write_text("no directory")
    outcome = run(*RESET, *EXECUTE, "--format", output)
    assert (outcome.exit_code, changes(cluster)) == (1, [])
    assert "cannot write the journal in " in outcome.stderr
    assert "; nothing was changed; " in outcome.stderr
    if output == "json":
        document = json.loads(outcome.stdout)
        assert (document["status"], [error["name"] for error in document["errors"]]) == ("failed", ["REFUSED"])


@pytest.mark.parametrize("name", ["a\nb\x1b[31m", "größe", "", " "])
def test_group_ids_with_any_characters_are_reset(cluster: FakeCluster, name: str) -> None:
    cluster.add(name, commits={("t", 0): 60})
    outcome = run("reset", "--group", name, "--topic", "t:0", "--to-latest", *EXECUTE, "--format", "json")
    assert (outcome.exit_code, committed(cluster, name)) == (0, {("t", 0): 100})
    assert json.loads(outcome.stdout)["groups"][0]["group"] == name
    assert "\x1b" not in outcome.stderr
