"""One batch: a read of the data source between two positions, whose tasks write files and return a list of them."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any, Final

from kafka_groups.pipeline.ingestion.task_errors import told_in_python
from kafka_groups.pipeline.source.options import CLIENT_PREFIX
from kafka_groups.pipeline.source.plan import Log
from kafka_groups.pipeline.storage import NewFile

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_STEP_S: Final = 0.5  # how often `stop` is looked at
_OF_A_CLUSTER: Final = 64


class BatchReader:
    """Reads batches with one session; `tasks_at_once` is the number of tasks that run at the same time."""

    def __init__(self, spark: SparkSession, client: Mapping[str, str], *, data_dir: str, timeout_s: float) -> None:
        self._spark = spark
        self.tasks_at_once = _cores(spark)
        self._options: dict[str, Any] = {f"{CLIENT_PREFIX}{name}": value for name, value in client.items()}
        self._options |= {"dataDir": data_dir, "timeout": timeout_s, "minPartitions": self.tasks_at_once}

    def read(
        self, batch: str, start: Log, end: Log, ahead: Mapping[str, Mapping[int, int]], stop: Callable[[], bool]
    ) -> list[NewFile] | None:
        """Return the files of a batch of this name; None, and the tasks are interrupted, if `stop` says so first.

        Records that a table of `ahead` has already are left out of its files. Raises what the tasks raised.
        """
        from kafka_groups.pipeline.source.datasource import KafkaGroupsSource

        self._spark.dataSource.register(KafkaGroupsSource)
        positions: dict[str, Any] = {
            "startingOffsets": {each: start.ends.get(each, 0) for each in end.ends},
            "endingOffsets": end.ends,
            "leaderEpochs": start.epochs,
            "skippedOffsets": ahead,
        }
        options = self._options | {"batch": batch} | {name: json.dumps(value) for name, value in positions.items()}
        with told_in_python(), ThreadPoolExecutor(max_workers=1) as pool:
            frame = self._spark.read.format(KafkaGroupsSource.name()).options(**options).load()
            rows = pool.submit(frame.collect)
            is_stopped = False
            while not wait([rows], _STEP_S).done:
                is_stopped = is_stopped or stop()
                if is_stopped:
                    # Again and again: while Spark plans, there is no job to interrupt yet.
                    self._spark.interruptAll()
            if is_stopped:
                return None
            return [NewFile(**row.asDict()) for row in rows.result()]


def _cores(spark: SparkSession) -> int:
    """Return how many tasks run at once, by the master's name; a cluster's, which has no number, counts as large."""
    # Not sparkContext.defaultParallelism, which Spark Connect does not have.
    master = spark.conf.get("spark.master", None) or ""
    found = re.fullmatch(r"local\[(\d+|\*).*\]", master)
    if found is None:
        # Tasks that wait for a core cost little, and cores without a task are lost.
        return 1 if master == "local" else _OF_A_CLUSTER
    return (os.cpu_count() or 1) if found[1] == "*" else int(found[1])
