"""How fast a group reads, how fast its partition is written, and when it will have caught up."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from kafka_groups.pipeline.steps.horizon import COMMIT_KEY, surely

SPAN_MS: Final = 600_000


def rates(lags: DataFrame) -> DataFrame:
    """`lags` with `consume_rate`, `produce_rate` (records a second over the last ten minutes) and `catch_up_ms`.

    A rate is null with a single observation in that time, and if the offset fell in it, or is another one now: of a
    commit that was removed, of a log that was made anew. `catch_up_ms` is null if there is no lag, or if it does not
    fall. `removals` of `lags` ends here.
    """
    in_time = Window.partitionBy(*COMMIT_KEY).orderBy("now")
    so_far = in_time.rowsBetween(Window.unboundedPreceding, 0)
    lately = in_time.rangeBetween(-SPAN_MS, 0)
    measured = lags.withColumn("now", F.unix_millis("observed_at"))
    for name in ("committed_offset", "log_end_offset"):
        fell = surely(F.col(name) < F.lag(name).over(in_time)).cast("int")
        measured = measured.withColumn(f"fell_{name}", fell)
    for name in ("committed_offset", "log_end_offset"):
        measured = measured.withColumn(f"falls_{name}", F.sum(f"fell_{name}").over(so_far))
    # All that counts is whether the number is another one.
    for name, other in (("committed_offset", "removals"), ("log_end_offset", "log")):
        measured = measured.withColumn(f"falls_{name}", F.struct(f"falls_{name}", other))
    first = F.first(
        F.struct("now", "committed_offset", "log_end_offset", "falls_committed_offset", "falls_log_end_offset")
    ).over(lately)
    measured = measured.withColumn("first", first)
    seconds = (F.col("now") - F.col("first.now")) / 1_000
    for name, rate in (("committed_offset", "consume_rate"), ("log_end_offset", "produce_rate")):
        steady = (seconds > 0) & (F.col(f"falls_{name}") == F.col(f"first.falls_{name}"))
        measured = measured.withColumn(rate, F.when(steady, (F.col(name) - F.col(f"first.{name}")) / seconds))
    gain = F.col("consume_rate") - F.col("produce_rate")
    catch_up = F.when((gain > 0) & (F.col("lag") > 0), F.ceil(F.col("lag") / gain * 1_000).cast("long"))
    kept = [name for name in lags.columns if name != "removals"]
    return measured.select(*kept, "consume_rate", "produce_rate", catch_up.alias("catch_up_ms"))
