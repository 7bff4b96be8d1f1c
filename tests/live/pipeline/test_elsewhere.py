"""The commands give the same tables on a Spark Connect server. On a cluster: test_shared_store.py."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kafka_groups.pipeline.facts.ingestion import ingest
from kafka_groups.pipeline.store import Storage, open_storage
from kafka_groups.pipeline.tables import GROUP_EVENTS, OFFSET_COMMITS, TABLES, Table
from tests.live.groups.topics import make_topic, unique_name
from tests.live.pipeline.filled_tables import FilledTables
from tests.live.pipeline.offsets_topic import commit, commits_in, read_directly
from tests.live.pipeline.sparks import connect_server, environment
from tests.pipeline.fact_rows import new_storage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.live, pytest.mark.spark]

_INTO = "tables"  # a path that means something to the command alone: a server has another working directory
_PATIENCE_S = 600
_DERIVED = [table for table in TABLES.values() if table.is_derived]
_MADE_BY_A_BUILD = (*(table.name for table in _DERIVED), "partition_state", "group_state", "build.json")


@dataclass(frozen=True, kw_only=True)
class Place:
    """Options that name the server, and what two commands do there: each in a home of its own."""

    flags: list[str]
    home: Path
    ingested: Future[Any]
    built: Future[Any]

    def after(self, command: str) -> tuple[Any, Storage]:
        """The command's document and its tables, once it has ended."""
        document = (self.ingested if command == "ingest" else self.built).result()
        return document, open_storage(str(self.home / command / _INTO))


@pytest.fixture(scope="module")
def here(spark: SparkSession, filled: FilledTables, broker: str, tmp_path_factory: pytest.TempPathFactory) -> Storage:
    """What a classic session in this process reads, after all that happened to the groups."""
    assert filled.storage.location
    storage = new_storage(tmp_path_factory.mktemp("here") / _INTO)
    ingest(spark, storage, {"bootstrap.servers": broker})
    return storage


@pytest.fixture(scope="module")
def place(
    filled: FilledTables, here: Storage, broker: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Place]:
    """An ingest and a build at the same time: most of either is its start, which uses one core."""
    assert here.location
    home = tmp_path_factory.mktemp("server")
    (home / "ingest").mkdir()
    shutil.copytree(
        filled.storage.directory.root, home / "build" / _INTO, ignore=shutil.ignore_patterns(*_MADE_BY_A_BUILD)
    )
    with connect_server(home) as url, ThreadPoolExecutor(2) as pool:
        flags = ["--remote", url]
        yield Place(
            flags=flags,
            home=home,
            ingested=pool.submit(_run, home / "ingest", "ingest", "-b", broker, *flags),
            built=pool.submit(_run, home / "build", "build", *flags),
        )


def test_an_ingest_on_another_spark_writes_the_same_rows(place: Place, spark: SparkSession, here: Storage) -> None:
    done, there = place.after("ingest")

    for table in (OFFSET_COMMITS, GROUP_EVENTS):
        assert _rows(spark, there, table) == _rows(spark, here, table) != []
    assert done["batches"] == 1


def test_a_build_on_another_spark_makes_the_same_tables(
    place: Place, spark: SparkSession, filled: FilledTables
) -> None:
    done, there = place.after("build")

    for table in _DERIVED:
        assert _rows(spark, there, table) == _rows(spark, filled.storage, table), table.name
    rows = {table["table"]: table["rows"] for table in done["tables"]}
    assert rows["rebalances"] == filled.storage.read(spark, TABLES["rebalances"]).count() > 0


def test_a_second_ingest_on_a_server_continues(place: Place, spark: SparkSession, broker: str) -> None:
    home, (_, there) = place.home, place.after("ingest")
    commit(broker, unique_name("later"), make_topic(broker, records=8), 1, 2, 3)

    later = _run(home / "ingest", "ingest", "-b", broker, *place.flags)

    assert later["tables"] == [{"table": "offset_commits", "rows": 3}]
    assert commits_in(spark, there) == read_directly(broker)


def _run(home: Path, command: str, *rest: str) -> Any:
    """The command's document; its working directory is `home`."""
    program = [sys.executable, "-m", "kafka_groups", "--debug", "pipeline", command, "--data-dir", _INTO]
    done = subprocess.run(
        [*program, "--format", "json", "--driver-memory", "1g", "--spark-log", f"{command}.log", *rest],
        cwd=home,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=_PATIENCE_S,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


def _rows(spark: SparkSession, storage: Storage, table: Table, where: str = "true") -> Sequence[str]:
    columns = [f"`{column.name}`" for column in table.columns]
    return sorted(map(repr, storage.read(spark, table).where(where).select(*columns).collect()))
