"""Checks of this machine: Python, Spark, Java, and packages."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping
from importlib import import_module

from kafka_groups.errors import SparkMissingError
from kafka_groups.java import java_version
from kafka_groups.pipeline.doctor.check import FAILED, OK, WARNING, Check
from kafka_groups.pipeline.spark.requirements import check_pyspark, find_java


def check_machine(environment: Mapping[str, str]) -> list[Check]:
    """Return a check of each program and package; `environment` has the variables by which Java is found."""

    def find_java_version() -> str:
        java = find_java(environment)
        return f"Java {java_version(java)} at {java}"

    return [
        Check("python", OK, platform.python_version()),
        _check_part_of_spark("pyspark", check_pyspark),
        _check_package("pyarrow"),
        _check_package("numpy"),
        _check_package("confluent_kafka"),
        # Only the charts of a report's page need plotly.
        _check_package("plotly", status_if_missing=WARNING),
        _check_part_of_spark("java", find_java_version),
    ]


def _check_part_of_spark(name: str, find: Callable[[], str]) -> Check:
    """Return the check of what only Spark needs; `find` returns its version, or raises SparkMissingError."""
    try:
        return Check(name, OK, find())
    except SparkMissingError as error:
        return Check(name, WARNING, f"{error}; ingest and builds of more than 100,000 facts need it")


def _check_package(module: str, status_if_missing: str = FAILED) -> Check:
    """Return the check of a package, by the name of its module."""
    package = module.replace("_", "-")
    try:
        return Check(package, OK, str(import_module(module).__version__))
    except ImportError:
        detail = f"{package} is not installed; run pip install 'kafka-groups[pipeline]'"
        return Check(package, status_if_missing, detail)
