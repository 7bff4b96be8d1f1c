"""Rows of a build that other rows of the build explain: sums of partitions, days of groups, counts of rebalances."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from tests.pipeline.oracle.oracle_evidence import Row
from tests.pipeline.oracle.oracle_groups import sum_of_partitions

Tables = Mapping[str, Sequence[Row]]
# From the best to the worst.
VERDICTS: Final = ("OK", "UNKNOWN", "WARN", "STALL", "REWIND", "STOP")


def compare_values(name: str, expected: Mapping[str, Any], built: Row) -> Iterator[str]:
    """Yield a sentence for each column that differs; rates and shares may differ by rounding."""
    for column, value in expected.items():
        other = built[column]
        if isinstance(value, float) and isinstance(other, float):
            if abs(value - other) <= 1e-6 * max(1.0, abs(value)):
                continue
        elif value == other:
            continue
        yield f"{name}: {column} is {other}, and should be {value}"


def compare_sums(tables: Tables) -> Iterator[str]:
    """Yield the rows that contradict other rows of the build."""
    yield from compare_catch_up(tables)
    yield from compare_partitions(tables)
    yield from compare_group_days(tables)
    yield from compare_counts(tables)


def compare_catch_up(tables: Tables) -> Iterator[str]:
    """Yield rows of lag_history whose time to catch up is not the lag over the difference of their rates."""
    for row in tables["lag_history"]:
        rates = (row["consume_rate"], row["produce_rate"])
        if row["lag"] <= 0:
            continue
        falls = None not in rates and rates[0] > rates[1]
        expected = row["lag"] / (rates[0] - rates[1]) * 1_000 if falls else None
        built = row["catch_up_ms"]
        if (expected is None) != (built is None) or (expected is not None and abs(expected - built) > 1):
            name = f"lag_history {row['group']} {row['topic']}-{row['partition']} at {row['observed_at']:%d %H:%M:%S}"
            yield f"{name}: catch_up_ms is {built}, and should be {expected}"


def compare_partitions(tables: Tables) -> Iterator[str]:
    """Yield the rows of group_status that are not the sums of the rows of lag_history at the same time.

    Only times count at which all partitions of the group in the row have a row of lag.
    """
    at_times: dict[tuple[str, datetime], list[Row]] = defaultdict(list)
    for row in tables["lag_history"]:
        at_times[row["group"], row["observed_at"]].append(row)
    for status in tables["group_status"]:
        own = at_times[status["group"], status["evaluated_at"]]
        if len(own) == status["partitions"]:
            name = f"group_status {status['group']} at {status['evaluated_at']:%d %H:%M:%S}"
            worst = max((row["verdict"] for row in own), key=VERDICTS.index)
            yield from compare_values(name, sum_of_partitions(own) | {"verdict": worst}, status)


def compare_group_days(tables: Tables) -> Iterator[str]:
    """Yield the days of groups whose extremes are not those of the group's rows on that day."""
    statuses: dict[tuple[str, Any], list[Row]] = defaultdict(list)
    lags: dict[tuple[str, Any], list[Row]] = defaultdict(list)
    for row in tables["group_status"]:
        statuses[row["group"], row["date"]].append(row)
    for row in tables["lag_history"]:
        lags[row["group"], row["date"]].append(row)
    for day in tables["group_daily"]:
        own, of_partitions = statuses[day["group"], day["date"]], lags[day["group"], day["date"]]
        ages = [row["time_lag_ms"] for row in own if row["time_lag_ms"] is not None]
        expected = {
            "max_lag": max((row["lag"] for row in own), default=None),
            "last_lag": max(own, key=lambda row: row["evaluated_at"])["lag"] if own else None,
            "max_time_lag_ms": max(ages, default=None),
            "worst_verdict": max((row["verdict"] for row in own), key=VERDICTS.index, default=None),
            "min_retention_margin": min((row["retention_margin"] for row in of_partitions), default=None),
        }
        yield from compare_values(f"group_daily {day['group']} on {day['date']}", expected, day)


def compare_counts(tables: Tables) -> Iterator[str]:
    """Yield the days on which group_daily does not have as many rebalances as began that day by their rows."""
    counts = Counter((row["group"], row["started_at"].date()) for row in tables["rebalances"])
    for row in tables["group_daily"]:
        expected = counts[row["group"], row["date"]]
        if row["rebalances"] is not None and row["rebalances"] != expected:
            yield f"group_daily {row['group']} on {row['date']}: rebalances is {row['rebalances']}, not {expected}"
    for row in tables["rebalances"]:
        if row["ended_at"] is not None and row["duration_ms"] is not None:
            lasted = row["ended_at"] - row["started_at"]
            if abs(lasted - timedelta(milliseconds=row["duration_ms"])) >= timedelta(milliseconds=1):
                yield f"rebalances {row['group']} {row['generation']}: duration_ms is not ended minus started"
