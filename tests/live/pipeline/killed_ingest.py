"""An ingest that is killed, as by kill -9, before, after or amid the commit of its second batch."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any
from unittest import mock

from kafka_groups.pipeline.ingestion import ingest
from kafka_groups.pipeline.storage import Storage, open_storage
from kafka_groups.pipeline.storage.delta_log import DeltaLog


def main(bootstrap: str, into: str, moment: str) -> None:
    from pyspark.sql import SparkSession

    append, commit = Storage.append, DeltaLog.commit
    batches: list[Any] = []

    def die() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def killing(self: Storage, *given: Any, **named: Any) -> None:
        batches.append(given)
        if len(batches) == 2 and moment == "before":
            die()
        append(self, *given, **named)
        if len(batches) == 2 and moment == "after":
            die()

    def dying(log: DeltaLog, **changes: Any) -> None:
        """Die when one table of the batch has its rows, and the other does not."""
        commit(log, **changes)
        if len(batches) == 2 and moment == "amid":
            die()

    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.log.level", "ERROR").config("spark.driver.host", "127.0.0.1").getOrCreate()
    with mock.patch.object(Storage, "append", killing), mock.patch.object(DeltaLog, "commit", dying):
        ingest(spark, open_storage(into), {"bootstrap.servers": bootstrap}, records_per_batch=50)


if __name__ == "__main__":
    main(*sys.argv[1:])
