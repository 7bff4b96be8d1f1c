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
    """Much of what tests do: facts are written, a build makes tables of them, and a report reads those."""
    from kafka_groups.pipeline.building import build
    from kafka_groups.pipeline.reporting import report
    from kafka_groups.pipeline.session import start_session
    from tests.pipeline.steps.facts import facts
    from tests.pipeline.steps.making import NOON, new_storage, put_all

    with tempfile.TemporaryDirectory() as home, start_session(log=Path(home, "log")) as spark:
        storage, noon_ms = new_storage(Path(home, "tables")), int(NOON.timestamp() * 1_000)
        put_all(storage, "facts", facts())
        build(spark, storage)
        report(spark, storage, since_ms=noon_ms - 3_600_000, until_ms=noon_ms + 3_600_000)


if __name__ == "__main__":
    _use_spark()
