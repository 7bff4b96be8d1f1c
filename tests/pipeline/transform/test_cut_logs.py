"""Time lag where records were deleted before a backfill looked: it takes the first that is kept for the first ever."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kafka_groups.pipeline.steps.commits import commit_points
from kafka_groups.pipeline.steps.horizon import seen_by
from kafka_groups.pipeline.steps.lag import lag
from kafka_groups.pipeline.steps.observations import observations
from kafka_groups.pipeline.steps.time_lag import index_points, time_lag
from kafka_groups.pipeline.tables import OFFSET_COMMITS, PARTITION_OFFSETS
from tests.pipeline.fact_rows import NOON, Row, at, commit, ends, new_storage, put_all

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def looked_up(seconds: float, end: int, topic: str, *, written: float | None) -> Row:
    """What a backfill tells: the first record at or after that time, written then; or the end, as there is none."""
    point = {} if written is None else {"point_offset": end, "point_time": at(written)}
    return ends(seconds, end, start=None, topic=topic, origin="backfill", **point)


FACTS = {
    # All groups committed 10, which was written 450 seconds ago; looked at are the last 900 seconds.
    "offset_commits": [commit(-1, 10, topic=topic, group=topic) for topic in ("cut", "emptied", "quiet", "unsampled")],
    "partition_offsets": [
        *(looked_up(seconds, 50, "cut", written=-200) for seconds in (-900, -600, -300)),
        looked_up(-100, 90, "cut", written=None),
        *(looked_up(seconds, 60, "emptied", written=None) for seconds in (-900, -600, -300)),
        *(looked_up(seconds, 60, "quiet", written=None) for seconds in (-400, -300)),
        *(looked_up(seconds, 50, "unsampled", written=-200) for seconds in (-900, -600)),
        looked_up(0, 90, "unsampled", written=None),
        ends(0, 90, start=50, topic="cut"),
        ends(0, 60, start=60, topic="emptied"),
        ends(0, 60, start=0, topic="quiet"),
        ends(30, 60, start=60, topic="emptied"),
    ],
}


@pytest.fixture(scope="module")
def told(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, int], tuple[int, str]]:
    """Time lag in seconds, and its quality, by group and the second it is told for."""
    storage = new_storage(tmp_path_factory.mktemp("cut"))
    put_all(storage, "facts", FACTS)
    days = [NOON.date()]
    observed = observations(seen_by(storage.read(spark, PARTITION_OFFSETS), days, lookback_days=1))
    points = commit_points(seen_by(storage.read(spark, OFFSET_COMMITS), days, lookback_days=1))
    rows = time_lag(lag(observed, points, since_ms=0), index_points(observed)).collect()
    return {
        (row["group"], row["observed_at"].second): (
            row["time_lag_ms"] and row["time_lag_ms"] // 1_000,
            row["time_lag_quality"],
        )
        for row in rows
    }


def test_what_was_deleted_is_at_least_as_old_as_the_first_record_that_is_kept(told: dict[object, object]) -> None:
    assert told["cut", 0] == (200, "data_loss")
    assert told["unsampled", 0] == (200, "lower_bound")


def test_of_an_emptied_log_only_what_samples_saw_is_a_bound(told: dict[object, object]) -> None:
    assert told["emptied", 0] == (None, "data_loss")
    assert told["emptied", 30] == (30, "data_loss")


def test_a_log_that_is_whole_is_bounded_by_the_first_time_that_was_looked_up(told: dict[object, object]) -> None:
    assert told["quiet", 0] == (400, "lower_bound")
