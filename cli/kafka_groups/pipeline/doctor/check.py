"""What a check is; the checks of this machine: Python, what is installed in it, Java."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from importlib import import_module
from typing import Final, NamedTuple

from kafka_groups.errors import SparkMissingError
from kafka_groups.java import java_version
from kafka_groups.pipeline.spark import find_java
from kafka_groups.pipeline.spark.requirements import check_pyspark

OK: Final = "ok"
WARNING: Final = "warning"
FAILED: Final = "failed"


class Check(NamedTuple):
    """What was looked at, how it is (ok, warning, failed), and what was found or helps."""

    check: str
    status: str
    detail: str


class Cluster(NamedTuple):
    """A cluster that was reached; where the partitions of its `__consumer_offsets` end, and the topic's id.

    `ends` is None if it is not known, and empty if there is no such topic.
    """

    id: str
    ends: Mapping[int, int] | None
    topic_id: str | None = None


def examine_machine(environment: Mapping[str, str]) -> list[Check]:
    """Return checks that need neither a broker nor tables."""
    checks = [Check("python", OK, platform.python_version())]
    try:
        checks.append(Check("pyspark", OK, check_pyspark()))
    except SparkMissingError as error:
        checks.append(_no_spark("pyspark", error))
    # Without plotly, only the charts of a page are lacking.
    for name, lacking in (("pyarrow", FAILED), ("numpy", FAILED), ("confluent_kafka", FAILED), ("plotly", WARNING)):
        shown = name.replace("_", "-")
        try:
            checks.append(Check(shown, OK, str(import_module(name).__version__)))
        except ImportError:
            detail = f"{shown} is not installed; run pip install 'kafka-groups[pipeline]'"
            checks.append(Check(shown, lacking, detail))
    try:
        java = find_java(environment)
        return [*checks, Check("java", OK, f"Java {java_version(java)} at {java}")]
    except SparkMissingError as error:
        return [*checks, _no_spark("java", error)]


def _no_spark(name: str, error: SparkMissingError) -> Check:
    return Check(name, WARNING, f"{error}; ingest and builds of more than 100,000 facts need it")
