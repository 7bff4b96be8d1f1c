"""An ingest that is killed, as by kill -9, when one table has the rows of its second batch, and the others do not."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any
from unittest import mock

from kafka_groups.pipeline.facts.ingestion import ingest
from kafka_groups.pipeline.store import Storage, open_storage
from kafka_groups.pipeline.store.delta_log import DeltaLog


def main(bootstrap: str, into: str) -> None:
    from pyspark.sql import SparkSession

    append, commit = Storage.append, DeltaLog.commit
    batches: list[Any] = []

    def counting(self: Storage, *given: Any, **named: Any) -> None:
        batches.append(given)
        append(self, *given, **named)

    def dying(log: DeltaLog, **changes: Any) -> None:
        commit(log, **changes)
        if len(batches) == 2:
            os.kill(os.getpid(), signal.SIGKILL)

    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.log.level", "ERROR").config("spark.driver.host", "127.0.0.1")
    spark = builder.config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1").getOrCreate()
    with mock.patch.object(Storage, "append", counting), mock.patch.object(DeltaLog, "commit", dying):
        ingest(spark, open_storage(into), {"bootstrap.servers": bootstrap}, records_per_batch=50)


if __name__ == "__main__":
    main(*sys.argv[1:])
