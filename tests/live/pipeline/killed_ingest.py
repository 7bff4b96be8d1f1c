"""An ingest that is killed, as by kill -9, before, after or amid publishing its second batch: killed_ingest.py ..."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from typing import Any
from unittest import mock

from kafka_groups.pipeline.ingesting import ingest
from kafka_groups.pipeline.storage import Storage, open_storage, publishing


def main(bootstrap: str, into: str, moment: str) -> None:
    from pyspark.sql import SparkSession

    publish, put_in = Storage.publish, publishing.put_in
    under_way: list[str] = []

    def die() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def killing(self: Storage, batch: str, files: Sequence[Any]) -> None:
        is_second = batch.endswith("-00000001")
        if is_second and moment == "before":
            die()
        under_way.append(batch)
        publish(self, batch, files)
        if is_second and moment == "after":
            die()

    def dying(*told: Any) -> None:
        """One table of the batch is in its place by then, the other is not."""
        put_in(*told)
        if under_way[-1].endswith("-00000001") and moment == "amid":
            die()

    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.log.level", "ERROR").config("spark.driver.host", "127.0.0.1").getOrCreate()
    with mock.patch.object(Storage, "publish", killing), mock.patch.object(publishing, "put_in", dying):
        ingest(spark, open_storage(into), {"bootstrap.servers": bootstrap}, records_per_batch=50)


if __name__ == "__main__":
    main(*sys.argv[1:])
