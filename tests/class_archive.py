"""Spark's classes as a JVM has them in memory, kept in a file (JEP 350): JVMs that use it start in half the time.

Made by a program of this package under spark-submit, which ends when the JVM has written the file.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

_OPTIONS: Final = "SPARK_SUBMIT_OPTS"
_LONGEST_S: Final = 300
# A JVM says on its standard output what it leaves out.
_MAKING: Final = "-XX:ArchiveClassesAtExit={file} -Xlog:disable"
_USING: Final = "-XX:SharedArchiveFile={file} -Xlog:cds*=off"


def make_archive(file: Path) -> dict[str, str]:
    """What the environment of JVMs has to say so that they use the file; nothing if it could not be made."""
    import pyspark

    from kafka_groups.pipeline.session.java import find_java, home_of

    home = home_of(find_java(os.environ))
    spark = Path(pyspark.__file__).parent
    told = {"SPARK_HOME": str(spark), "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_DRIVER_PYTHON": sys.executable}
    told |= {"PYSPARK_PYTHON": sys.executable, _OPTIONS: _MAKING.format(file=file)}
    told |= {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    told |= {} if home is None else {"JAVA_HOME": str(home)}
    master = ["--master", "local[2]", "--driver-java-options", "-XX:TieredStopAtLevel=1"]
    with tempfile.TemporaryFile() as said:
        subprocess.run(
            [spark / "bin" / "spark-submit", *master, __file__],
            env=os.environ | told,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
            check=False,
            timeout=_LONGEST_S,
        )
    return {_OPTIONS: _USING.format(file=file)} if file.exists() else {}


def _use_spark() -> None:
    """A little of what tests do most: rows are written, read, sorted, joined and summed up."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    from kafka_groups.pipeline.session import start_session

    with tempfile.TemporaryDirectory() as home, start_session(log=Path(home, "log")) as spark:
        times = F.timestamp_millis(F.col("id") * 60_000)
        spark.range(1_000).select("id", (F.col("id") % 7).alias("key"), times.alias("at")).write.parquet(f"{home}/rows")
        rows = spark.read.parquet(f"{home}/rows").where("at is not null").localCheckpoint()
        in_time = Window.partitionBy("key").orderBy("at")
        counted = rows.withColumn("before", F.lag("id").over(in_time)).groupBy("key").agg(F.max("before").alias("most"))
        rows.join(counted, "key", "left").orderBy("id").collect()


if __name__ == "__main__":
    _use_spark()
