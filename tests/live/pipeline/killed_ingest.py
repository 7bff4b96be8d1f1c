"""An ingest that is killed, as by kill -9, around the publishing of its second batch: python killed_ingest.py ..."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from typing import Any
from unittest import mock

from kafka_groups.pipeline.ingesting import ingest
from kafka_groups.pipeline.storage import Storage, open_storage


def main(bootstrap: str, into: str, moment: str) -> None:
    from pyspark.sql import SparkSession

    publish = Storage.publish

    def killing(self: Storage, batch: str, files: Sequence[Any]) -> None:
        if moment == "after":
            publish(self, batch, files)
        if batch.endswith("-00000001"):
            os.kill(os.getpid(), signal.SIGKILL)
        if moment == "before":
            publish(self, batch, files)

    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.log.level", "ERROR").config("spark.driver.host", "127.0.0.1").getOrCreate()
    with mock.patch.object(Storage, "publish", killing):
        ingest(spark, open_storage(into), {"bootstrap.servers": bootstrap}, records_per_batch=50)


if __name__ == "__main__":
    main(*sys.argv[1:])
