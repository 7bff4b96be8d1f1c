"""Log starts that are unknown: nobody knows whether messages were lost there, and no number says that none was."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kafka_groups.groups.lag.polls_file import read_section, split_file
from kafka_groups.model import TopicPartition
from tests.fakes.command_line import run
from tests.fakes.fake_admin import CLUSTER_ID, FakeCluster

if TYPE_CHECKING:
    from pytest_mock import MockerFixture

RETENTION = ("messages_lost", "retention_margin", "retention_margin_percent", "note")
LOST = TopicPartition("t", 1)


@pytest.fixture(autouse=True)
def groups(cluster: FakeCluster) -> None:
    """Add a group that has lost 40 messages of the second partition, of which the log start is unknown."""
    cluster.add("g", commits={("t", 0): 50, ("t", 1): 10})
    cluster.end("t", 100, 100, starts=(0, 50))
    del cluster.starts[LOST]


def row_of(*arguments: str) -> dict[str, Any]:
    """Return the first row of `lag`."""
    row: dict[str, Any] = json.loads(run("lag", *arguments, "--format", "ndjson").stdout.splitlines()[0])
    return row


def test_losses_and_margin_are_unknown_and_the_total_is_incomplete(cluster: FakeCluster) -> None:
    row = row_of()
    assert [row[key] for key in RETENTION] == [None, None, None, ["incomplete"]]
    assert (row["lag"], row["partitions_behind"]) == (140, 2)
    cluster.starts[LOST] = 50
    assert [row_of()[key] for key in RETENTION] == [40, 0, 0.0, ["data_loss"]]


def test_a_topic_and_the_partition_itself_are_unknown_and_the_other_partition_is_known() -> None:
    assert [row_of("--by", "topic")[key] for key in RETENTION] == [None, None, None, ["incomplete"]]
    rows = map(json.loads, run("lag", "--by", "partition", "--format", "ndjson").stdout.splitlines())
    assert {row["partition"]: [row[key] for key in RETENTION] for row in rows} == {
        0: [0, 50, 50.0, []],
        1: [None, None, None, ["incomplete"]],
    }


def test_losses_of_another_partition_stay_known(cluster: FakeCluster) -> None:
    cluster.starts[TopicPartition("t", 0)] = 57
    assert [row_of()[key] for key in RETENTION] == [7, None, None, ["data_loss", "incomplete"]]
    assert run("lag", "--fail-if", "messages_lost>0").exit_code == 4


def test_a_partition_without_a_lag_can_have_lost_nothing(cluster: FakeCluster) -> None:
    cluster.add("g", commits={("t", 0): 50, ("t", 1): 100})
    assert [row_of()[key] for key in RETENTION] == [0, 50, 50.0, []]


def test_a_partition_without_a_commit_does_not_matter(cluster: FakeCluster) -> None:
    cluster.add("g", commits={("t", 0): 50})
    assert [row_of()[key] for key in RETENTION] == [0, 50, 50.0, []]


@pytest.mark.parametrize(
    "condition", ["messages_lost==0", "messages_lost>0", "retention_margin>0", "retention_margin_percent>0"]
)
def test_no_condition_on_them_holds(condition: str) -> None:
    assert run("lag", "--fail-if", condition).exit_code == 0
    assert run("wait", "g", "--until", condition, "--for", "1ms").exit_code == 4


def test_a_wait_for_no_losses_does_not_take_the_losses_of_some_partitions_for_all(cluster: FakeCluster) -> None:
    cluster.starts[TopicPartition("t", 0)] = 57
    assert run("wait", "g", "--until", "messages_lost<=10", "--for", "1ms").exit_code == 4


def test_metrics_have_no_sample_of_them() -> None:
    text = run("lag", "--format", "openmetrics").stdout
    assert 'kafka_groups_group_lag_messages{cluster="fake",group="g",type="Classic"} 140' in text
    assert "lost_messages{" not in text
    assert "retention_margin_messages{" not in text


def test_a_history_keeps_the_log_start_that_was_known(
    cluster: FakeCluster, tmp_path: Path, mocker: MockerFixture
) -> None:
    time_ns = mocker.patch("kafka_groups.commands.lag_measurement.time.time_ns", return_value=1_700_000_000 * 10**9)
    cluster.starts[LOST] = 50
    run("lag", "--polls", str(tmp_path / "history"))
    del cluster.starts[LOST]
    time_ns.return_value += 10 * 10**9
    assert row_of("--polls", str(tmp_path / "history"))["rule"] == "losing_data"
    history = read_section(split_file((tmp_path / "history").read_text(), name="history")[CLUSTER_ID], name="history")
    assert [history.partitions["g", "t", number].last.start for number in (0, 1)] == [0, 50]


def test_a_history_does_not_keep_the_log_start_of_another_log(cluster: FakeCluster, tmp_path: Path) -> None:
    cluster.starts[LOST] = 50
    run("lag", "--polls", str(tmp_path / "history"))
    del cluster.starts[LOST]
    cluster.ends[LOST] = 30
    run("lag", "--polls", str(tmp_path / "history"))
    history = read_section(split_file((tmp_path / "history").read_text(), name="history")[CLUSTER_ID], name="history")
    fallen = history.partitions["g", "t", 1].fallen
    assert fallen is not None
    assert fallen.start == 0
