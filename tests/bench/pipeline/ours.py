"""One run in a process of its own, printed as JSON: `python -m tests.bench.pipeline.ours WHAT BOOTSTRAP DIR [JAR...]`.

WHAT is ingest (broker to Parquet), raw (no decoding, nothing written), connector (the same by Spark's own Kafka
connector, which is in the jars), or decoding (the share of an ingest's time that is decoding).
The session's start is not part of the seconds.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, Self
from unittest import mock

import pyarrow as pa

from kafka_groups.pipeline.facts.decode.records import decode
from kafka_groups.pipeline.facts.ingest_tasks import Batch, run_tasks
from kafka_groups.pipeline.facts.source import ranges
from kafka_groups.pipeline.facts.source.brokers import Brokers
from kafka_groups.pipeline.facts.source.range_plan import ranges_between
from kafka_groups.pipeline.spark.session import start_session
from tests.pipeline.fact_rows import new_storage

_WATCH_EVERY_S: Final = 0.02
_KIB: Final = 1024
_TIMEOUT_S: Final = 20.0


def main(what: str, bootstrap: str, directory: Path, jars: Sequence[str]) -> dict[str, Any]:
    """Do it once."""
    if what == "decoding":
        return _decoding(bootstrap, directory)
    if what == "connector":
        os.environ["PYSPARK_SUBMIT_ARGS"] = f"--jars {','.join(jars)} pyspark-shell"
    # As the commands start it: ingest has Python do the work, the JVM's own connector gets the full compiler.
    brief = what != "connector"
    with start_session(master="local[2]", log=directory / "spark.log", brief=brief) as spark, _Workers() as workers:
        run: Callable[..., int] = {"ingest": _ingest, "raw": _raw, "connector": _connector}[what]
        start = time.perf_counter()
        records = run(spark, bootstrap, directory)
        return {"seconds": time.perf_counter() - start, "records": records, "worker_mib": workers.peak_mib()}


def _ingest(spark: Any, bootstrap: str, directory: Path) -> int:
    from kafka_groups.pipeline.facts.ingestion import ingest

    return ingest(spark, new_storage(directory / "tables"), {"bootstrap.servers": bootstrap}).records


def _raw(spark: Any, bootstrap: str, _directory: Path) -> int:
    from .raw_source import RawSource

    spark.dataSource.register(RawSource)
    reader = spark.read.format("kafka_groups_raw").option("kafka.bootstrap.servers", bootstrap)
    return _to_nowhere(reader.option("minPartitions", 2).load())


def _connector(spark: Any, bootstrap: str, _directory: Path) -> int:
    spark.conf.set("spark.sql.streaming.kafka.useDeprecatedOffsetFetching", "true")
    partitions = Brokers({"bootstrap.servers": bootstrap}, _TIMEOUT_S).topic().partitions
    options = {"kafka.bootstrap.servers": bootstrap, "assign": json.dumps({"__consumer_offsets": partitions})}
    rows = spark.read.format("kafka").options(**options).option("kafka.isolation.level", "read_committed").load()
    return _to_nowhere(rows.select("partition", "offset", "timestamp", "key", "value"))


def _to_nowhere(rows: Any) -> int:
    """Have all rows made, and count them on their way."""
    from pyspark.sql import Observation
    from pyspark.sql import functions as F

    seen = Observation()
    rows.observe(seen, F.count(F.lit(1)).alias("rows")).write.format("noop").mode("overwrite").save()
    return int(seen.get["rows"])


def _decoding(bootstrap: str, directory: Path) -> dict[str, Any]:
    """What a task does, in this process: how much of its processor time goes into decoding."""
    spent = 0.0

    def timed(*arguments: Any) -> Any:
        nonlocal spent
        before = time.process_time()
        rows = decode(*arguments)
        spent += time.process_time() - before
        return rows

    storage = new_storage(directory / "tables")
    client = {"bootstrap.servers": bootstrap}
    brokers = Brokers(client, _TIMEOUT_S)
    there = brokers.topic().partitions
    tasks = [ranges_between(brokers.log_start_offsets(there), brokers.end_offsets(there))]
    batch = Batch("bench", storage.address, client, _TIMEOUT_S, brokers.cluster()[0], tasks, {})
    before = time.process_time()
    with mock.patch.object(ranges, "decode", timed):
        files = list(run_tasks(batch, iter([pa.RecordBatch.from_pydict({"id": [0]})])))
    return {"share": spent / (time.process_time() - before), "files": len(files)}


class _Workers:
    """Watches the memory of this process's Python workers, which end when they please."""

    def __enter__(self) -> Self:
        self._peak_kib = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def peak_mib(self) -> float:
        return self._peak_kib / _KIB

    def _watch(self) -> None:
        while not self._over.wait(_WATCH_EVERY_S):
            for process in Path("/proc").iterdir():
                if process.name.isdecimal() and int(process.name) != os.getpid():
                    self._peak_kib = max(self._peak_kib, _peak_of(process))


def _peak_of(process: Path) -> int:
    try:
        if b"pyspark" not in (command := (process / "cmdline").read_bytes()) or b"java" in command.split(b"\0")[0]:
            return 0
        status = (process / "status").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")), 0)


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(sys.argv[1], sys.argv[2], Path(sys.argv[3]), sys.argv[4:])) + "\n")
