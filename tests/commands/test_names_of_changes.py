"""Group ids, topics and plans with names that no request can carry: one error, and the others are changed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.commands.change_commands import EXECUTE, attempt, last_line
from tests.fakes.command_line import Outcome, run
from tests.fakes.scripted_cluster import Commit, Group, ScriptedCluster

# As Python passes an argument that is not UTF-8.
BAD = b"caf\xe9".decode("utf-8", "surrogateescape")
MESSAGE = "cannot encode the request: 'caf\\udce9' is not UTF-8; write it in UTF-8 (INVALID_REQUEST)"


@pytest.fixture(scope="module")
def cluster() -> Iterator[ScriptedCluster]:
    """Groups `a`, one without an id, and one whose id has a line break."""
    groups = {name: Group(state="Empty", commits={("t", 0): 60}) for name in ("a", "", "x\ny")}
    with ScriptedCluster(brokers=1, groups=groups, topics={"t": {0: 1}}) as cluster:
        yield cluster


def change(cluster: ScriptedCluster, *arguments: str) -> Outcome:
    """Execute a command."""
    return run(*arguments, *EXECUTE, bootstrap=str(cluster.addresses[1]))


@pytest.mark.parametrize("name", ["", "x\ny"])
def test_a_group_id_with_any_text_is_reset(cluster: ScriptedCluster, name: str) -> None:
    outcome = change(cluster, "reset", name, "--topic", "t", "--to-offset", "5", "--format", "json")
    assert (outcome.exit_code, json.loads(outcome.stdout)["groups"][0]["group"]) == (0, name)
    assert cluster.groups[name].commits == {("t", 0): Commit(5)}


@pytest.mark.parametrize(
    "arguments",
    [
        ("reset", BAD, "--topic", "t", "--to-latest"),
        ("reset", BAD, "--topic", "t", "--to-latest", "--create"),
        ("reset", "a", "--topic", BAD, "--to-latest"),
        ("reset", "a", "--to-group", BAD),
        ("delete-offsets", BAD, "--topic", "t"),
        ("remove-members", "--group", BAD, "--all"),
    ],
)
def test_a_name_that_is_not_utf_8_is_one_error(cluster: ScriptedCluster, arguments: tuple[str, ...]) -> None:
    outcome = change(cluster, *arguments)
    assert (outcome.exit_code, outcome.stdout, last_line(outcome)) == (1, "", attempt())
    assert MESSAGE in outcome.stderr.encode("utf-8", "backslashreplace").decode()


def test_a_group_id_that_is_not_utf_8_does_not_hide_the_others(cluster: ScriptedCluster) -> None:
    outcome = change(cluster, "reset", BAD, "a", "--topic", "t", "--to-offset", "7", "--format", "csv")
    assert (outcome.exit_code, len(outcome.stdout.splitlines())) == (3, 2)
    assert cluster.groups["a"].commits == {("t", 0): Commit(7)}


def test_metadata_of_a_plan_that_is_not_utf_8_fails_alone(cluster: ScriptedCluster, tmp_path: Path) -> None:
    row = {"action": "commit", "group": "a", "topic": "t", "partition": 0, "new_offset": 5, "new_metadata": "\ud800"}
    plan = {"schema": "kafka-groups/plan/1", "cluster_id": "scripted", "created_at": "2026-01-01T00:00:00Z"}
    (tmp_path / "plan").write_text(json.dumps({**plan, "changes": [row]}))
    outcome = change(cluster, "reset", "--from-file", str(tmp_path / "plan"), "--force", "--format", "csv")
    assert (outcome.exit_code, outcome.stdout.endswith(",failed\n")) == (1, True)
