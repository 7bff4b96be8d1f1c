"""How Spark is to work on few facts: in one piece and without compiling, for both take longer than the work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SMALL_ROWS: Final = 100_000
# One task does all: no shuffle, nothing to adapt, and no code that is compiled to be run once.
_SMALL: Final = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.shuffle.partitions": "1",
}
# What lies together by (day, topic, partition) need not move to be joined by these and the time.
_LARGE: Final = {"spark.sql.requireAllClusterKeysForCoPartition": "false"}


@contextmanager
def as_small(spark: SparkSession, is_small: bool) -> Iterator[None]:  # noqa: FBT001 - the one thing it is told
    """The session works so inside of it, and as before afterwards."""
    wanted = _SMALL if is_small else _LARGE
    before = {name: spark.conf.get(name, None) for name in wanted}
    try:
        for name, value in wanted.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, old in before.items():
            if old is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, old)
