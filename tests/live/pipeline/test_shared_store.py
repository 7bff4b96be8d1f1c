"""A cluster of Spark whose workers share an object store with the driver, and nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafka_groups.pipeline.facts.ingestion import ingest
from kafka_groups.pipeline.store import open_storage
from kafka_groups.pipeline.tables import OFFSET_COMMITS
from tests.live.groups.topics import make_topic, unique_name
from tests.live.pipeline.offsets_topic import commit
from tests.live.pipeline.sparks import environment, standalone
from tests.pipeline.build.builds import build_here, read
from tests.pipeline.fact_rows import new_storage
from tests.pipeline.store.commits import count_rows
from tests.pipeline.store.object_stores import new_bucket, object_store

pytestmark = [pytest.mark.live, pytest.mark.spark]

_DERIVED = ("group_daily", "group_status", "rebalances", "topic_daily", "lag_history")
_PATIENCE_S = 300


@pytest.fixture
def shared() -> Iterator[str]:
    """Return the address of tables in a new bucket; programs that are started meanwhile have the keys."""
    with pytest.MonkeyPatch.context() as patch, object_store() as variables:
        for name, value in variables.items():
            patch.setenv(name, value)
        yield f"s3://{new_bucket(variables['AWS_ENDPOINT_URL'])}/history"


def test_two_workers_ingest_build_and_report(shared: str, broker: str, spark: Any, tmp_path: Path) -> None:
    for _ in range(3):
        commit(broker, unique_name("shared"), make_topic(broker, records=8), 1, 2, 3)
    here = new_storage(tmp_path / "here")
    ingest(spark, here, {"bootstrap.servers": broker})
    build_here(here)

    with standalone(tmp_path, workers=2) as url:
        options = ("--master", url, "--driver-memory", "1g", "--spark-log", "spark.log")
        done = _run(tmp_path, "ingest", shared, "-b", broker, *options)
        built = _run(tmp_path, "build", shared, *options)
    reported = _run(tmp_path, "report", shared)

    there = open_storage(shared)
    assert count_rows(there, OFFSET_COMMITS) == count_rows(here, OFFSET_COMMITS) > 0
    for name in _DERIVED:
        assert read(there, name) == read(here, name), name
    assert done["batches"] == 1
    assert {table["table"] for table in built["tables"]} == {*_DERIVED}
    assert reported["groups"]
    # Both took part.
    assert all(list((tmp_path / f"worker-{number}").glob("app-*")) for number in range(2))


def _run(home: Path, command: str, into: str, *rest: str) -> Any:
    """Return the document of a command."""
    program = [sys.executable, "-m", "kafka_groups", "--debug", "pipeline", command, "--data-dir", into]
    done = subprocess.run(
        [*program, "--format", "json", *rest],
        cwd=home,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=_PATIENCE_S,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)
