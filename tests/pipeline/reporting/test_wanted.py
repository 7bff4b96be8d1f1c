"""Which groups a report is about: as in `list` and `describe`, whatever is in the patterns."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

import pytest

from kafka_groups.commands.pipeline.report import apply_exclude
from kafka_groups.groups.selection import Selectors
from kafka_groups.pipeline.reporting.asking import Wanted, among

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ODD = ("", "it's", "back\\slash\\'", "a\nb", "größe-日本", "${spark.app.name}", "x--y", "100%", "`tick`", '"q"')


def wanted(*named: str, match: str | None = None, exclude: str | None = None) -> Wanted:
    """What a command makes of its flags."""
    told = [None if pattern is None else re.compile(pattern) for pattern in (match, exclude)]
    return Wanted(*apply_exclude(Selectors(named=named, match=told[0], exclude=told[1])))


@pytest.mark.parametrize(
    ("asked", "has", "lacks"),
    [
        (wanted(), ["a", "b"], []),
        (wanted("a"), ["a"], ["b"]),
        (wanted(match="a."), ["ab"], ["a", "b"]),
        (wanted("b", match="a."), ["ab", "b"], ["a"]),
        (wanted(exclude="(?i)test-.*"), ["a", "a test-b"], ["Test-a", "test-"]),
        (wanted(match="(?i)bill.*", exclude="bill"), ["Billing"], ["bill", "a"]),
        (wanted(match=r"(a)\1", exclude="(b).*"), ["aa"], ["ab", "b"]),
        (wanted(exclude="b"), ["a", "bc"], ["b"]),
        (wanted("a", "b", exclude="b"), ["a"], ["b", "c"]),
        (wanted("b", exclude="b"), [], ["a", "b"]),
        (wanted("b", match="a", exclude="b"), ["a"], ["b", "c"]),
    ],
)
def test_a_group_is_chosen_by_its_whole_name_and_may_be_left_out(
    asked: Wanted, has: list[str], lacks: list[str]
) -> None:
    assert [name for name in (*has, *lacks) if asked.has(name)] == has


def test_whoever_leaves_some_out_does_not_ask_for_all() -> None:
    assert [wanted().is_all(), wanted(exclude="x").is_all(), wanted("a").is_all(), wanted(match=".*").is_all()] == [
        True,
        False,
        False,
        False,
    ]


@pytest.mark.spark
def test_groups_are_those_of_their_cluster_whatever_is_in_their_names(spark: SparkSession) -> None:
    rows = spark.createDataFrame(
        [(cluster, name) for cluster in ("a", "b") for name in ODD], "cluster_id STRING, `group` STRING"
    )
    for name in ODD:
        assert [tuple(row) for row in rows.where(among([("a", name)])).collect()] == [("a", name)]
    assert {tuple(row) for row in rows.where(among([("b", name) for name in ODD])).collect()} == {
        ("b", name) for name in ODD
    }
    assert rows.where(among([])).count() == 0


@pytest.mark.spark
def test_very_many_groups_are_told_to_spark_at_once(spark: SparkSession) -> None:
    assert spark.version
    begun = time.process_time()
    among([("a", f"group-{number}") for number in range(60_000)])
    # One by one it took a minute.
    assert time.process_time() - begun < 5
