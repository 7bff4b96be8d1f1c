"""`kafka-groups lag --format openmetrics` and `--metrics-file`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafka_groups.errors import AuthenticationFailedError
from tests.commands.lag_groups import NOTE, add_lag_groups
from tests.fakes.command_line import run
from tests.fakes.fake_admin import FakeCluster

if TYPE_CHECKING:
    from pytest_mock import MockerFixture


@pytest.fixture(autouse=True)
def groups(cluster: FakeCluster) -> None:
    add_lag_groups(cluster)


def test_openmetrics_has_a_sample_of_each_group(mocker: MockerFixture) -> None:
    mocker.patch("kafka_groups.commands.lag_output.time.time", return_value=1_700_000_000.25)
    outcome = run("lag", "--format", "openmetrics")
    assert (outcome.exit_code, outcome.stderr) == (0, NOTE)
    lines = outcome.stdout.splitlines()
    state = "kafka_groups_group_state"
    assert 'kafka_groups_group_lag_messages{cluster="fake",group="behind",type="Classic"} 100' in lines
    assert 'kafka_groups_group_lost_messages{cluster="fake",group="lost",type="Classic"} 7' in lines
    assert f"# TYPE {state} stateset" in lines
    assert f'{state}{{cluster="fake",group="lost",type="Classic",{state}="Empty"}} 1' in lines
    assert f'{state}{{cluster="fake",group="lost",type="Classic",{state}="Stable"}} 0' in lines
    assert lines[-4:] == [
        "# HELP kafka_groups_poll_timestamp_seconds When the last poll ended, in seconds since 1970.",
        "# TYPE kafka_groups_poll_timestamp_seconds gauge",
        'kafka_groups_poll_timestamp_seconds{cluster="fake"} 1700000000.250',
        "# EOF",
    ]


def test_a_metrics_file_is_written_beside_the_output(tmp_path: Path) -> None:
    file = tmp_path / "lag.prom"
    file.write_text("old")
    outcome = run("lag", "lost", "nope", "--by", "partition", "--metrics-file", str(file), "--format", "csv")
    assert outcome.exit_code == 3
    assert outcome.stdout.splitlines()[1].startswith("lost,u,0,3,")
    text = file.read_text()
    labels = '{cluster="fake",group="lost",topic="u",partition="0",type="Classic"}'
    assert f"kafka_groups_partition_lag_messages{labels} 17\n" in text
    assert 'kafka_groups_poll_failures{cluster="fake"} 1\n' in text
    assert "# EOF" not in text
    assert [path.name for path in tmp_path.iterdir()] == ["lag.prom"]


def test_the_metrics_of_a_cluster_that_cannot_be_reached_are_no_old_values(
    cluster: FakeCluster, tmp_path: Path
) -> None:
    file = tmp_path / "lag.prom"
    file.write_text("old")
    cluster.refuse(AuthenticationFailedError("refused"))
    assert run("lag", "--metrics-file", str(file)).exit_code == 1
    text = file.read_text()
    assert 'kafka_groups_poll_failures{cluster="fake"} 1\n' in text
    assert "group=" not in text


def test_a_metrics_file_that_cannot_be_written_is_an_error_behind_the_output(tmp_path: Path) -> None:
    file = tmp_path / "missing" / "lag.prom"
    outcome = run("lag", "--metrics-file", str(file), "--format", "json")
    assert (outcome.exit_code, json.loads(outcome.stdout)["status"]) == (1, "complete")
    text = f"Error: cannot write the metrics to {file}: No such file or directory\n"
    assert outcome.stderr == NOTE + text
    failing = run("lag", "nope", "lost", "--metrics-file", str(file), "--fail-if", "lag>0")
    assert failing.exit_code == 4
    assert failing.stderr.splitlines() == [
        "Error: group 'nope': there is no such group (GROUP_ID_NOT_FOUND)",
        text.rstrip("\n"),
        "Error: the condition of --fail-if holds for 'lost'",
    ]


def test_a_group_that_can_lose_nothing_has_no_metric_of_a_margin(cluster: FakeCluster) -> None:
    cluster.end("emptied", 5, 100, starts=(5, 100))
    cluster.add("small", commits={("emptied", 0): 5, ("emptied", 1): 10})
    text = run("lag", "small", "lost", "--format", "openmetrics").stdout
    assert 'retention_margin_messages{cluster="fake",group="lost",type="Classic"} 0' in text
    assert 'retention_margin_messages{cluster="fake",group="small",type="Classic"}' not in text
    assert 'lost_messages{cluster="fake",group="small",type="Classic"} 90' in text


@pytest.mark.parametrize("is_there", [True, False])
@pytest.mark.parametrize("spelling", ["same", "dots", "link", "link of the directory", "relative"])
def test_a_file_for_history_and_metrics_is_a_usage_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cluster: FakeCluster, spelling: str, is_there: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "folder"
    folder.mkdir()
    file = folder / "lag"
    (tmp_path / "link").symlink_to(file)
    (tmp_path / "other").symlink_to(folder)
    other = {
        "same": str(file),
        "dots": f"{folder}/../folder/./lag",
        "link": "link",
        "link of the directory": "other/lag",
        "relative": "folder/lag",
    }[spelling]
    if is_there:
        file.write_text("")
    outcome = run("lag", "--polls", str(file), "--metrics-file", other)
    message = f"--polls and --metrics-file name the same file, {file}; each needs a file of its own"
    assert outcome == (2, "", f"Error: {message}; see kafka-groups lag --help\n")
    assert (file.read_text() if file.exists() else "") == ""
    cluster.admin.list_groups.assert_not_called()


def test_hard_links_of_a_file_are_the_same_file(tmp_path: Path) -> None:
    (tmp_path / "history").write_text("")
    (tmp_path / "metrics").hardlink_to(tmp_path / "history")
    outcome = run("lag", "--polls", str(tmp_path / "history"), "--metrics-file", str(tmp_path / "metrics"))
    assert outcome.exit_code == 2


def test_two_files_are_both_written(tmp_path: Path) -> None:
    files = tmp_path / "history", tmp_path / "metrics"
    assert run("lag", "lost", "--polls", str(files[0]), "--metrics-file", str(files[1])).exit_code == 0
    assert "kafka-groups/polls" in files[0].read_text()
    text = files[1].read_text()
    verdict = "kafka_groups_group_verdict"
    assert f"# TYPE {verdict} gauge\n" in text
    assert f'{verdict}{{cluster="fake",group="lost",type="Classic",{verdict}="UNKNOWN"}} 0\n' in text
    assert f'{verdict}{{cluster="fake",group="lost",type="Classic",{verdict}="WARN"}} 1\n' in text


@pytest.mark.parametrize("to_file", [True, False])
def test_all_metrics_adds_the_log_offsets_of_partitions(tmp_path: Path, to_file: bool) -> None:
    file = tmp_path / "lag.prom"
    output = ("--metrics-file", str(file)) if to_file else ("--format", "openmetrics")
    labels = '{cluster="fake",group="lost",topic="u",partition="0",type="Classic"}'
    texts = []
    for option in ((), ("--all-metrics",)):
        outcome = run("lag", "lost", "--by", "partition", *output, *option)
        assert outcome.exit_code == 0
        texts.append(file.read_text() if to_file else outcome.stdout)
    few, every = (text.splitlines() for text in texts)
    added = {line for line in every if "partition=" in line} - {*few}
    assert added == {
        f"kafka_groups_partition_{name}{labels} {value}"
        for name, value in (
            ("partitions_behind", 1),
            ("uncommitted_partitions", 0),
            ("lost_messages", 7),
            ("retention_margin_messages", 0),
            ("log_start_offset", 10),
            ("log_end_offset", 20),
        )
    }


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--by", "partition"), "--all-metrics is only for --format openmetrics and --metrics-file"),
        (
            ("--format", "openmetrics", "--by", "topic"),
            "--all-metrics is only for --by partition; --by topic always has all metrics",
        ),
    ],
)
def test_all_metrics_that_adds_nothing_is_a_usage_error(arguments: tuple[str, ...], problem: str) -> None:
    assert run("lag", *arguments, "--all-metrics") == (2, "", f"Error: {problem}; see kafka-groups lag --help\n")


def test_a_condition_still_names_the_worst_group_first_with_metrics() -> None:
    outcome = run("lag", "--by", "partition", "--format", "openmetrics", "--fail-if", "lag>0")
    assert outcome.stderr.splitlines()[-1] == "Error: the condition of --fail-if holds for 'behind', 'lost'"
