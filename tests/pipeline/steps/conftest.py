"""One build for the stories of many modules: it costs for a few facts what it costs for thousands."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Final

import pytest

from kafka_groups.pipeline.building import build
from kafka_groups.pipeline.storage import Storage
from kafka_groups.pipeline.tables import Table
from tests.pipeline.steps.making import new_storage, put_all

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Each has `facts()`, rows by table; a story is a cluster, which sees nothing of the others.
_MODULES: Final = tuple(
    f"tests.pipeline.steps.test_{name}"
    for name in ("clocks", "days", "numbers_of_days", "rebalances", "rows_of_lag", "vanished")
)


@dataclass(frozen=True)
class Stories:
    """What was built of a module's facts."""

    storage: Storage
    module: str

    def read(self, spark: SparkSession, table: Table) -> DataFrame:
        """A table's rows, as if nothing but the module's clusters were there."""
        from pyspark.sql import functions as F

        mark = _mark(self.module)
        rows = self.storage.read(spark, table).where(F.col("cluster_id").startswith(mark))
        return rows.withColumn("cluster_id", F.substring("cluster_id", len(mark) + 1, 1_000))


@pytest.fixture(scope="session")
def built_stories(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Storage:
    storage = new_storage(tmp_path_factory.mktemp("stories"))
    for module in _MODULES:
        for name, rows in import_module(module).facts().items():
            marked = [row | {"cluster_id": _mark(module) + row["cluster_id"]} for row in rows]
            put_all(storage, module.rpartition(".")[2], {name: marked})
    build(spark, storage)
    return storage


@pytest.fixture(scope="module")
def stories(built_stories: Storage, request: pytest.FixtureRequest) -> Stories:
    return Stories(built_stories, request.module.__name__)


def _mark(module: str) -> str:
    return f"{module} "
