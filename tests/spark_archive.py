"""The classes of Spark in an archive of Java, which halves the start of each session of a run.

The first test that is marked `spark` creates it in pytest's cache, where later runs find it.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pyspark
import pytest

from kafka_groups.files import lock
from kafka_groups.pipeline.spark.requirements import find_java, home_of

# Holds options of Java for every session.
OPTIONS_VARIABLE: Final = "SPARK_SUBMIT_OPTS"
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
    if item.get_closest_marker("spark") is None or OPTIONS_VARIABLE in os.environ:
        return
    java = find_java(os.environ)
    # One archive is for one Java and one Spark; Java starts without one that does not fit.
    kind = hashlib.sha256(f"{java.resolve()} {pyspark.__version__}".encode()).hexdigest()[:8]
    cache = item.config.cache
    assert cache is not None
    archive = _create_once(cache.mkdir("spark") / f"classes-{kind}.jsa", java)
    # The optimising compiler uses more time of two cores than it saves in sessions this short.
    os.environ[OPTIONS_VARIABLE] = f"-XX:SharedArchiveFile={archive} -XX:TieredStopAtLevel=1 -Xlog:disable"


def _create_once(archive: Path, java: Path) -> Path:
    with lock(archive.with_suffix(".lock"), timeout_s=_TIMEOUT_S):
        if not archive.exists():
            home = home_of(java)
            environment = os.environ | {
                OPTIONS_VARIABLE: f"-XX:ArchiveClassesAtExit={archive} -Xlog:disable",
                "PYSPARK_PYTHON": sys.executable,
                **({"JAVA_HOME": str(home)} if home else {}),
            }
            subprocess.run(
                [sys.executable, "-c", _PROGRAM], env=environment, capture_output=True, check=False, timeout=_TIMEOUT_S
            )
    return archive
