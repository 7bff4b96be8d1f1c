"""Time lag where records were deleted before a backfill: it takes the first record that is kept for the first ever."""

from __future__ import annotations

import pytest

from tests.pipeline.build.builds import built, read
from tests.pipeline.fact_rows import Row, at, commit, ends

TimeLags = dict[tuple[str, int], tuple[int | None, str]]


def looked_up(seconds: float, end: int, topic: str, *, written: float | None) -> Row:
    """Return the response to a look-up: the first record at or after that time, or the end if there is none."""
    point = {} if written is None else {"lookup_offset": end, "lookup_timestamp": at(written)}
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
def time_lags(tmp_path_factory: pytest.TempPathFactory) -> TimeLags:
    """Time lag in seconds, and its quality, by group and the second of the observation."""
    rows = read(built(tmp_path_factory.mktemp("cut"), FACTS, lookback_days=1), "lag_history")
    return {
        (row["group"], row["observed_at"].second): (
            row["time_lag_ms"] and row["time_lag_ms"] // 1_000,
            row["time_lag_quality"],
        )
        for row in rows
    }


def test_deleted_records_are_at_least_as_old_as_the_first_retained_one(time_lags: TimeLags) -> None:
    assert time_lags["cut", 0] == (200, "data_loss")
    assert time_lags["unsampled", 0] == (200, "lower_bound")


def test_only_sampled_log_ends_bound_the_time_lag_on_an_emptied_log(time_lags: TimeLags) -> None:
    assert time_lags["emptied", 0] == (None, "data_loss")
    assert time_lags["emptied", 30] == (30, "data_loss")


def test_a_log_that_is_whole_is_bounded_by_the_first_time_that_was_looked_up(time_lags: TimeLags) -> None:
    assert time_lags["quiet", 0] == (400, "lower_bound")
