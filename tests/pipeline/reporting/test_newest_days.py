"""The newest day of each cluster."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

import pytest

from kafka_groups.pipeline.reporting.columns import newest_days

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
TODAY, TOMORROW = date(2026, 11, 20), date(2026, 11, 21)


def test_the_newest_day_of_a_cluster_is_that_of_any_of_its_tables(spark: SparkSession) -> None:
    groups, topics = (
        spark.createDataFrame(rows, "cluster_id string, date date")
        for rows in ([("a", TODAY), ("a", TOMORROW), ("b", TODAY)], [("a", TODAY), ("b", TODAY), ("c", TODAY)])
    )

    assert sorted(map(tuple, newest_days(groups, topics).collect())) == [("a", TOMORROW), ("b", TODAY), ("c", TODAY)]
