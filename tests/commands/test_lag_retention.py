"""`lag --time` with polls: groups whose next records retention will delete soon."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kafka_groups.admin.api import RecordPosition, RecordTime
from tests.fakes.command_line import run
from tests.fakes.fake_admin import FakeCluster, failure

if TYPE_CHECKING:
    from pytest_mock import MockerFixture

NOW_MS = 1_795_000_000_000
HOUR_MS = 3_600_000


@pytest.fixture
def cluster(mocker: MockerFixture) -> FakeCluster:
    """A group whose next record is 20 hours old, and one without lag."""
    mocker.patch("time.time_ns", return_value=NOW_MS * 1_000_000)
    cluster = FakeCluster(mocker)
    cluster.admin.cluster_id.side_effect = lambda **_: "cluster-1"
    cluster.end("t", 9, starts=(0,))
    cluster.add("behind", commits={("t", 0): 5})
    cluster.add("done", commits={("t", 0): 9})
    cluster.records = {RecordPosition("t", 0, 5): RecordTime(5, NOW_MS - 20 * HOUR_MS)}
    return cluster


def rules(polls: Path, *arguments: str) -> dict[str, Any]:
    outcome = run("lag", "--polls", str(polls), *arguments, "--format", "ndjson")
    assert outcome.exit_code == 0
    return {row["group"]: row["rule"] for row in map(json.loads, outcome.stdout.splitlines())}


@pytest.mark.parametrize(
    ("retention_h", "policy", "arguments", "rule"),
    [
        ("24", "delete", (), "losing_data"),
        ("24", "compact,delete", (), "losing_data"),
        ("24", "compact", (), "incomplete"),
        ("24", "delete", ("--retention-alert", "3h"), "incomplete"),
        ("24", "delete", ("--retention-alert", "4h"), "losing_data"),
        ("100", "delete", (), "incomplete"),
        ("-1", "delete", (), "incomplete"),
    ],
)
def test_a_group_is_warned_of_before_retention_deletes_its_next_record(
    cluster: FakeCluster, tmp_path: Path, retention_h: str, policy: str, arguments: tuple[str, ...], rule: str
) -> None:
    retention = retention_h if retention_h == "-1" else str(int(retention_h) * HOUR_MS)
    cluster.configs["t"] = {"retention.ms": retention, "cleanup.policy": policy}
    assert rules(tmp_path / "polls", "--time", *arguments) == {"behind": rule, "done": "no_lag"}


def test_a_lag_that_is_only_a_marker_of_a_transaction_is_no_lag(cluster: FakeCluster, tmp_path: Path) -> None:
    cluster.records = {RecordPosition("t", 0, 5): None}
    assert rules(tmp_path / "polls", "--time") == {"behind": "no_lag", "done": "no_lag"}
    assert rules(tmp_path / "others") == {"behind": "incomplete", "done": "no_lag"}


def test_settings_of_topics_are_requested_only_with_time_and_polls(cluster: FakeCluster, tmp_path: Path) -> None:
    rules(tmp_path / "polls")
    run("lag", "--time")
    assert cluster.admin.describe_topic_configs.call_count == 0
    assert rules(tmp_path / "polls", "--time")["behind"] == "incomplete"
    (call,) = cluster.admin.describe_topic_configs.call_args_list
    assert (list(call.args[0]), call.args[1]) == (["t"], ("retention.ms", "cleanup.policy"))


def test_a_retention_that_cannot_be_read_is_a_note_with_its_reason(cluster: FakeCluster, tmp_path: Path) -> None:
    cluster.config_failures = {"t": failure("UNSUPPORTED_VERSION", code=35)}
    outcome = run("lag", "--time", "--polls", str(tmp_path / "polls"), "--format", "json")
    assert outcome.exit_code == 0
    (note,) = json.loads(outcome.stdout)["notes"]
    assert (note["kind"], note["group"]) == ("retention_unknown", None)
    assert "The retention of some topics is unknown" in note["text"]
    assert note["text"].endswith("(UNSUPPORTED_VERSION: refused).")
    assert outcome.stderr.splitlines()[0] == note["text"]


@pytest.mark.parametrize("arguments", [("--time",), ("--polls", "f")])
def test_the_alert_needs_time_and_polls(arguments: tuple[str, ...]) -> None:
    outcome = run("lag", *arguments, "--retention-alert", "2h")
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert "--retention-alert is only for --time with --watch or --polls" in outcome.stderr


def test_the_time_until_a_stop_needs_polls() -> None:
    outcome = run("lag", "--stop-after", "2m")
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert "--stop-after is only for --watch and --polls" in outcome.stderr
