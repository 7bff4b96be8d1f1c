"""A machine so busy that Python workers take longer to start than the 10 s that Spark gives to one of a stream."""

from __future__ import annotations

import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafka_groups.pipeline.facts.ingestion import ingest
from kafka_groups.pipeline.store import Storage
from tests.live.groups.topics import make_topic, unique_name
from tests.live.pipeline.offsets_topic import commit, commits_in

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.live, pytest.mark.spark]

# Spark starts this for the process that forks its workers; its first one is late.
_SLOW_ONCE = """#!/bin/sh
case "$*" in
  *pyspark.daemon*) [ -e {seen} ] || {{ : > {seen}; sleep 11; }} ;;
esac
exec {python} "$@"
"""


def test_an_ingest_waits_for_a_late_worker(
    broker: str, spark: SparkSession, storage: Storage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow, seen = tmp_path / "python", tmp_path / "seen"
    slow.write_text(_SLOW_ONCE.format(seen=seen, python=sys.executable))
    slow.chmod(slow.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(spark.sparkContext, "pythonExec", str(slow))
    group = unique_name("slow")
    commit(broker, group, make_topic(broker, records=8), 1, 2)

    ingest(spark, storage, {"bootstrap.servers": broker})

    assert seen.exists()
    assert group in {key[2] for key in commits_in(spark, storage)}
