"""Tables on an object store are those on a disk: versions, samples, builds, and commits of which one is refused."""

from __future__ import annotations

import datetime as dt
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from kafka_groups.errors import StorageError
from kafka_groups.pipeline.doctor.table_checks import check_tables
from kafka_groups.pipeline.store import Storage, open_storage, parquet_sorting
from kafka_groups.pipeline.store import delta_log as log_module
from kafka_groups.pipeline.store.compaction import CompactionResult, compact
from kafka_groups.pipeline.store.delta_log import DeltaLog
from kafka_groups.pipeline.store.retention import uniform_retention
from kafka_groups.pipeline.store.spark_tables import read_files
from kafka_groups.pipeline.tables import GROUP_EVENTS, OFFSET_COMMITS, SAMPLE_RUNS
from tests.fakes.scripted_cluster import ScriptedCluster
from tests.pipeline.build.builds import build_here, read
from tests.pipeline.fact_rows import new_storage, put_all
from tests.pipeline.facts.sample.samples import take, with_groups
from tests.pipeline.proof import DERIVED, facts_of
from tests.pipeline.store.commits import append, commits, count_rows, written
from tests.pipeline.store.object_stores import new_bucket, object_store

# It starts an object store.
pytestmark = pytest.mark.slow

NOW = dt.datetime(2026, 11, 20, tzinfo=dt.UTC)
WRITER = """
import sys
from kafka_groups.pipeline.store import open_storage
from tests.pipeline.store.commits import append, commits
storage, first = open_storage(sys.argv[1]), int(sys.argv[2])
for number in range(first, first + 4):
    append(storage, f"w-{first}", commits([number]))
"""


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with pytest.MonkeyPatch.context() as patch, object_store() as variables:
        for name, value in variables.items():
            patch.setenv(name, value)
        yield variables["AWS_ENDPOINT_URL"]


@pytest.fixture
def cluster() -> Iterator[ScriptedCluster]:
    with with_groups() as found:
        yield found


@pytest.fixture
def remote(endpoint: str) -> Storage:
    # A part of the address that looks like a column is none.
    return new_storage(f"s3://{new_bucket(endpoint)}/mes données/group=prod")


def offsets_in(storage: Storage) -> Counter[int]:
    """Return how often each offset is there, to a reader that knows nothing but the format."""
    rows = DeltaTable(f"{storage.location}/offset_commits").to_pyarrow_table()
    return Counter(rows["source_offset"].to_pylist())


def test_the_next_program_finds_rows_metadata_and_the_marker(remote: Storage) -> None:
    append(remote, "w-1", commits(range(5)), commits(range(5, 8), day=1))
    remote.save_metadata("built", {"a": 1})
    again = open_storage(remote.location)
    assert (count_rows(again, OFFSET_COMMITS), again.dates(OFFSET_COMMITS)) == (8, ["2026-11-01", "2026-11-02"])
    assert again.read_metadata("built") == {"a": 1}
    assert offsets_in(again) == Counter(range(8))
    assert check_tables(remote.location, None, None)[0].status == "ok"


def test_tasks_of_spark_read_the_columns_of_the_table_and_its_date(remote: Storage) -> None:
    append(remote, "w-1", commits(range(5)), commits(range(5, 8), day=1))
    paths = [remote.directory.address(file.path) for file in remote.files(OFFSET_COMMITS)]
    read = pa.Table.from_batches(read_files(OFFSET_COMMITS, iter([pa.RecordBatch.from_pydict({"path": paths})])))
    assert read.schema.names == [*OFFSET_COMMITS.arrow().names, "date"]
    assert read["source_offset"].to_pylist() == [*range(8)]
    assert read["group"].to_pylist() == [f"g{offset % 5}" for offset in range(8)]
    assert read["date"].to_pylist() == [dt.date(2026, 11, 1)] * 5 + [dt.date(2026, 11, 2)] * 3


def test_a_deleted_file_does_not_become_part_of_a_table(remote: Storage) -> None:
    files = written(remote, commits(range(3)))
    remote.directory.forget(files[0].path)
    with pytest.raises(StorageError, match="was deleted before it became part of its table; run the command again"):
        remote.append(files)
    assert remote.files(OFFSET_COMMITS) == []


