"""Users without rights, and passwords: refused in one sentence that says what helps, and never printed."""

from __future__ import annotations

import contextlib
import io
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest
from confluent_kafka.admin import AclOperation, ResourceType

from kafka_groups.pipeline.api import KafkaGroupsSource
from kafka_groups.pipeline.store import Storage
from kafka_groups.pipeline.tables import OFFSET_COMMITS, PARTITION_OFFSETS
from tests.fakes.command_line import run
from tests.live.groups.topics import make_topic, unique_name
from tests.live.pipeline.offsets_topic import TOPIC, commit
from tests.live.pipeline.refusals.ingests import Ingest, files_of, names_of
from tests.live.secured_broker import SECRET, SecuredBroker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pytest_mock import MockerFixture

pytestmark = [pytest.mark.live, pytest.mark.spark]


@pytest.mark.usefixtures("committed")
def test_without_a_right_to_the_topic_spark_is_not_started(
    secured: SecuredBroker, storage: Storage, mocker: MockerFixture
) -> None:
    started = mocker.patch("kafka_groups.pipeline.spark.session.start_session")
    flags = ("--data-dir", storage.location, "--format", "json")
    outcome = run("pipeline", "ingest", *flags, bootstrap=secured.bootstrap)

    document = json.loads(outcome.stdout)
    assert (outcome.exit_code, document["status"], names_of(document)) == (1, "failed", ["SOURCE_FAILED"])
    assert outcome.stderr == (
        f"Error: __consumer_offsets cannot be read from {secured.bootstrap}: not allowed: this needs READ on "
        "that topic; allow it, or use `kafka-groups pipeline sample`, which does not need it: build derives lag and "
        "verdicts from samples\n"
    )
    assert files_of(storage) == set()
    started.assert_not_called()


def test_a_backfill_without_a_right_to_settings_succeeds_with_a_note(secured: SecuredBroker, storage: Storage) -> None:
    silent = make_topic(secured.bootstrap, records=3)
    secured.allow("ANONYMOUS", AclOperation.DESCRIBE, silent)
    flags = ("--data-dir", storage.location, "--since", "5m", "--topic", silent)
    outcome = run("pipeline", "backfill", *flags, bootstrap=secured.bootstrap)

    note, done = outcome.stderr.splitlines()
    assert (outcome.exit_code, done.startswith("Done in ")) == (0, True), outcome
    assert note == "1 topic may be compacted, which would make its past lags too large: Topic authorization failed."
    assert len(storage.files(PARTITION_OFFSETS)) > 0


def test_doctor_reports_rights_that_are_missing(secured: SecuredBroker, committed: str) -> None:
    def checks(*flags: str) -> dict[str, tuple[str, str]]:
        reported = run("pipeline", "doctor", *flags, "--format", "json", bootstrap=None).stdout
        return {check["check"]: (check["status"], check["detail"]) for check in json.loads(reported)["checks"]}

    assert committed
    status, detail = checks("-b", secured.bootstrap)[f"describe {TOPIC}"]
    assert (status, "use `kafka-groups pipeline sample`" in detail) == ("failed", True)
    with secured.cluster_rights(describer=AclOperation.DESCRIBE):
        status, detail = checks(*secured.flags("describer"))["settings of the brokers"]
    assert (status, "this check needs DESCRIBE_CONFIGS on the cluster" in detail) == ("warning", True)
    found = checks(*secured.flags("describer"))
    status, detail = found[f"read {TOPIC}"]
    assert found[f"describe {TOPIC}"][0] == "ok"
    assert (status, "not allowed: this needs READ on that topic" in detail) == ("failed", True)
    of_operator = checks(*secured.flags("operator"))
    assert of_operator[f"read {TOPIC}"][0] == "ok"
    assert of_operator[f"settings of {TOPIC}"][1].endswith(
        "kept for delete.retention.ms; run ingest more often than that"
    )
    # The same login serves our own wire.
    assert [of_operator[name][0] for name in ("list groups", "describe groups", "log end offsets")] == ["ok"] * 3


def test_doctor_reports_versions_of_brokers_and_requests_of_samples(secured: SecuredBroker, committed: str) -> None:
    reported = run("pipeline", "doctor", "--format", "json", bootstrap=secured.bootstrap).stdout

    found = {check["check"]: check for check in json.loads(reported)["checks"]}
    assert committed
    assert found["versions of the brokers"]["detail"].startswith("the brokers support metadata.version 30 (4.3-IV0); ")
    assert [found[name]["status"] for name in ("list groups", "describe groups", "log end offsets")] == ["ok"] * 3


def test_samples_are_taken_as_far_as_rights_go(
    secured: SecuredBroker, storage: Storage, topic: str, committed: str
) -> None:
    closed = unique_name("closed")
    commit(secured.bootstrap, closed, topic, 1)
    secured.allow("operator", AclOperation.READ, closed, kind=ResourceType.GROUP)

    outcome = run("pipeline", "sample", "--data-dir", storage.location, "--format", "json", bootstrap=secured.bootstrap)

    document = json.loads(outcome.stdout)
    sampled = pq.read_table(storage.directory.join(OFFSET_COMMITS.name)).to_pylist()
    assert (committed, topic, 3) in {(row["group"], row["topic"], row["committed_offset"]) for row in sampled}
    assert (outcome.exit_code, document["status"]) == (3, "partial")
    assert {(error["group"], error["name"]) for error in document["errors"]} == {(closed, "GROUP_AUTHORIZATION_FAILED")}


