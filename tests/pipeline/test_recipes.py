"""The Python code of docs/pipeline.md, run on tables."""

from __future__ import annotations

import re
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

import kafka_groups
from tests.pipeline.build.builds import build_here
from tests.pipeline.fact_rows import NOON, commit, ends, new_storage, put_all

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PAGE = Path(kafka_groups.__file__).parents[2] / "docs/pipeline.md"


def block(begin: str) -> str:
    """Return the block of Python on the page that has this line."""
    blocks = re.findall(r"^```python\n(.*?)^```", _PAGE.read_text(), re.MULTILINE | re.DOTALL)
    found = [code for code in blocks if begin in code]
    assert len(found) == 1, begin
    return str(found[0])


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables of an hour ago, in `history` of this directory: `billing-1` has a lag of 40."""
    path = tmp_path_factory.mktemp("recipes")
    storage = new_storage(path / "history")
    ago = (datetime.now(UTC) - timedelta(hours=1) - NOON).total_seconds()
    put_all(
        storage,
        "b",
        {
            "offset_commits": [commit(ago + 60 * step, 10 * step, source=step, group="billing-1") for step in range(9)],
            "partition_offsets": [ends(ago + 60 * step + 1, 10 * step + 40) for step in range(9)],
        },
    )
    build_here(storage)
    return path


@pytest.fixture
def history(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tables in the working directory."""
    monkeypatch.chdir(built)


def run_block(begin: str, **names: Any) -> dict[str, Any]:
    made: dict[str, Any] = dict(names)
    exec(block(begin), made)
    return made


def test_recipes_for_another_spark_name_what_all_of_its_machines_reach() -> None:
    page = _PAGE.read_text().replace("\\\n", "")
    on_another_spark = re.compile(r"^kafka-groups .* --(master|remote) |spark-submit --")
    commands = [line for line in page.splitlines() if on_another_spark.search(line)]
    assert len(commands) == 3
    for command in commands:
        assert "localhost" not in command
        assert re.search(r"--data-dir (/|s3://)", command), command


@pytest.mark.usefixtures("history")
def test_functions_build_and_report(capsys: pytest.CaptureFixture[str]) -> None:
    made = run_block("from kafka_groups.pipeline.api import build, report")
    assert made["built"].dates == ()
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("billing-1 ")
    assert " 40 " in line


@pytest.mark.usefixtures("history")
def test_pandas_reads_days() -> None:
    assert run_block("import pyarrow.parquet as pq")["days"]["max_lag"].max() == 40


@pytest.mark.usefixtures("history")
def test_polars_reads_the_last_status_of_each_group() -> None:
    last = run_block("import polars as pl")["last"]
    assert last.select("group", "lag").rows() == [("billing-1", 40)]


@pytest.mark.usefixtures("history")
def test_duckdb_reads_lag() -> None:
    assert run_block("import duckdb")["worst"] == [("t", 0, 40)]


@pytest.mark.spark
@pytest.mark.usefixtures("history")
def test_spark_reads_a_table(spark: SparkSession) -> None:
    lag = run_block("from kafka_groups.pipeline.api import read_table", spark=spark)["lag"]
    assert (lag.count(), lag.columns[-1]) == (9, "date")


@pytest.mark.usefixtures("history")
def test_the_tasks_of_airflow_call_the_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Airflow itself is not installed: its decorators run the tasks at once."""
    sdk, pendulum, called = ModuleType("airflow.sdk"), ModuleType("pendulum"), list[Any]()
    vars(sdk).update(dag=lambda **_: lambda function: function, task=lambda function: function)
    vars(pendulum).update(datetime=datetime)
    for name, module in (("airflow", ModuleType("airflow")), ("airflow.sdk", sdk), ("pendulum", pendulum)):
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr("kafka_groups.pipeline.api.ingest", lambda *given: called.append(given))
    monkeypatch.setattr("kafka_groups.pipeline.api.build", lambda data_dir, **given: called.append((data_dir, given)))
    monkeypatch.setattr("pyspark.sql.SparkSession.builder", FakeBuilder())
    code = block("from airflow.sdk import dag, task").replace("s3://my-bucket/history", "history")
    exec(code.replace("return build(HISTORY, spark=spark).missing", "build(HISTORY, spark=spark)"), {})
    assert called == [("session", {"bootstrap.servers": "broker-1:9092"}, "history"), ("history", {"spark": "session"})]


class FakeBuilder:
    """A builder of Spark sessions that returns a text."""

    def master(self, _url: str) -> FakeBuilder:
        return self

    def getOrCreate(self) -> str:  # noqa: N802 - Spark's name
        return "session"
