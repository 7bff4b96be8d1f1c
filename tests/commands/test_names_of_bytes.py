"""Groups whose ids are not UTF-8, which Kafka's brokers never return: they are shown, and never taken for others."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.commands.encoded_runs import run_encoded
from tests.fakes.raw_names import with_bytes
from tests.fakes.scripted_cluster import Commit, Group, ScriptedCluster

# A group whose id is the visible escape of the other one's.
ESCAPE = r"odd-\xff"


@pytest.fixture
def cluster() -> Iterator[ScriptedCluster]:
    """A group whose id is bytes that are not UTF-8, once listed, and one whose id is their escape."""
    groups = {name: Group(state="Empty", commits={("t", 0): 60}) for name in ("odd-?", ESCAPE, "x")}
    with ScriptedCluster(brokers=1, groups=groups, topics={"t": {0: 1}}) as cluster:
        cluster.script("ListGroups", with_bytes("odd-?", b"odd-\xff"))
        yield cluster


def address(cluster: ScriptedCluster) -> tuple[str, str]:
    """Return the options that name the cluster."""
    return "-b", str(cluster.addresses[1])


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_an_id_in_a_pipe_has_its_bytes(cluster: ScriptedCluster, encoding: str) -> None:
    outcome = run_encoded(encoding, "list", *address(cluster))
    assert sorted(outcome.stdout.splitlines()) == [ESCAPE.encode(), b"odd-\xff", b"x"]


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_json_has_the_bytes_as_escapes_of_json(cluster: ScriptedCluster, encoding: str) -> None:
    outcome = run_encoded(encoding, "list", "--format", "json", *address(cluster))
    assert rb'"odd-\udcff"' in outcome.stdout
    names = [group["group"] for group in json.loads(outcome.stdout)["groups"]]
    assert sorted(names) == sorted([ESCAPE, "odd-\udcff", "x"])


def test_the_group_is_an_error_and_the_others_are_described(cluster: ScriptedCluster) -> None:
    outcome = run_encoded("utf-8", "describe", "--all-groups", "--format", "csv", *address(cluster))
    groups = [line.split(b",")[0] for line in outcome.stdout.splitlines()[1:]]
    assert (outcome.exit_code, sorted(groups)) == (3, [ESCAPE.encode(), b"x"])
    message = rb"group 'odd-\udcff': cannot encode the request: 'odd-\udcff' is not UTF-8; write it in UTF-8"
    assert outcome.stderr.count(message) == 1


def test_deleting_the_group_deletes_no_group_with_the_name_of_its_escape(cluster: ScriptedCluster) -> None:
    command = ("delete", "--match", "odd.*", "--exclude", r"odd-\\xff", "--execute", "--yes")
    outcome = run_encoded("utf-8", *command, *address(cluster))
    assert outcome.exit_code == 1
    assert sorted(cluster.groups) == sorted(["odd-?", ESCAPE, "x"])


@pytest.mark.parametrize("command", [("describe",), ("reset", "--topic", "t", "--to-latest", "--create")], ids=" ".join)
def test_an_argument_that_is_not_utf_8_is_one_error(cluster: ScriptedCluster, command: tuple[str, ...]) -> None:
    outcome = run_encoded("utf-8", *command, b"caf\xe9", *address(cluster))
    assert (outcome.exit_code, outcome.stdout) == (1, b"")
    assert rb"group 'caf\udce9': cannot encode the request: 'caf\udce9' is not UTF-8; write" in outcome.stderr


def test_an_argument_that_is_not_utf_8_is_an_escape_in_json(cluster: ScriptedCluster) -> None:
    outcome = run_encoded("utf-8", "describe", b"caf\xe9", "--format", "json", *address(cluster))
    assert json.loads(outcome.stdout)["errors"][0]["group"] == "caf\udce9"


def test_metadata_that_is_not_utf_8_is_never_committed_as_another_text() -> None:
    before = Commit(60, metadata="meta?")
    groups = {"x": Group(state="Empty", commits={("t", 0): before})}
    with ScriptedCluster(brokers=1, groups=groups, topics={"t": {0: 1}}) as cluster:
        cluster.script("OffsetFetch", *[with_bytes("meta?", b"meta\xff")] * 2)
        command = ("reset", "x", "--topic", "t", "--to-current", "--execute", "--yes")
        outcome = run_encoded("utf-8", *command, *address(cluster))
        assert outcome.exit_code == 1
        assert rb"'meta\udcff' is not UTF-8" in outcome.stderr
        assert groups["x"].commits == {("t", 0): before}


def test_a_name_of_a_plan_that_stands_for_no_bytes_is_an_error_and_no_traceback(cluster: ScriptedCluster) -> None:
    change = {"action": "commit", "group": "\ud800", "topic": "t", "partition": 0, "new_offset": 5}
    plan = {"schema": "kafka-groups/plan/1", "cluster_id": "scripted", "created_at": "2026-01-01T00:00:00Z"}
    text = json.dumps({**plan, "changes": [change]}).encode()
    outcome = run_encoded("utf-8", "reset", "--from-file", "-", "--create", *address(cluster), stdin=text)
    assert (outcome.exit_code, b"internal error" in outcome.stderr) == (1, False)
    assert rb"'\ud800' is not UTF-8" in outcome.stderr
