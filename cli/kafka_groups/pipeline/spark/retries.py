"""Retries of Spark Connect, which would outlive a server that was ended on purpose by ten minutes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def retry_until(spark: SparkSession, is_ended: Callable[[], bool]) -> None:
    """Stop retries: a call of this session that fails is not tried again once the end is requested.

    Without Spark Connect nothing is retried.
    """
    if not _is_connected(spark):
        return
    from pyspark.sql.connect.client.retries import DefaultPolicy

    class UntilAsked(DefaultPolicy):
        def can_retry(self, e: BaseException) -> bool:
            return not is_ended() and super().can_retry(e)

    spark.client.set_retry_policies([UntilAsked()])


def _is_connected(spark: SparkSession) -> bool:
    # Not by isinstance: the class wants grpc, which a classic session does without.
    return type(spark).__module__.startswith("pyspark.sql.connect")
