"""A backup that is restored, a full disk, deleted records: tables stay whole."""

from __future__ import annotations

import json
import os
import shutil
import time
from contextlib import nullcontext
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING

import pytest

from kafka_groups.pipeline.facts.source.brokers import Brokers
from kafka_groups.pipeline.report.history_reader import read_history
from kafka_groups.pipeline.store import Storage
from kafka_groups.pipeline.tables import INGEST_GAPS, OFFSET_COMMITS
from tests.fakes.command_line import run
from tests.live.groups.conditions import wait_until
from tests.live.groups.topics import make_topic, unique_name
from tests.live.pipeline.offsets_topic import TOPIC, commit, commits_in, places, places_in
from tests.live.pipeline.refusals.ingests import Ingest, names_of
from tests.live.secured_broker import SecuredBroker
from tests.pipeline.fact_rows import new_storage
from tests.pipeline.store.disks import small_disk

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pytest_mock import MockerFixture

pytestmark = [pytest.mark.live, pytest.mark.spark]


def test_tables_of_a_backup_go_on_from_their_own_position(
    broker: str, storage: Storage, spark: SparkSession, run_ingest: Ingest, tmp_path: Path
) -> None:
    topic, group = make_topic(broker, records=8), unique_name("restored")
    commit(broker, group, topic, 1)
    run_ingest("-b", broker)
    shutil.copytree(storage.location, tmp_path / "backup")
    commit(broker, group, topic, 2)
    run_ingest("-b", broker)
    shutil.rmtree(storage.location)
    shutil.copytree(tmp_path / "backup", storage.location)
    commit(broker, group, topic, 3)

    outcome, document = run_ingest("-b", broker)

    assert (outcome.exit_code, document["status"]) == (0, "complete")
    assert places_in(spark, storage) == places(broker)


def test_a_table_older_than_the_others_gets_its_rows_and_none_twice(
    broker: str, storage: Storage, spark: SparkSession, run_ingest: Ingest, tmp_path: Path
) -> None:
    """The state of a run that was killed between two tables, and of a backup that was made meanwhile."""
    topic, group = make_topic(broker, records=8), unique_name("behind")
    commit(broker, group, topic, 1)
    run_ingest("-b", broker)
    table = Path(storage.location, OFFSET_COMMITS.name)
    shutil.copytree(table, tmp_path / "older")
    commit(broker, group, topic, 2)
    run_ingest("-b", broker)
    shutil.rmtree(table)
    shutil.copytree(tmp_path / "older", table)

    outcome, _ = run_ingest("-b", broker)

    assert outcome.exit_code == 0
    assert places_in(spark, storage) == places(broker)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")
def test_the_next_run_writes_all_after_a_disk_filled_up_in_a_batch(
    secured: SecuredBroker,
    topic: str,
    committed: str,
    spark: SparkSession,
    tmp_path: Path,
    mocker: MockerFixture,
) -> None:
    mocker.patch("kafka_groups.pipeline.spark.session.start_session", side_effect=lambda **_: nullcontext(spark))
    with small_disk(tmp_path / "disk", megabytes=2) as disk:
        into = str(disk / "tables")
        storage = new_storage(Path(into))
        ballast = disk / "ballast"
        ballast.write_bytes(bytes(2**21 - 65_536))
        for offset in range(60):
            commit(secured.bootstrap, committed, topic, offset, metadata=token_hex(2_000))
        flags = ("--data-dir", into, *secured.flags("operator"), "--format", "json")
        outcome = run("pipeline", "ingest", *flags, bootstrap=None)
        document = json.loads(outcome.stdout)
        ballast.unlink()

        assert (outcome.exit_code, names_of(document), outcome.stderr.count("\n")) == (1, ["STORAGE_FAILED"], 1)
        assert "no space is left on the file system; free some, and run the command again" in outcome.stderr
        assert run("pipeline", "ingest", *flags, bootstrap=None).exit_code == 0
        assert {key[2] for key in commits_in(spark, storage)} >= {committed}


def test_records_that_retention_took_unread_are_gaps_and_the_report_says_so(
    secured: SecuredBroker, topic: str, storage: Storage, spark: SparkSession, run_ingest: Ingest
) -> None:
    group = unique_name("late")
    commit(secured.bootstrap, group, topic, 1)
    run_ingest(*secured.flags("operator"))
    (row,) = storage.read(spark, OFFSET_COMMITS).where(f"`group` = '{group}'").collect()
    brokers = Brokers(secured.client("operator"), 10)
    place = row["source_partition"]
    commit(secured.bootstrap, group, topic, 2, 3, 4)
    end = brokers.end_offsets([place])[place]
    with secured.settings(TOPIC, {"cleanup.policy": "delete", "retention.ms": "1", "segment.ms": "100"}):
        wait_until(lambda: brokers.log_start_offsets([place])[place] == end, lambda: "retention took nothing")
    commit(secured.bootstrap, group, topic, 5)

    outcome, document = run_ingest(*secured.flags("operator"))

    assert (outcome.exit_code, document["status"]) == (0, "complete")
    gaps = storage.read(spark, INGEST_GAPS).where(f"source_partition = {place} and reason = 'deleted'").collect()
    assert [(gap["first_offset"], gap["last_offset"], gap["missing"]) for gap in gaps] == [
        (row["source_offset"] + 1, end - 1, end - 1 - row["source_offset"])
    ]
    now = time.time_ns() // 1_000_000
    reported = read_history(storage, since_ms=now - 3_600_000, until_ms=now + 60_000)
    assert (
        f"Partition {place} of {TOPIC}: {gaps[0]['missing']} offsets from {gaps[0]['first_offset']} to {end - 1} were "
        "deleted before they were read."
    ) in reported.gaps
