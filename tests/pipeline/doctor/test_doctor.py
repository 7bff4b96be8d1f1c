"""What the doctor says of this machine, of brokers that are not there, and of tables."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from jsonschema import Draft202012Validator

from kafka_groups.errors import SettingsError, SparkMissingError
from kafka_groups.pipeline.doctor import examine, examine_tables, measure
from kafka_groups.pipeline.doctor.check import Check
from kafka_groups.pipeline.doctor.cluster import judge_transactions
from kafka_groups.pipeline.facts.source.brokers import check_client
from kafka_groups.pipeline.facts.source.position import Position
from kafka_groups.pipeline.facts.source.table_positions import commit_batch, read_position
from kafka_groups.pipeline.store import Storage
from kafka_groups.pipeline.tables import INGEST_GAPS, UNKNOWN_RECORDS, Table
from kafka_groups.settings.librdkafka import ClientSettings
from tests.fakes.fake_admin import run
from tests.pipeline.store.commits import append, commits, written

if TYPE_CHECKING:
    from pytest_mock import MockerFixture

NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)


def rows(table: Table, *found: dict[str, Any]) -> pa.Table:
    """Rows of a table that have what is given, and null elsewhere."""
    empty = dict.fromkeys(column.name for column in table.columns)
    return pa.Table.from_pylist([{**empty, table.dated_by: NOW, **row} for row in found], schema=table.arrow())


def gap(start: int, until: int, missing: int, reason: str) -> dict[str, Any]:
    """Offsets of partition 0 that held no record."""
    found = {"cluster_id": "c", "source_partition": 0, "from_offset": start, "until_offset": until}
    return found | {"missing": missing, "reason": reason}


def checks_of(storage: Storage, cluster_id: str | None = None, log: Position | None = None) -> dict[str, Check]:
    """What is found in a directory, by the name of the check."""
    return {check.check: check for check in examine_tables(storage.into, cluster_id, log)}


def read_until(storage: Storage, cluster_id: str, ends: dict[int, int], topic_id: str | None = None) -> None:
    """Leave the tables as an ingest does: a batch of one commit ended at these offsets."""
    files = written(storage, commits([1], cluster=cluster_id))
    commit_batch(
        storage, files, cluster_id, read_position(storage, cluster_id, topic_id, ends), Position(topic_id, ends)
    )


def test_without_what_draws_charts_only_the_page_is_lacking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "plotly", None)
    (check,) = (check for check in examine(None, None, environment={}) if check.check == "plotly")
    assert (check.status, "pip install 'kafka-groups[pipeline]'" in check.detail) == ("warning", True)


def test_this_machine_is_checked_without_a_cluster() -> None:
    found = {check.check: check for check in examine(None, None, environment={"PATH": ""})}
    assert found["python"].status == found["pyspark"].status == found["pyarrow"].status == "ok"
    assert found["java"].status == "warning"
    assert found["plotly"].status == "ok"
    assert found["brokers"].status == "warning"


def test_a_missing_pyspark_is_a_warning_that_names_what_needs_it(mocker: MockerFixture) -> None:
    mocker.patch("kafka_groups.pipeline.doctor.check_pyspark", side_effect=SparkMissingError("none"))
    found = examine(None, None, environment={"PATH": ""})
    assert Check("pyspark", "warning", "none; ingest and builds of more than 100,000 facts need it") in found


def test_brokers_that_do_not_respond_fail_within_the_timeout() -> None:
    client = ClientSettings(properties={"bootstrap.servers": "127.0.0.1:1"}, timeout_s=0.5)
    (brokers,) = (check for check in examine(client, None, environment={"PATH": ""}) if check.check == "brokers")
    assert brokers.status == "failed"
    assert "127.0.0.1:1" in brokers.detail


def test_properties_that_librdkafka_does_not_take_are_a_setting_that_cannot_be_used() -> None:
    with pytest.raises(SettingsError, match=r"no\.such"):
        check_client({"bootstrap.servers": "127.0.0.1:1", "no.such": "1"})


def test_fresh_tables_are_well_except_for_an_ingest_that_never_ran(storage: Storage) -> None:
    found = checks_of(storage)
    assert {name: check.status for name, check in found.items()} == {
        "tables": "ok",
        "unknown records": "ok",
        "gaps": "ok",
        "ingest": "warning",
    }
    assert found["tables"].detail == "schema version 3; no rows yet"


def test_unknown_records_are_reported_by_type(storage: Storage) -> None:
    kinds = [(24, 0), (24, 0), (1, 9)]
    found = [
        {"cluster_id": "c", "source_partition": 0, "source_offset": at, "record_type": kind, "value_version": version}
        for at, (kind, version) in enumerate(kinds)
    ]
    append(storage, "x", rows(UNKNOWN_RECORDS, *found), table=UNKNOWN_RECORDS)
    # What was read again does not count twice.
    append(storage, "y", rows(UNKNOWN_RECORDS, *found[:2]), table=UNKNOWN_RECORDS)
    check = checks_of(storage)["unknown records"]
    assert check.status == "warning"
    assert check.detail.startswith(
        "3 records were not decoded, and are kept (type 24 version 0: 2, type 1 version 9: 1)"
    )


def test_records_that_were_deleted_unread_are_a_warning_and_compacted_ones_are_none(storage: Storage) -> None:
    append(storage, "x", rows(INGEST_GAPS, gap(0, 99, 5, "compacted")), table=INGEST_GAPS)
    assert checks_of(storage)["gaps"] == Check("gaps", "ok", "compacted: 5 offsets")
    append(storage, "y", rows(INGEST_GAPS, gap(0, 1_199, 1_200, "deleted")), table=INGEST_GAPS)
    assert checks_of(storage)["gaps"] == Check("gaps", "warning", "compacted: 5 offsets, deleted: 1,200 offsets")


@pytest.mark.parametrize(
    ("again", "reported"),
    [
        ([(0, 49, 50), (50, 99, 50)], "100"),  # the same, cut otherwise
        ([(0, 149, 150)], "150"),
        ([(50, 149, 100)], "150"),
        ([(100, 149, 50)], "150"),
    ],
)
def test_a_range_that_is_reported_again_counts_once(
    storage: Storage, again: list[tuple[int, int, int]], reported: str
) -> None:
    """A topic that is read again is cut into other pieces."""
    append(storage, "x", rows(INGEST_GAPS, gap(0, 99, 100, "deleted")), table=INGEST_GAPS)
    append(storage, "y", rows(INGEST_GAPS, *(gap(*each, "deleted") for each in again)), table=INGEST_GAPS)
    append(storage, "z", rows(INGEST_GAPS, gap(0, 9, 10, "deleted") | {"source_partition": 1}), table=INGEST_GAPS)
    assert checks_of(storage)["gaps"].detail == f"deleted: {int(reported) + 10} offsets"


def test_ingest_is_as_far_behind_as_its_cluster_is_ahead(storage: Storage) -> None:
    read_until(storage, "mine", {0: 10, 1: 5})
    ingest = checks_of(storage, "mine", Position(None, {0: 12, 1: 5, 2: 3}))["ingest"]
    assert ingest == Check("ingest", "ok", "5 offsets are left to read")
    assert checks_of(storage)["ingest"].detail == "it has run for mine"
    assert checks_of(storage, "other", Position(None, {0: 1}))["ingest"].status == "warning"


def test_a_topic_that_is_not_the_one_that_was_read_fails(storage: Storage) -> None:
    read_until(storage, "mine", {0: 10, 1: 5}, "old")
    recreated = checks_of(storage, "mine", Position("new", {0: 12, 1: 8}))["ingest"]
    cut = checks_of(storage, "mine", Position("old", {0: 12, 1: 4}))["ingest"]
    deleted = checks_of(storage, "mine", Position(None, {}))["ingest"]
    assert {found.status for found in (recreated, cut, deleted)} == {"failed"}
    assert "was recreated: its topic id is new now" in recreated.detail
    assert "partition 1 of __consumer_offsets ends at 4, but was read up to offset 5" in cut.detail
    assert "use a new directory (--data-dir)" in cut.detail
    assert "__consumer_offsets was read, and does not exist any more" in deleted.detail


def test_ends_that_are_not_known_are_no_sign_that_all_was_read(storage: Storage) -> None:
    read_until(storage, "mine", {0: 10})
    found = checks_of(storage, "mine")["ingest"]
    assert (found.status, "its backlog is unknown" in found.detail) == ("warning", True)


@pytest.mark.parametrize(
    ("begun", "status", "since"),
    [
        ({3: 1_000, 4: 300_999}, "ok", ", the oldest open since 1970-01-01T00:00:01Z"),
        ({3: 999, 4: 300_999}, "warning", ", the oldest open since 1970-01-01T00:00:00Z"),
        ({4: None}, "ok", ""),
        ({}, "ok", ""),
    ],
)
def test_a_transaction_that_is_open_for_minutes_is_a_warning(
    begun: dict[int, int | None], status: str, since: str
) -> None:
    found = judge_transactions({3: (10, 17), 4: (10, 12)}, begun, now_ms=300_999)
    assert found.status == status
    assert found.detail.startswith(f"9 offsets of partitions 3, 4 wait for transactions to end{since}: until then")


def test_no_open_transaction_is_no_delay() -> None:
    assert judge_transactions({}, {}, now_ms=1).detail == "no open transaction delays ingest"


def test_a_directory_that_is_not_ours_fails_and_stays_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "letters").write_text("mine")
    (found,) = examine_tables(str(tmp_path), None, None)
    assert (found.check, found.status) == ("tables", "failed")
    assert [path.name for path in tmp_path.iterdir()] == ["letters"]


def test_a_file_that_is_no_parquet_fails_by_the_name_of_its_table(storage: Storage) -> None:
    append(storage, "x", rows(INGEST_GAPS, {"missing": 5, "reason": "compacted"}), table=INGEST_GAPS)
    (file,) = Path(storage.into).glob("ingest_gaps/*/*.parquet")
    file.write_bytes(b"no parquet")
    found = checks_of(storage)["tables"]
    assert found.status == "failed"
    assert f"cannot read the table {storage.into}/ingest_gaps: " in found.detail


def test_a_table_is_measured_by_its_files(storage: Storage) -> None:
    append(storage, "x", rows(INGEST_GAPS, {"missing": 5}, {"missing": 6}), table=INGEST_GAPS)
    sizes = measure(storage)
    size = sizes["ingest_gaps"]
    assert (size.rows, size.files, size.first_date, size.last_date) == (2, 1, "2026-11-01", "2026-11-01")
    assert size.bytes > 100
    assert sizes["offset_commits"] == (0, 0, 0, None, None)
    shown = run("pipeline", "tables", "--data-dir", storage.into).stdout
    assert "ingest_gaps           2      1" in shown


def test_the_command_fails_if_a_check_does(storage: Storage, mocker: MockerFixture) -> None:
    found = [Check("java", "ok", "17"), Check("brokers", "failed", "away")]
    examined = mocker.patch("kafka_groups.pipeline.doctor.examine", return_value=found)
    outcome = run("pipeline", "doctor", "--data-dir", storage.into)
    table = "CHECK    STATUS  DETAIL\njava     ok      17\nbrokers  failed  away\n"
    assert outcome == (3, table, "Failed checks: 1.\n")
    assert examined.call_args.args[0].properties["bootstrap.servers"] == "b1:9092"
    document = json.loads(run("pipeline", "doctor", "--format", "json").stdout)
    Draft202012Validator(json.loads(run("schema", "pipeline-doctor").stdout)).validate(document)
    assert document["checks"][1] == {"check": "brokers", "status": "failed", "detail": "away"}
    assert (document["status"], [error["message"] for error in document["errors"]]) == ("partial", ["brokers: away"])
    assert [
        json.loads(line)["check"] for line in run("pipeline", "doctor", "--format", "ndjson").stdout.splitlines()
    ] == [
        "java",
        "brokers",
    ]


def test_without_a_cluster_the_command_sends_no_request(mocker: MockerFixture) -> None:
    examined = mocker.patch("kafka_groups.pipeline.doctor.examine", return_value=[Check("java", "warning", "x")])
    assert run("pipeline", "doctor", bootstrap=None).exit_code == 0
    assert examined.call_args.args[:2] == (None, None)
