"""Tables without a row, and one small, quiet Spark for all tests that need one."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafka_groups.pipeline.store import Storage
from tests.pipeline.fact_rows import new_storage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    """Tables without a row, in Parquet."""
    return new_storage(tmp_path / "tables")


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A classic session of two cores; its files go to a directory of this run."""
    from pyspark.sql import SparkSession

    home = tmp_path_factory.mktemp("spark")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("PYSPARK_DRIVER_PYTHON", sys.executable)
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        patch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            session = (
                SparkSession.builder.master("local[2]")
                .appName("kafka-groups-tests")
                .config("spark.ui.enabled", "false")
                .config("spark.ui.showConsoleProgress", "false")
                .config("spark.driver.host", "127.0.0.1")
                .config("spark.driver.bindAddress", "127.0.0.1")
                .config("spark.sql.session.timeZone", "UTC")
                .config("spark.python.sql.dataFrameDebugging.enabled", "false")
                .config("spark.sql.shuffle.partitions", "2")
                .config("spark.default.parallelism", "2")
                .config("spark.sql.warehouse.dir", str(home / "warehouse"))
                .config("spark.local.dir", str(home / "local"))
                .config("spark.log.level", "OFF")
                .getOrCreate()
            )
        yield session
        session.stop()
