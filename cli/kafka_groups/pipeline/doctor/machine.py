"""This machine: Python, what is installed in it, Java."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from importlib import import_module
from typing import Final

from kafka_groups.errors import SparkMissingError
from kafka_groups.java import java_version
from kafka_groups.pipeline.doctor.check import FAILED, OK, WARNING, Check
from kafka_groups.pipeline.spark.requirements import check_pyspark, find_java

_PACKAGES: Final = ("pyarrow", "numpy", "confluent_kafka")
# Only the charts of a page.
_FOR_CHARTS: Final = "plotly"


def examine_machine(environment: Mapping[str, str]) -> list[Check]:
    """Return checks that need neither a broker nor tables."""
    return [
        Check("python", OK, platform.python_version()),
        _pyspark(),
        *(_package(name) for name in _PACKAGES),
        _package(_FOR_CHARTS, lacking=WARNING),
        _java(environment),
    ]


def _pyspark() -> Check:
    try:
        return Check("pyspark", OK, check_pyspark())
    except SparkMissingError as error:
        return Check("pyspark", WARNING, f"{error}; ingest and builds of more than 100,000 facts need it")


def _package(name: str, *, lacking: str = FAILED) -> Check:
    shown = name.replace("_", "-")
    try:
        return Check(shown, OK, str(import_module(name).__version__))
    except ImportError:
        return Check(shown, lacking, f"{shown} is not installed; run pip install 'kafka-groups[pipeline]'")


def _java(environment: Mapping[str, str]) -> Check:
    try:
        java = find_java(environment)
    except SparkMissingError as error:
        return Check("java", WARNING, f"{error}; ingest and builds of more than 100,000 facts need it")
    return Check("java", OK, f"Java {java_version(java)} at {java}")
