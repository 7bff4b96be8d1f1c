"""What brokers refuse, and clusters that are not as they were: a sentence, a name, an exit code, and whole tables."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from confluent_kafka.admin import AclOperation, ResourceType

from kafka_groups.pipeline import KafkaGroupsSource
from kafka_groups.pipeline.reporting import report
from kafka_groups.pipeline.source.brokers import Brokers
from kafka_groups.pipeline.storage import Storage, open_storage
from kafka_groups.pipeline.tables import INGEST_GAPS, OFFSET_COMMITS, PARTITION_OFFSETS
from tests.fakes.fake_admin import Outcome, run
from tests.live.groups.topics import fresh, make_topic
from tests.live.groups.waiting import wait_until
from tests.live.pipeline.guarded import SECRET, Guarded, guarded_broker
from tests.live.pipeline.offsets_topic import TOPIC, commit, commits_in
from tests.pipeline.storage.disks import small_disk

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pytest_mock import MockerFixture

pytestmark = [pytest.mark.live, pytest.mark.spark]

Ingest = Callable[..., tuple[Outcome, dict[str, Any]]]


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    """A broker on which only the operator may read the commits, and the describer may at least describe them."""
    with guarded_broker(tmp_path_factory.mktemp("guarded")) as guarded:
        guarded.allow("describer", AclOperation.DESCRIBE, TOPIC)
        yield guarded


@pytest.fixture(scope="module")
def topic(guarded: Guarded) -> str:
    return make_topic(guarded.bootstrap, records=8)


@pytest.fixture
def committed(guarded: Guarded, topic: str) -> str:
    """A group that has committed three times, whatever became of the commits before."""
    group = fresh("committed")
    commit(guarded.bootstrap, group, topic, 1, 2, 3)
    return group


@pytest.fixture
def run_ingest(spark: SparkSession, storage: Storage, mocker: MockerFixture) -> Ingest:
    """`pipeline ingest --format json` with these options, on the Spark of the tests; and its document."""
    mocker.patch("kafka_groups.pipeline.session.start_session", side_effect=lambda **_: nullcontext(spark))

    def work(*flags: str) -> tuple[Outcome, dict[str, Any]]:
        told = run("pipeline", "ingest", "--into", storage.into, *flags, "--format", "json", bootstrap=None)
        return told, json.loads(told.stdout)

    return work


def _names(document: dict[str, Any]) -> list[str]:
    return [error["name"] for error in document["errors"]]


def _files(storage: Storage) -> set[str]:
    return {str(path) for path in Path(storage.into).rglob("*.parquet")}


@pytest.mark.usefixtures("committed")
def test_who_has_no_right_to_the_topic_is_told_what_helps_and_spark_is_not_started(
    guarded: Guarded, storage: Storage, mocker: MockerFixture
) -> None:
    started = mocker.patch("kafka_groups.pipeline.session.start_session")
    flags = ("--into", storage.into, "--format", "json")
    outcome = run("pipeline", "ingest", *flags, bootstrap=guarded.bootstrap)

    document = json.loads(outcome.stdout)
    assert (outcome.exit_code, document["status"], _names(document)) == (1, "failed", ["SOURCE_FAILED"])
    assert outcome.stderr == (
        f"Error: __consumer_offsets cannot be read from {guarded.bootstrap}: this user has no right to it. Have "
        "Describe and Read allowed on that topic, or do without: `kafka-groups pipeline sample` needs neither, and "
        "build tells lag and verdicts from samples (not over SASL yet: sample does not speak it)\n"
    )
    assert _files(storage) == set()
    started.assert_not_called()


def test_a_backfill_that_may_not_ask_for_settings_goes_on_and_says_what_it_does_not_know(
    guarded: Guarded, storage: Storage
) -> None:
    silent = make_topic(guarded.bootstrap, records=3)
    guarded.allow("ANONYMOUS", AclOperation.DESCRIBE, silent)
    flags = ("--into", storage.into, "--since", "5m", "--topic", silent)
    outcome = run("pipeline", "backfill", *flags, bootstrap=guarded.bootstrap)

    note, done = outcome.stderr.splitlines()
    assert (outcome.exit_code, done.startswith("Done in ")) == (0, True), outcome
    assert note == (
        "It is not known of 1 topic whether it is compacted, which would make its lags of the past too large: "
        "Topic authorization failed."
    )
    assert len(storage.files(PARTITION_OFFSETS)) > 0


def test_doctor_tells_of_rights_that_are_missing(guarded: Guarded, committed: str) -> None:
    def checks(*flags: str) -> dict[str, tuple[str, str]]:
        told = run("pipeline", "doctor", *flags, "--format", "json", bootstrap=None).stdout
        return {check["check"]: (check["status"], check["detail"]) for check in json.loads(told)["checks"]}

    assert committed
    status, detail = checks("-b", guarded.bootstrap)[f"describe {TOPIC}"]
    assert (status, "`kafka-groups pipeline sample` needs neither" in detail) == ("failed", True)
    found = checks(*guarded.flags("describer"))
    status, detail = found[f"read {TOPIC}"]
    assert found[f"describe {TOPIC}"][0] == "ok"
    assert (status, "has no right to it. Have Describe and Read allowed" in detail) == ("failed", True)
    of_operator = checks(*guarded.flags("operator"))
    assert of_operator[f"read {TOPIC}"][0] == "ok"
    assert of_operator[f"settings of {TOPIC}"][1].endswith(
        "kept for delete.retention.ms, so ingest has to run more often than that"
    )
    # What samples ask goes over our own wire, which speaks no SASL yet.
    assert found["sample"][0] == "warning"


def test_doctor_tells_the_release_of_the_brokers_and_what_samples_can_ask(guarded: Guarded, committed: str) -> None:
    told = run("pipeline", "doctor", "--format", "json", bootstrap=guarded.bootstrap).stdout

    found = {check["check"]: check for check in json.loads(told)["checks"]}
    assert committed
    assert found["versions of the brokers"]["detail"].startswith("Kafka 4.3; it uses ")
    assert "metadata.version 30 (Kafka 4.3)" in found["versions of the brokers"]["detail"]
    assert [found[name]["status"] for name in ("list groups", "describe groups", "log ends")] == ["ok"] * 3


def test_samples_are_taken_as_far_as_rights_go(guarded: Guarded, storage: Storage, topic: str, committed: str) -> None:
    closed = fresh("closed")
    commit(guarded.bootstrap, closed, topic, 1)
    guarded.allow("operator", AclOperation.READ, closed, kind=ResourceType.GROUP)

    outcome = run("pipeline", "sample", "--into", storage.into, "--format", "json", bootstrap=guarded.bootstrap)

    document = json.loads(outcome.stdout)
    sampled = pq.read_table(storage.place.join(OFFSET_COMMITS.name)).to_pylist()
    assert (committed, topic, 3) in {(row["group"], row["topic"], row["committed_offset"]) for row in sampled}
    assert (outcome.exit_code, document["status"]) == (3, "partial")
    assert {(error["group"], error["name"]) for error in document["errors"]} == {(closed, "GROUP_AUTHORIZATION_FAILED")}


def test_of_a_topic_that_may_not_be_described_a_sample_sees_neither_partitions_nor_commits(
    guarded: Guarded, storage: Storage, committed: str
) -> None:
    """So where a sample sees a commit and not its partition, the partition is gone."""
    hidden = make_topic(guarded.bootstrap, records=8)
    commit(guarded.bootstrap, committed, hidden, 5)
    guarded.allow("operator", AclOperation.READ, hidden)

    run("pipeline", "sample", "--into", storage.into, bootstrap=guarded.bootstrap)

    commits, ends = (
        pq.read_table(storage.place.join(table.name)).to_pylist() for table in (OFFSET_COMMITS, PARTITION_OFFSETS)
    )
    assert committed in {row["group"] for row in commits}
    assert hidden not in {row["topic"] for row in (*commits, *ends)}


@pytest.mark.usefixtures("committed")
def test_who_may_describe_the_topic_and_not_read_it_is_told_so_out_of_spark(
    guarded: Guarded, storage: Storage, run_ingest: Ingest
) -> None:
    outcome, document = run_ingest(*guarded.flags("describer"))

    assert (outcome.exit_code, _names(document)) == (1, ["SOURCE_FAILED"])
    assert outcome.stderr.count("\n") == 1
    assert "this user has no right to it. Have Describe and Read allowed" in outcome.stderr
    assert "hunter2" not in outcome.stdout + outcome.stderr
    assert _files(storage) == set()


def test_a_wrong_password_is_told_at_once_and_not_repeated(guarded: Guarded, storage: Storage) -> None:
    begun = time.monotonic()
    flags = guarded.flags("operator", "hunter2-mistyped")
    outcome = run("--debug", "pipeline", "ingest", "--into", storage.into, *flags, bootstrap=None)

    assert time.monotonic() - begun < 20  # of the 30 that brokers are waited for
    assert outcome.exit_code == 1
    assert outcome.stderr.splitlines()[-1] == (
        f"Error: __consumer_offsets cannot be read from {guarded.secured}: the brokers refused the credentials. "
        "Check sasl.mechanism, sasl.username and sasl.password, or the certificate"
    )
    assert "hunter2" not in outcome.stderr


@pytest.mark.usefixtures("committed")
def test_a_password_that_works_is_in_no_plan_no_checkpoint_and_no_table(
    guarded: Guarded, storage: Storage, spark: SparkSession, run_ingest: Ingest
) -> None:
    spark.dataSource.register(KafkaGroupsSource)
    options = {f"kafka.{name}": value for name, value in guarded.client("operator").items()}
    stream = spark.readStream.format("kafka_groups").options(**options).load()
    plan = io.StringIO()
    with contextlib.redirect_stdout(plan):
        stream.explain("extended")
    assert run_ingest(*guarded.flags("operator"))[1]["records"] > 0

    assert "StreamingRelation" in plan.getvalue()
    assert SECRET not in plan.getvalue()
    kept = [path for path in Path(storage.into).rglob("*") if path.is_file()]
    assert any("offsets" in path.parts for path in kept)
    assert [path for path in kept if SECRET.encode() in path.read_bytes()] == []


@pytest.mark.usefixtures("committed")
def test_a_checkpoint_of_another_cluster_is_refused_and_nothing_is_touched(
    guarded: Guarded, broker: str, storage: Storage, run_ingest: Ingest
) -> None:
    commit(broker, fresh("elsewhere"), make_topic(broker, records=8), 1, 2)
    run_ingest("-b", broker)
    before = _files(storage)
    other = Brokers(guarded.client("operator"), 10).cluster_id()
    (home,) = Path(storage.into, ".checkpoints").iterdir()
    shutil.copytree(home, home.with_name(other))

    copied, document = run_ingest(*guarded.flags("operator"))
    assert (copied.exit_code, _names(document)) == (1, ["SOURCE_FAILED"])
    assert f"is of cluster {home.name}, and this is {other}: ask the other brokers, or name another" in copied.stderr

    owner = home.with_name(other) / "owner.json"
    owner.write_text(owner.read_text().replace(home.name, other))
    changed, document = run_ingest(*guarded.flags("operator"))
    assert (changed.exit_code, _names(document)) == (1, ["SOURCE_FAILED"])
    assert f"the checkpoint is of cluster {home.name}, but the brokers are of cluster {other}: " in changed.stderr
    assert changed.stderr.count("\n") == 1
    assert _files(storage) == before


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")
@pytest.mark.parametrize("room", [pytest.param(65_536, id="by our files"), pytest.param(16_384, id="by Spark's")])
def test_a_disk_that_fills_up_under_a_batch_is_told_and_the_next_run_brings_all(
    guarded: Guarded, topic: str, committed: str, spark: SparkSession, tmp_path: Path, mocker: MockerFixture, room: int
) -> None:
    mocker.patch("kafka_groups.pipeline.session.start_session", side_effect=lambda **_: nullcontext(spark))
    with small_disk(tmp_path / "disk", megabytes=2) as disk:
        into = str(disk / "tables")
        storage = open_storage(into, create=True)
        ballast = disk / "ballast"
        ballast.write_bytes(bytes(2**21 - room))
        for offset in range(60):
            commit(guarded.bootstrap, committed, topic, offset, metadata=token_hex(2_000))
        flags = ("--into", into, *guarded.flags("operator"), "--format", "json")
        outcome = run("pipeline", "ingest", *flags, bootstrap=None)
        document = json.loads(outcome.stdout)
        ballast.unlink()

        assert (outcome.exit_code, _names(document), outcome.stderr.count("\n")) == (1, ["STORAGE_FAILED"], 1)
        assert "no space left. Free some, and run the command again" in outcome.stderr
        assert run("pipeline", "ingest", *flags, bootstrap=None).exit_code == 0
        assert {key[2] for key in commits_in(spark, storage)} >= {committed}


def test_records_that_retention_took_unread_are_gaps_and_the_report_says_so(
    guarded: Guarded, topic: str, storage: Storage, spark: SparkSession, run_ingest: Ingest
) -> None:
    group = fresh("late")
    commit(guarded.bootstrap, group, topic, 1)
    run_ingest(*guarded.flags("operator"))
    (row,) = storage.read(spark, OFFSET_COMMITS).where(f"`group` = '{group}'").collect()
    brokers = Brokers(guarded.client("operator"), 10)
    place = row["source_partition"]
    commit(guarded.bootstrap, group, topic, 2, 3, 4)
    end = brokers.latest([place])[place]
    with guarded.settings(TOPIC, {"cleanup.policy": "delete", "retention.ms": "1", "segment.ms": "100"}):
        wait_until(lambda: brokers.earliest([place])[place] == end, lambda: "retention took nothing")
    commit(guarded.bootstrap, group, topic, 5)

    outcome, document = run_ingest(*guarded.flags("operator"))

    assert (outcome.exit_code, document["status"]) == (0, "complete")
    gaps = storage.read(spark, INGEST_GAPS).where(f"source_partition = {place} and reason = 'deleted'").collect()
    assert [(gap["from_offset"], gap["until_offset"], gap["missing"]) for gap in gaps] == [
        (row["source_offset"] + 1, end - 1, end - 1 - row["source_offset"])
    ]
    now = time.time_ns() // 1_000_000
    told = report(spark, storage, since_ms=now - 3_600_000, until_ms=now + 60_000)
    assert (
        f"Partition {place} of {TOPIC}: {gaps[0]['missing']} offsets from {gaps[0]['from_offset']} to {end - 1} were "
        "deleted before they were read."
    ) in told.gaps