def test_a_user_without_a_right_to_read_the_topic_samples_and_backfills(
    secured: SecuredBroker, storage: Storage, topic: str, committed: str
) -> None:
    """As on managed clusters."""
    flags = (*secured.flags("describer", mechanism="SCRAM-SHA-512"), "--data-dir", storage.location)
    sampled = run("pipeline", "sample", *flags, bootstrap=None)
    filled = run("pipeline", "backfill", *flags, "--since", "5m", "--topic", topic, bootstrap=None)

    commits, ends = (
        pq.read_table(storage.directory.join(table.name)).to_pylist() for table in (OFFSET_COMMITS, PARTITION_OFFSETS)
    )
    # A group of another test may be closed to this user.
    assert (sampled.exit_code in {0, 3}, filled.exit_code) == (True, 0), (sampled, filled)
    assert (committed, topic, 3) in {(row["group"], row["topic"], row["committed_offset"]) for row in commits}
    assert {"sample", "backfill"} <= {row["origin"] for row in ends if row["topic"] == topic}


def test_a_login_that_is_refused_ends_a_sampler_that_has_never_sampled(
    secured: SecuredBroker, storage: Storage
) -> None:
    flags = (*secured.flags("operator", "wrong"), "--data-dir", storage.location, "--interval", "1s")
    reported = run("pipeline", "sample", *flags, bootstrap=None)
    assert (reported.exit_code, "authentication failed for user 'operator'" in reported.stderr) == (1, True)


def test_a_sample_sees_no_commits_on_a_topic_that_may_not_be_described(
    secured: SecuredBroker, storage: Storage, committed: str
) -> None:
    """So where a sample sees a commit and not its partition, the partition is deleted."""
    hidden = make_topic(secured.bootstrap, records=8)
    commit(secured.bootstrap, committed, hidden, 5)
    secured.allow("operator", AclOperation.READ, hidden)

    run("pipeline", "sample", "--data-dir", storage.location, bootstrap=secured.bootstrap)

    commits, ends = (
        pq.read_table(storage.directory.join(table.name)).to_pylist() for table in (OFFSET_COMMITS, PARTITION_OFFSETS)
    )
    assert committed in {row["group"] for row in commits}
    assert hidden not in {row["topic"] for row in (*commits, *ends)}


@pytest.mark.usefixtures("committed")
def test_ingest_fails_with_a_right_to_describe_the_topic_but_not_to_read(
    secured: SecuredBroker, storage: Storage, run_ingest: Ingest
) -> None:
    outcome, document = run_ingest(*secured.flags("describer"))

    assert (outcome.exit_code, names_of(document)) == (1, ["SOURCE_FAILED"])
    assert outcome.stderr.count("\n") == 1
    assert "not allowed: this needs READ on that topic" in outcome.stderr
    assert "hunter2" not in outcome.stdout + outcome.stderr
    assert files_of(storage) == set()


@pytest.mark.timed
def test_a_wrong_password_is_reported_at_once_and_not_repeated(secured: SecuredBroker, storage: Storage) -> None:
    begun = time.monotonic()
    flags = secured.flags("operator", "hunter2-mistyped")
    outcome = run("--debug", "pipeline", "ingest", "--data-dir", storage.location, *flags, bootstrap=None)

    assert time.monotonic() - begun < 20  # of the 30 that brokers are waited for
    assert outcome.exit_code == 1
    assert outcome.stderr.splitlines()[-1] == (
        f"Error: __consumer_offsets cannot be read from {secured.sasl_listener}: the brokers refused the credentials; "
        "check sasl.mechanism, sasl.username and sasl.password, or the certificate"
    )
    assert "hunter2" not in outcome.stderr


@pytest.mark.usefixtures("committed")
def test_a_password_that_works_is_in_no_plan_and_no_table(
    secured: SecuredBroker, storage: Storage, spark: SparkSession, run_ingest: Ingest
) -> None:
    spark.dataSource.register(KafkaGroupsSource)
    options = {f"kafka.{name}": value for name, value in secured.client("operator").items()}
    plan = io.StringIO()
    with contextlib.redirect_stdout(plan):
        spark.readStream.format("kafka_groups").options(**options).load().explain("extended")
        spark.read.format("kafka_groups").options(**options).load().explain("extended")
    assert run_ingest(*secured.flags("operator"))[1]["records"] > 0

    assert "StreamingRelation" in plan.getvalue()
    assert SECRET not in plan.getvalue()
    kept = [path for path in Path(storage.location).rglob("*") if path.is_file()]
    assert kept
    assert [path for path in kept if SECRET.encode() in path.read_bytes()] == []
