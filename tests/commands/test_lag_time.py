"""`lag --time`: columns, JSON, conditions, metrics, failures; and `wait --until time_lag`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import KafkaError, KafkaException

from kafka_groups.admin import librdkafka
from kafka_groups.admin.api import RecordPosition, RecordTime
from kafka_groups.errors import MissingFeatureError
from kafka_groups.settings import kerberos
from tests.fakes.command_line import run
from tests.fakes.fake_admin import FakeCluster

if TYPE_CHECKING:
    from pytest_mock import MockerFixture

NOW_MS = 1_795_000_000_000
AGE_MS = 192_000


@pytest.fixture
def cluster(mocker: MockerFixture) -> FakeCluster:
    """Two groups: `behind` with records of 3m12s, and `done` without lag."""
    mocker.patch("time.time_ns", return_value=NOW_MS * 1_000_000)
    cluster = FakeCluster(mocker)
    cluster.end("t", 9, 9, starts=(0, 0))
    cluster.add("behind", commits={("t", 0): 5, ("t", 1): 9})
    cluster.add("done", commits={("t", 0): 9})
    cluster.records = {RecordPosition("t", 0, 5): RecordTime(5, NOW_MS - AGE_MS)}
    return cluster


@pytest.mark.usefixtures("cluster")
def test_the_table_has_two_more_columns() -> None:
    outcome = run("lag", "--time")
    header, behind, done = (line.split() for line in outcome.stdout.splitlines())
    assert header[3:6] == ["LAG", "TIME-LAG", "QUALITY"]
    assert (behind[0], behind[3:6]) == ("behind", ["4", "3m12s", "exact"])
    assert (done[0], done[3:6]) == ("done", ["0", "0s", "exact"])
    assert (outcome.stderr, outcome.exit_code) == ("", 0)


def test_without_time_the_columns_are_missing_and_the_keys_are_null(cluster: FakeCluster) -> None:
    assert "TIME-LAG" not in run("lag").stdout
    group = json.loads(run("lag", "--format", "json").stdout)["groups"][0]
    assert (group["time_lag_ms"], group["time_lag_quality"]) == (None, None)
    assert cluster.record_requests == []


@pytest.mark.usefixtures("cluster")
def test_json_has_the_time_lag_of_groups_and_of_parts() -> None:
    document = json.loads(run("lag", "--time", "--by", "partition", "--format", "json").stdout)
    group = document["groups"][0]
    assert (group["group"], group["time_lag_ms"], group["time_lag_quality"]) == ("behind", AGE_MS, "exact")
    assert [(row["partition"], row["time_lag_ms"]) for row in group["rows"]] == [(0, AGE_MS), (1, 0)]


@pytest.mark.parametrize(
    ("condition", "code"),
    [("time_lag>3m", 4), ("time_lag>4m", 0), ("time_lag_ms>191999", 4), ("time_lag_quality!=exact", 0)],
)
def test_a_condition_on_the_time_lag_implies_time(cluster: FakeCluster, condition: str, code: int) -> None:
    outcome = run("lag", "--fail-if", condition)
    assert outcome.exit_code == code
    assert "TIME-LAG" in outcome.stdout
    assert len(cluster.record_requests) == 1


@pytest.mark.usefixtures("cluster")
def test_the_time_lag_of_a_condition_is_a_duration() -> None:
    outcome = run("lag", "--fail-if", "time_lag>300")
    assert outcome.exit_code == 2
    assert "write for example 30s" in outcome.stderr


def test_a_record_that_is_not_read_is_an_error_of_its_partition(cluster: FakeCluster) -> None:
    cluster.records = {}
    outcome = run("lag", "--time")
    assert [line.split()[3:6] for line in outcome.stdout.splitlines()[1:]] == [
        ["4", "-", "unknown"],
        ["0", "0s", "exact"],
    ]
    assert outcome.stderr == "Error: partition t-0: the record was not read within 30 s (TIMEOUT)\n"
    assert outcome.exit_code == 3


def test_metrics_have_the_time_lag_in_seconds_and_its_quality(cluster: FakeCluster) -> None:
    lines = run("lag", "--time", "--format", "openmetrics").stdout.splitlines()
    labels = 'cluster="fake",group="behind",type="Classic"'
    quality = "kafka_groups_group_time_lag_quality"
    assert f"kafka_groups_group_time_lag_seconds{{{labels}}} 192.0" in lines
    assert f'{quality}{{{labels},{quality}="exact"}} 1' in lines
    assert f'{quality}{{{labels},{quality}="unknown"}} 0' in lines
    cluster.records = {}
    lines = run("lag", "--time", "--format", "openmetrics").stdout.splitlines()
    assert not [line for line in lines if line.startswith(f"kafka_groups_group_time_lag_seconds{{{labels}}}")]
    assert "time_lag" not in run("lag", "--format", "openmetrics").stdout


@pytest.mark.usefixtures("cluster")
def test_a_watch_may_show_the_time_lag() -> None:
    outcome = run("lag", "--time", "--watch", "10ms", "--samples", "1")
    header, behind = (line.split() for line in outcome.stdout.splitlines()[2:4])
    assert (header[3:5], behind[3:5]) == (["LAG", "TIME-LAG"], ["4", "3m12s"])
    assert outcome.exit_code == 0


def test_wait_reads_the_time_lag_if_the_condition_needs_it(cluster: FakeCluster) -> None:
    waited = run("wait", "behind", "--until", "time_lag<=4m")
    assert (waited.exit_code, "3m12s" in waited.stdout) == (0, True)
    late = run("wait", "behind", "--until", "time_lag<=3m", "--for", "1ms")
    assert late.exit_code == 4
    reads = len(cluster.record_requests)
    plain = run("wait", "behind", "--until", "lag>=0")
    assert (plain.exit_code, "TIME-LAG" in plain.stdout) == (0, False)
    assert len(cluster.record_requests) == reads


def test_a_marker_behind_the_commit_is_a_lag_of_a_group_that_has_caught_up(cluster: FakeCluster) -> None:
    cluster.add("behind", commits={("t", 0): 8})
    cluster.records = {RecordPosition("t", 0, 8): None}
    line = next(
        line.split() for line in run("lag", "behind", "--time").stdout.splitlines() if line.startswith("behind")
    )
    assert (line[3:6], line[-1]) == (["1", "0s", "compacted"], "caught_up")


def test_a_condition_on_a_note_on_time_implies_time(cluster: FakeCluster) -> None:
    cluster.add("behind", commits={("t", 0): 8})
    cluster.records = {RecordPosition("t", 0, 8): None}
    assert run("lag", "behind", "--fail-if", "note==caught_up").exit_code == 4
    assert run("lag", "behind", "--fail-if", "lag>0 and note!=Caught_Up").exit_code == 0
    assert run("wait", "behind", "--until", "lag<=0 or note==caught_up", "--for", "1ms").exit_code == 0
    assert run("wait", "behind", "--until", "time_lag<=0s", "--for", "1ms").exit_code == 0
    reads = len(cluster.record_requests)
    assert (reads, run("lag", "behind", "--fail-if", "note==data_loss").exit_code) == (4, 0)
    assert len(cluster.record_requests) == reads


@pytest.mark.parametrize(
    "arguments", [("lag", "--time"), ("lag", "--fail-if", "time_lag>5m"), ("wait", "g", "--until", "time_lag<5m")]
)
def test_commands_with_time_end_with_exit_code_1(arguments: tuple[str, ...], cluster: FakeCluster) -> None:
    cluster.admin.require_record_times.side_effect = MissingFeatureError("no Kerberos")
    outcome = run(*arguments)
    assert (outcome.exit_code, outcome.stderr) == (1, "Error: no Kerberos\n")
    assert cluster.admin.list_groups.call_count == 0


def test_without_both_libraries_for_kerberos_one_error_names_both(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_properties: object) -> None:
        raise KafkaException(KafkaError(KafkaError._INVALID_ARG, "not available at build time"))

    monkeypatch.setattr(kerberos, "has_library", lambda: False)
    monkeypatch.setattr(librdkafka, "AdminClient", refuse)
    user = ("-X", "security.protocol=SASL_PLAINTEXT", "-X", "sasl.mechanism=GSSAPI")
    for command in (("lag", "--time"), ("wait", "g", "--until", "time_lag<1m")):
        outcome = run(*command, *user, "--format", "json")
        assert outcome.exit_code == 1
        assert "needs the library gssapi, which is not installed; run pip install" in outcome.stderr
        assert "; besides, records cannot be read with Kerberos (sasl.mechanism=GSSAPI): librdkafka" in outcome.stderr
        assert [error["name"] for error in json.loads(outcome.stdout)["errors"]] == ["AUTHENTICATION_FAILED"]
    without_time = run("lag", *user)
    assert (without_time.exit_code, "librdkafka" in without_time.stderr) == (2, False)


def test_with_a_librdkafka_for_kerberos_the_library_alone_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kerberos, "has_library", lambda: False)
    monkeypatch.setattr(librdkafka, "AdminClient", lambda _properties: None)
    outcome = run("lag", "--time", "-X", "security.protocol=SASL_PLAINTEXT", "-X", "sasl.mechanism=GSSAPI")
    assert (outcome.exit_code, "librdkafka" in outcome.stderr) == (2, False)
    assert "needs the library gssapi" in outcome.stderr
