"""The commands give the same tables wherever their Spark is."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kafka_groups.pipeline.building import build
from kafka_groups.pipeline.ingesting import ingest
from kafka_groups.pipeline.sampling import sample
from kafka_groups.pipeline.storage import Storage, open_storage
from kafka_groups.pipeline.tables import GROUP_EVENTS, OFFSET_COMMITS, TABLES, Table
from tests.live.groups.asking import admin_of
from tests.live.groups.members import stable
from tests.live.groups.topics import fresh, make_topic
from tests.live.pipeline.offsets_topic import commit, commits_in, read_directly
from tests.live.pipeline.sparks import connect_server, environment, standalone
from tests.live.pipeline.told import now_ms

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.live, pytest.mark.spark]

_INTO = "tables"  # a path that means something to the command alone: a server has another working directory
_PATIENCE_S = 240


@pytest.fixture(scope="module")
def here(spark: SparkSession, broker: str, tmp_path_factory: pytest.TempPathFactory) -> Storage:
    """What a classic session in this process makes of a few groups."""
    storage = open_storage(str(tmp_path_factory.mktemp("here") / _INTO), create=True)
    topic = make_topic(broker, records=8)
    with stable(broker, topic, commits=[(topic, 0, 3)]), admin_of(broker) as admin:
        for number in range(6):
            commit(broker, fresh("committing"), topic, *range(number + 1))
        for _ in range(2):
            sample(admin, storage, cluster_id=admin.cluster_id(), now_ms=now_ms)
    ingest(spark, storage, {"bootstrap.servers": broker})
    build(spark, storage)
    return storage


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    with connect_server(tmp_path_factory.mktemp("connect-server")) as url:
        yield ["--remote", url]


@pytest.fixture(scope="module", params=["connect-local", "connect-server", "standalone"])
def flags(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """What a command is told of a Spark."""
    if request.param == "connect-local":
        yield ["--remote", "local[2]"]
    elif request.param == "connect-server":
        yield request.getfixturevalue("server")
    else:
        with standalone(tmp_path_factory.mktemp("standalone")) as url:
            yield ["--master", url]


def test_an_ingest_elsewhere_brings_the_same_rows(
    flags: list[str], spark: SparkSession, here: Storage, broker: str, tmp_path: Path
) -> None:
    done = _run(tmp_path, "ingest", "-b", broker, *flags)

    there = open_storage(str(tmp_path / _INTO))
    for table in (OFFSET_COMMITS, GROUP_EVENTS):
        assert _rows(spark, there, table) == _rows(spark, here, table, "origin = 'topic'") != []
    assert done["batches"] == 1


def test_a_build_elsewhere_makes_the_same_tables(
    flags: list[str], spark: SparkSession, here: Storage, tmp_path: Path
) -> None:
    derived = [table for table in TABLES.values() if table.derived]
    made = shutil.ignore_patterns(*(table.name for table in derived), "build.json")
    shutil.copytree(here.place.root, tmp_path / _INTO, ignore=made)

    done = _run(tmp_path, "build", *flags)

    there = open_storage(str(tmp_path / _INTO))
    for table in derived:
        assert _rows(spark, there, table) == _rows(spark, here, table), table.name
    assert {"table": "rebalances", "rows": here.read(spark, TABLES["rebalances"]).count()} in done["tables"]


def test_a_second_run_on_a_server_goes_on_where_the_first_one_stopped(
    server: list[str], spark: SparkSession, broker: str, tmp_path: Path
) -> None:
    _run(tmp_path, "ingest", "-b", broker, *server)
    commit(broker, fresh("later"), make_topic(broker, records=8), 1, 2, 3)
    later = _run(tmp_path, "ingest", "-b", broker, *server)

    assert later["tables"] == [{"table": "offset_commits", "rows": 3}]
    assert commits_in(spark, open_storage(str(tmp_path / _INTO))) == read_directly(broker)


def test_a_report_from_a_server_tells_of_the_same_groups(server: list[str], here: Storage, tmp_path: Path) -> None:
    shutil.copytree(here.place.root, tmp_path / _INTO)

    assert _run(tmp_path, "report", *server)["groups"] == _run(tmp_path, "report", "--master", "local[2]")["groups"]


def _run(home: Path, command: str, *rest: str) -> Any:
    """The command's document; its working directory is `home`."""
    program = [sys.executable, "-m", "kafka_groups", "--debug", "pipeline", command, "--into", _INTO]
    done = subprocess.run(
        [*program, "--format", "json", "--driver-memory", "1g", "--spark-log", "log", *rest],
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
