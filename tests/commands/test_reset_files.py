"""`kafka-groups reset --export` and `--from-file`: both forms of Kafka's CSV, and plans."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from kafka_groups.changes.change import Action, Change
from kafka_groups.changes.plan_file import format_plan, read_plan
from kafka_groups.cli import cli
from kafka_groups.model import CommittedOffset
from kafka_groups.protocol.topic_ids import format_topic_id
from tests.changes.plans import plan
from tests.commands.change_commands import DRY_RUN, EXECUTE, attempt, changes, committed, journal_files, last_line
from tests.fakes.command_line import run
from tests.fakes.fake_admin import CLUSTER_ID, FakeCluster
from tests.fakes.scripted_cluster import topic_id

EARLIEST = ("--topic", "t", "--to-earliest")


@pytest.fixture(autouse=True)
def two_groups(cluster: FakeCluster) -> None:
    """Add `a` and `b` with commits on `t`, whose logs are 10 to 100 and 0 to 50."""
    cluster.end("t", 100, 50, starts=(10, 0))
    cluster.add("a", commits={("t", 0): CommittedOffset(60, 3, "note"), ("t", 1): 7})
    cluster.add("b", commits={("t", 0): 70})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return the path of a file that does not exist."""
    return tmp_path / "offsets.csv"


def test_one_named_group_is_exported_without_its_id(file: Path) -> None:
    outcome = run("reset", "a", *EARLIEST, "--export", str(file))
    assert file.read_text() == "t,0,10\nt,1,0\n"
    assert outcome.exit_code == 0
    assert outcome.stderr.splitlines()[0] == f"The plan was written to {file}."
    assert last_line(outcome) == DRY_RUN
    assert outcome.stdout.startswith("GROUP ")


@pytest.mark.parametrize("selectors", [("b", "a"), ("--all-groups",), ("a", "--match", "b"), ("--match", "a")])
def test_other_selectors_are_exported_with_ids(file: Path, selectors: tuple[str, ...]) -> None:
    run("reset", *selectors, "--topic", "t:0", "--to-earliest", "--export", str(file))
    expected = "a,t,0,10\nb,t,0,10\n"
    assert file.read_text() == (expected[:9] if selectors == ("--match", "a") else expected)


def test_a_dash_prints_the_csv_in_place_of_the_table() -> None:
    outcome = run("reset", "a", *EARLIEST, "--export", "-")
    assert (outcome.exit_code, outcome.stdout, last_line(outcome)) == (0, "t,0,10\nt,1,0\n", DRY_RUN)