@pytest.mark.slow
def test_small_files_are_joined_and_old_dates_removed(remote: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(4):
        append(remote, f"w-{number}", commits([number]), commits([10 + number], day=1))
    done = compact(remote, now=NOW)
    assert (done.files_before, done.files_after) == (8, 2)
    monkeypatch.setattr(log_module, "_REMOVED_FILES_H", 0)
    assert compact(remote, now=NOW, retention=uniform_retention(dt.timedelta(days=1))).removed_table_dates == (
        ("offset_commits", "2026-11-01"),
    )
    assert offsets_in(remote) == Counter(range(10, 14))
    found = remote.directory.fs.get_file_info([file.path for file in remote.files(OFFSET_COMMITS)])
    assert [info.is_file for info in found] == [True]


@pytest.mark.slow
def test_the_slower_of_two_compactions_changes_nothing(remote: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(4):
        append(remote, f"w-{number}", commits([number]), commits([10 + number], day=1))
    sort_files, faster = parquet_sorting.sort_files, list[CompactionResult]()

    def overtaken(*given: Any, **named: Any) -> Any:
        monkeypatch.setattr(parquet_sorting, "sort_files", sort_files)
        faster.append(compact(open_storage(remote.location), now=NOW))
        return sort_files(*given, **named)

    monkeypatch.setattr(parquet_sorting, "sort_files", overtaken)
    slower = compact(remote, now=NOW)
    assert [(done.files_before, done.files_after) for done in (*faster, slower)] == [(8, 2), (0, 0)]
    assert offsets_in(remote) == Counter([*range(4), *range(10, 14)])


def test_one_of_two_writers_with_the_same_transaction_is_refused(remote: Storage) -> None:
    append(remote, "w-1", commits([1]))
    one, other = DeltaLog(remote.directory, OFFSET_COMMITS), DeltaLog(remote.directory, OFFSET_COMMITS)
    assert one.transactions() == other.transactions() == {}
    one.commit(transactions={"app": 2}, expected_versions={"app": None})
    with pytest.raises(StorageError, match=r"the table s3://.*offset_commits was changed by another program meanwhile"):
        other.commit(transactions={"app": 2}, expected_versions={"app": None})


@pytest.mark.slow
def test_three_programs_that_write_at_the_same_time_lose_no_row(remote: Storage) -> None:
    append(remote, "w", commits([99]))
    running = [subprocess.Popen([sys.executable, "-c", WRITER, remote.location, str(first)]) for first in (0, 4, 8)]
    assert [process.wait(timeout=120) for process in running] == [0, 0, 0]
    assert offsets_in(remote) == Counter([99, *range(12)])


def test_a_sample_is_whole_or_absent(
    remote: Storage, cluster: ScriptedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = DeltaLog.commit

    def until_the_last(log: DeltaLog, **changes: Any) -> None:
        if log._table == SAMPLE_RUNS:
            raise KeyboardInterrupt
        commit(log, **changes)

    with monkeypatch.context() as patch:
        patch.setattr(DeltaLog, "commit", until_the_last)
        with pytest.raises(KeyboardInterrupt):
            take(cluster, remote)
    assert count_rows(remote, GROUP_EVENTS) == 0
    take(cluster, remote)
    assert (count_rows(remote, GROUP_EVENTS), count_rows(remote, SAMPLE_RUNS)) == (4, 1)


@pytest.mark.slow
def test_a_build_writes_the_same_rows_as_on_a_disk(remote: Storage, tmp_path: Path) -> None:
    local = new_storage(tmp_path / "local")
    for storage in (local, remote):
        put_all(storage, "b", facts_of(1, 1))
        build_here(storage)
    assert {name: read(remote, name) for name in DERIVED} == {name: read(local, name) for name in DERIVED}


@pytest.mark.usefixtures("endpoint")
def test_a_missing_bucket_is_reported_in_a_line_without_keys() -> None:
    with pytest.raises(StorageError, match=r"s3://nothing/x: .*The specified bucket does not exist") as raised:
        open_storage("s3://nothing/x", create=True).make()
    assert "\x1b" not in str(raised.value)
    assert "<" not in str(raised.value)
    assert "test-" not in str(raised.value)


@pytest.mark.parametrize("path", ["a#b", "a%b", "a//b"])
def test_a_path_with_a_meaning_in_uris_is_refused(path: str) -> None:
    with pytest.raises(StorageError, match="has #, % or // in its path"):
        open_storage(f"s3://bucket/{path}", create=True).make()


def test_files_of_a_killed_program_are_in_no_table(remote: Storage) -> None:
    append(remote, "w-1", commits([1]))
    lost = written(remote, commits([2]))
    assert remote.directory.info(lost[0].path).is_file
    assert offsets_in(remote) == Counter([1])


@pytest.mark.slow
def test_missing_credentials_are_reported_in_one_line(tmp_path: Path) -> None:
    known = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "AWS_EC2_METADATA_DISABLED": "true"}
    command = [sys.executable, "-m", "kafka_groups", "pipeline", "tables", "--data-dir", "s3://bucket/history"]
    done = subprocess.run(command, env=known, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("Error: cannot read the file status in s3://bucket/history: no credentials of the store")
