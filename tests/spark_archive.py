"""The classes of Spark in an archive of Java, which halves the start of each session of a run.

The first test of the run that is marked `spark` creates it. Java starts without it where it does not fit.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from kafka_groups.files import lock
from kafka_groups.pipeline.spark.java import find_java, home_of
from tests.runs import directory_of

_OPTIONS: Final = "SPARK_SUBMIT_OPTS"
_TIMEOUT_S: Final = 300
# A session with the steps of a build: rows to Python and back, sorted in between.
_PROGRAM: Final = """
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
rows = spark.createDataFrame([(number, str(number)) for number in range(100)], "a long, b string")
rows.repartition(2, "b").sortWithinPartitions("a").mapInArrow(lambda batches: batches, "a long, b string").toArrow()
spark.stop()
"""


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Let every Java that Spark starts use the archive."""
    if item.get_closest_marker("spark") is not None and _OPTIONS not in os.environ:
        archive = _create_once(directory_of(item.config))
        os.environ[_OPTIONS] = f"-XX:SharedArchiveFile={archive} -Xlog:disable"


def _create_once(directory: Path) -> Path:
    archive = directory / "spark.jsa"
    with lock(directory / "spark.archiving", timeout_s=_TIMEOUT_S):
        if not archive.exists():
            java = home_of(find_java(os.environ))
            environment = os.environ | {
                _OPTIONS: f"-XX:ArchiveClassesAtExit={archive} -Xlog:disable",
                "PYSPARK_PYTHON": sys.executable,
                **({"JAVA_HOME": str(java)} if java else {}),
            }
            subprocess.run(
                [sys.executable, "-c", _PROGRAM], env=environment, capture_output=True, check=False, timeout=_TIMEOUT_S
            )
    return archive
