"""`kafka-groups orphans`: its formats and exit codes, and plans that delete-offsets and delete accept."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent

import pytest

from kafka_groups.changes.change import Action
from kafka_groups.changes.plan_file import read_plan
from tests.commands.change_commands import EXECUTE
from tests.commands.idle_polls import write_history
from tests.fakes.command_line import run
from tests.fakes.fake_admin import CLUSTER_ID, NAMED, FakeCluster, failure, member, unreachable


@pytest.fixture(autouse=True)
def groups(cluster: FakeCluster) -> None:
    """Add groups with each kind of orphan, and one without any."""
    cluster.add("deleted", commits={("gone", 0): 5, ("t", 0): 6})
    cluster.add("idle", commits={("t", 0): 3, ("u", 0): 4})
    cluster.add("moved-on", state="Stable", members=[member("m", {"t": (0,)})], commits={("t", 0): 1, ("u", 0): 2})
    cluster.add("reads", state="Stable", members=[member("m", {"t": (0,)})], commits={("t", 0): 1})
    cluster.add("connect-sink", state="Stable", protocol_type="connect")
    cluster.end("t", 100)
    cluster.end("u", 100)


NOTE = "1 group of another kind is skipped (connect).\n"


def test_orphans_of_all_groups_are_rows_with_a_reason() -> None:
    screen = dedent("""\
        GROUP     TOPIC  PARTITION  COMMITTED-OFFSET  REASON
        deleted   gone           0                 5  topic_deleted
        moved-on  u              0                 2  not_subscribed
        """)
    assert run("orphans") == (0, screen, NOTE)
    assert run("orphans", "--all-groups") == (0, screen, NOTE)


def test_a_history_finds_idle_groups(tmp_path: Path) -> None:
    history = write_history(tmp_path / "history", 7.1)
    screen = dedent("""\
        GROUP  TOPIC  PARTITION  COMMITTED-OFFSET  REASON
        idle   t              0                 3  idle
        idle   u              0                 4  idle
        """)
    assert run("orphans", "idle", "reads", "--polls", history) == (0, screen, "")
    assert run("orphans", "idle", "--polls", history, "--idle", "8d").stderr == "No orphans.\n"
    assert run("orphans", "idle", "--polls", history, "--idle", "7d").stdout == screen


def test_csv_ndjson_and_json() -> None:
    assert run("orphans", "deleted", "--format", "csv").stdout == dedent("""\
        GROUP,TOPIC,PARTITION,COMMITTED-OFFSET,REASON
        deleted,gone,0,5,topic_deleted
        """)
    row = {"topic": "gone", "partition": 0, "committed_offset": 5, "reason": "topic_deleted"}
    assert json.loads(run("orphans", "deleted", "--format", "ndjson").stdout) == {**NAMED, "group": "deleted", **row}
    assert json.loads(run("orphans", "deleted", "reads", "--format", "json").stdout) == {
        "schema": "kafka-groups/orphans/1",
        "status": "complete",
        "groups": [{**NAMED, "group": "deleted", "offsets": [row]}],
        "notes": [],
        "errors": [],
    }


def test_selectors_and_filters_narrow_the_groups() -> None:
    rows = run("orphans", "--match", ".*e.*", "--state", "Empty", "--format", "ndjson").stdout.splitlines()
    assert [json.loads(row)["group"] for row in rows] == ["deleted"]


def test_the_requests_are_those_of_describe_and_one_for_topics(cluster: FakeCluster) -> None:
    run("orphans")
    calls = [call[0] for call in cluster.admin.method_calls if call[0] not in {"brokers", "deadline", "__exit__"}]
    assert calls == ["list_groups", "describe_with_offsets", "describe_topics"]


@pytest.mark.parametrize(
    ("arguments", "note"), [(("reads",), "No orphans.\n"), (("--match", "nope.*"), "No group matches.\n")]
)
def test_nothing_to_show_is_a_note(arguments: tuple[str, ...], note: str) -> None:
    assert run("orphans", *arguments) == (0, "GROUP  TOPIC  PARTITION  COMMITTED-OFFSET  REASON\n", note)


def test_failed_groups_and_topics_are_errors_and_the_others_are_shown(cluster: FakeCluster) -> None:
    cluster.unfetchable["moved-on"] = failure(group="moved-on")
    outcome = run("orphans", "deleted", "moved-on", "nope")
    assert (outcome.exit_code, len(outcome.stdout.splitlines())) == (3, 2)
    assert "Error: group 'moved-on': refused (GROUP_AUTHORIZATION_FAILED)\n" in outcome.stderr
    assert run("orphans", "nope").exit_code == 1
    cluster.refuse(unreachable())
    outcome = run("orphans", "--format", "json")
    assert (outcome.exit_code, json.loads(outcome.stdout)["status"]) == (1, "failed")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--idle", "3d"), "--idle needs --polls: brokers do not return when a group committed"),
        (("--idle", "3", "--polls", "f"), "--idle: "),
        (("--export", "-", "--format", "json"), "--export - prints the plan in place of the table; --format json "),
    ],
)
def test_options_that_cannot_be_used_are_usage_errors(arguments: tuple[str, ...], message: str) -> None:
    outcome = run("orphans", *arguments)
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert outcome.stderr.startswith(f"Error: {message}")


def test_a_history_of_another_cluster_or_an_absent_one_is_refused(tmp_path: Path) -> None:
    foreign = write_history(tmp_path / "foreign", 9, "other")
    outcome = run("orphans", "--polls", foreign)
    assert (outcome.exit_code, "has the polls of cluster other" in outcome.stderr) == (2, True)
    absent = tmp_path / "absent"
    message = f"Error: there is no file {absent}; lag --polls {absent} begins one\n"
    assert run("orphans", "--polls", str(absent)) == (2, "", message)
    assert not absent.exists()


# Plans.


def test_a_plan_deletes_commits_and_idle_groups(tmp_path: Path) -> None:
    file, history = tmp_path / "plan.json", write_history(tmp_path / "history", 9)
    outcome = run("orphans", "--polls", history, "--export", str(file))
    assert outcome.stderr == (
        f"The plan was written to {file}. It is for `delete-offsets --from-file` and for `delete --from-file`.\n{NOTE}"
    )
    plan = read_plan(file.read_text(), name="plan.json")
    changes = [(each.action, each.group, each.topic, each.partition, each.committed_offset) for each in plan.changes]
    assert (plan.cluster_id, changes) == (
        CLUSTER_ID,
        [
            (Action.DELETE_OFFSETS, "deleted", "gone", 0, 5),
            (Action.DELETE_GROUP, "idle", "t", 0, 3),
            (Action.DELETE_GROUP, "idle", "u", 0, 4),
            (Action.DELETE_OFFSETS, "moved-on", "u", 0, 2),
        ],
    )


def test_a_plan_may_take_the_place_of_the_table() -> None:
    outcome = run("orphans", "moved-on", "--export", "-")
    assert outcome.exit_code == 0
    assert len(read_plan(outcome.stdout, name="-").changes) == 1


def test_a_plan_without_changes_can_be_executed(tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    assert run("orphans", "reads", "--export", str(file)).stderr.startswith(f"The plan was written to {file}.\n")
    assert run("delete", "--from-file", str(file), *EXECUTE).exit_code == 0


def test_a_plan_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "missing" / "plan.json"
    outcome = run("orphans", "--export", str(file))
    assert (outcome.exit_code, outcome.stderr) == (
        1,
        f"Error: cannot write the plan to {file}: No such file or directory\n",
    )


def test_delete_offsets_and_delete_execute_the_plan(cluster: FakeCluster, tmp_path: Path) -> None:
    file, history = str(tmp_path / "plan.json"), write_history(tmp_path / "history", 9)
    run("orphans", "--polls", history, "--export", file)
    outcome = run("delete-offsets", "--from-file", file, *EXECUTE)
    assert (outcome.exit_code, [line.split()[-1] for line in outcome.stdout.splitlines()[1:]]) == (0, ["done", "done"])
    assert "2 changes of the plan are for other commands and are skipped.\n" in outcome.stderr
    outcome = run("delete", "--from-file", file, *EXECUTE)
    assert (outcome.exit_code, outcome.stdout) == (0, "GROUP  STATUS\nidle   done\n")
    assert "idle" not in cluster.descriptions
    assert "No orphans.\n" in run("orphans", "--polls", history).stderr


def test_a_group_that_has_committed_since_the_plan_is_not_deleted(cluster: FakeCluster, tmp_path: Path) -> None:
    file, history = str(tmp_path / "plan.json"), write_history(tmp_path / "history", 9)
    run("orphans", "--polls", history, "--export", file)
    cluster.add("idle", commits={("t", 0): 3, ("u", 0): 5})
    outcome = run("delete", "--from-file", file, *EXECUTE)
    assert (outcome.exit_code, "its commits have changed since the plan" in outcome.stderr) == (1, True)


def test_a_search_that_read_no_group_writes_no_plan(tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    plan.write_text("older")
    assert run("orphans", "nope", "--export", str(plan)).exit_code == 1
    assert plan.read_text() == "older"