def test_a_name_that_ends_with_json_is_a_plan_with_the_commits_before(tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    run("reset", "a", "--topic", "t:0", "--to-earliest", "--export", str(file))
    exported = read_plan(file.read_text(), name="f")
    assert exported.cluster_id == CLUSTER_ID
    assert exported.changes == (
        Change(Action.COMMIT, "a", "t", 0, 60, 3, "note", 10, None, "", topic_id=format_topic_id(topic_id("t"))),
    )


def test_refused_rows_are_not_exported(cluster: FakeCluster, file: Path) -> None:
    cluster.add("a", commits={("t", 0): 60})
    assert run("reset", "a", "--topic", "t", "--shift-by", "1", "--export", str(file)).exit_code == 3
    assert file.read_text() == "t,0,61\n"


@pytest.mark.parametrize("name", ["missing/plan.csv", ".", "missing/plan.json"])
def test_a_file_that_cannot_be_written_is_an_error_before_anything_is_changed(
    cluster: FakeCluster, tmp_path: Path, name: str
) -> None:
    outcome = run("reset", "a", *EARLIEST, "--export", str(tmp_path / name), *EXECUTE)
    assert (outcome.exit_code, outcome.stdout) == (1, "")
    record, error = outcome.stderr.splitlines()
    assert record.startswith("Nothing was changed; the attempt is recorded as ")
    assert error.startswith(f"Error: cannot write the plan to {tmp_path / name}: ")
    assert error.endswith("; nothing was changed")
    assert (changes(cluster), len(journal_files())) == ([], 1)


def test_a_file_that_cannot_be_written_is_an_error_of_the_document(tmp_path: Path) -> None:
    outcome = run("reset", "a", *EARLIEST, "--export", str(tmp_path / "x" / "y"), "--format", "json")
    document = json.loads(outcome.stdout)
    assert (document["status"], document["errors"][0]["name"]) == ("failed", "REFUSED")


def test_an_exported_plan_is_executed_later(cluster: FakeCluster, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    run("reset", "a", "b", "--topic", "t:0", "--to-earliest", "--export", str(file))
    outcome = run("reset", "--from-file", str(file), *EXECUTE)
    assert outcome.exit_code == 0
    assert (committed(cluster, "a")[("t", 0)], committed(cluster, "b")[("t", 0)]) == (10, 10)


def test_a_row_of_a_plan_whose_commit_has_moved_is_refused_unless_forced(cluster: FakeCluster, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    run("reset", "a", "b", "--topic", "t:0", "--to-earliest", "--export", str(file))
    cluster.add("a", commits={("t", 0): 61})
    outcome = run("reset", "--from-file", str(file), *EXECUTE)
    assert (outcome.exit_code, committed(cluster, "a"), committed(cluster, "b")) == (3, {("t", 0): 61}, {("t", 0): 10})
    assert "its commit has changed since the plan, from 60 to 61 (REFUSED)" in outcome.stderr
    cluster.add("b", commits={("t", 0): 70})
    assert run("reset", "--from-file", str(file), "--force", *EXECUTE).exit_code == 0
    assert committed(cluster, "a") == {("t", 0): 10}


def test_a_commit_that_moves_after_the_plan_is_refused(cluster: FakeCluster) -> None:
    read = cluster.admin.describe_with_offsets.side_effect

    def move(*arguments: object, **keywords: object) -> object:
        result = read(*arguments, **keywords)
        cluster.add("a", commits={("t", 0): 99})
        return result

    cluster.admin.describe_with_offsets.side_effect = move
    outcome = run("reset", "a", "--topic", "t:0", "--to-earliest", *EXECUTE)
    assert (outcome.exit_code, last_line(outcome), changes(cluster)) == (1, attempt(), [])
    assert committed(cluster, "a") == {("t", 0): 99}


@pytest.mark.parametrize(
    ("text", "groups", "rows"),
    [
        ("t,0,20\nt,1,500\n", ("a",), ["a,t,0,60,20,-40,,", "a,t,1,7,50,43,clamped from 500 to the log end offset,"]),
        ("a,t,0,20\nb,t,0,30\n", (), ["a,t,0,60,20,-40,,", "b,t,0,70,30,-40,,"]),
        ("a,t,0,20\nb,t,0,30\n", ("b",), ["b,t,0,70,30,-40,,"]),
        ("\ufeffa,t,0,20\r\n\r\n", (), ["a,t,0,60,20,-40,,"]),
    ],
)
def test_both_forms_of_csv_are_read(file: Path, text: str, groups: tuple[str, ...], rows: list[str]) -> None:
    file.write_bytes(text.encode())
    outcome = run("reset", *groups, "--from-file", str(file), "--format", "csv")
    assert (outcome.exit_code, outcome.stdout.splitlines()[1:]) == (0, [f"{row}planned" for row in rows])


def test_a_file_is_read_from_stdin(cluster: FakeCluster) -> None:
    arguments = ["reset", "-b", "b1:9092", "--from-file", "-", *EXECUTE]
    assert CliRunner().invoke(cli, arguments, input="a,t,0,20\n").exit_code == 0
    assert committed(cluster, "a")[("t", 0)] == 20


@pytest.mark.parametrize(
    ("text", "groups", "message"),
    [
        ("t,0,20\n", (), "names no group, because its lines are topic,partition,offset, and none is given; give"),
        ("t,0,20\n", ("a", "b"), "and 2 groups are given; give exactly one --group"),
        ("a,t,0,20\na,t,0\n", (), ", line 2: it has 3 values, but the first line has 4: 'a,t,0'"),
        ("a,t,x,20\n", (), ", line 1: the partition 'x' is not a whole number"),
        ("a,t,0,-1\n", (), ", line 1: the offset '-1' is negative"),
        ("a,t,0,1\na,t,0,2\n", (), "lines 1 and 2 have different offsets (1 and 2) for group 'a', topic 't'"),
        ("a,t\n", (), ", line 1: it has 2 values; expected "),
        ("", (), " has no lines; expected "),
        ("group,topic,partition,offset\n", (), ", line 1: it is a header, but Kafka's CSV has none; remove it"),
        ("a,t,0,20\n", ("--topic", "t"), "--from-file names the partitions; --topic and --all-topics contradict it"),
        ("a,t,0,20\n", ("--to-latest",), "--to-latest contradicts --from-file: give one specification"),
        ("{", (), ", line 1, column 2: it is not JSON"),
        ('{"schema": "kafka-groups/plan/2"}', (), "update kafka-groups"),
    ],
)
def test_a_malformed_file_is_a_usage_error(
    cluster: FakeCluster, file: Path, text: str, groups: tuple[str, ...], message: str
) -> None:
    file.write_text(text)
    outcome = run("reset", *groups, "--from-file", str(file), *EXECUTE)
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert message in outcome.stderr
    assert (changes(cluster), journal_files()) == ([], [])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a,t,0,\xff\n", "is not UTF-8 text: invalid start byte at byte 6; save it in UTF-8"),
        ("a,t,0,20\n".encode("utf-16"), "is UTF-16 text, and not UTF-8; save it in UTF-8"),
        ("a,t,0,20\n".encode("utf-16-le"), "is UTF-16LE text, and not UTF-8; save it in UTF-8"),
        ('{"schema": "kafka-groups/plan/1"}'.encode("utf-16"), "is UTF-16 text, and not UTF-8; save it in UTF-8"),
        (None, "No such file or directory"),
    ],
)
def test_a_file_that_cannot_be_read_is_a_usage_error(file: Path, content: bytes | None, message: str) -> None:
    if content is not None:
        file.write_bytes(content)
    outcome = run("reset", "--from-file", str(file), *EXECUTE)
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert message in outcome.stderr


def test_a_plan_of_another_cluster_is_refused(cluster: FakeCluster, file: Path) -> None:
    file.write_text(format_plan(plan(Change(Action.COMMIT, "a", "t", 0, 60, new_offset=10), cluster_id="other")))
    outcome = run("reset", "--from-file", str(file), *EXECUTE)
    text = f"Error: {file} is a plan of cluster other, and this is fake; nothing was changed"
    assert (outcome.exit_code, outcome.stdout, outcome.stderr.splitlines()) == (2, "", [attempt(), text])
    assert changes(cluster) == []


@pytest.mark.parametrize("extra", [(), ("--state", "Empty"), ("--all-groups",), ("--exclude", "x")])
@pytest.mark.parametrize("rows", [(), (Change(Action.DELETE_GROUP, "a", "t", 0, 60),)])
def test_a_plan_without_a_row_for_the_command_means_no_group(
    cluster: FakeCluster, file: Path, extra: tuple[str, ...], rows: tuple[Change, ...]
) -> None:
    file.write_text(format_plan(plan(*rows, cluster_id=CLUSTER_ID)))
    outcome = run("reset", "--from-file", str(file), *extra, *EXECUTE)
    assert (outcome.exit_code, last_line(outcome), changes(cluster)) == (0, attempt(), [])
    assert ("1 changes of the plan are for other commands and are skipped." in outcome.stderr) == bool(rows)


def test_a_file_whose_groups_are_not_selected_means_no_group(cluster: FakeCluster, file: Path) -> None:
    file.write_text("a,t,0,20\n")
    outcome = run("reset", "b", "--from-file", str(file), *EXECUTE)
    assert (outcome.exit_code, last_line(outcome), changes(cluster)) == (0, attempt(), [])
    assert "1 rows of the file belong to other groups and are skipped." in outcome.stderr


def test_states_narrow_the_groups_of_a_file(cluster: FakeCluster, file: Path) -> None:
    cluster.add("b", state="Dead", commits={("t", 0): 70})
    file.write_text("a,t,0,20\nb,t,0,20\n")
    outcome = run("reset", "--from-file", str(file), "--state", "Dead", "--format", "csv")
    assert [line.split(",")[0] for line in outcome.stdout.splitlines()[1:]] == ["b"]


@pytest.mark.parametrize("flags", [(), ("--force",)])
def test_a_row_whose_commit_cannot_be_read_is_not_changed(
    cluster: FakeCluster, file: Path, flags: tuple[str, ...]
) -> None:
    cluster.add("a", commits={("t", 1): 7}, refused={("t", 0): 29})
    file.write_text("t,0,20\nt,1,20\n")
    outcome = run("reset", "a", "--from-file", str(file), *flags, *EXECUTE)
    assert (outcome.exit_code, committed(cluster, "a")) == (3, {("t", 1): 20})
    assert "TOPIC_AUTHORIZATION_FAILED" in outcome.stderr
