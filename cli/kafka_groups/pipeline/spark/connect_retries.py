"""The retries of Spark Connect's client, which would last ten minutes after a stop request or a failure.

Sessions without Spark Connect have no such retries, and nothing changes for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# A stop request takes effect at the end of a wait between two retries. The client's own longest wait is a minute.
_MAX_WAIT_MS: Final = 5_000
# Together with the shorter first waits, these last ten minutes, as with the client's own numbers.
_MAX_RETRIES: Final = 125


@contextmanager
def retry_until(spark: SparkSession, should_stop: Callable[[], bool]) -> Iterator[None]:
    """Retry failed calls of the session inside the context only until `should_stop` returns true.

    `should_stop` is also called by other threads.
    """
    if not is_connect_session(spark):
        yield
        return
    from pyspark.sql.connect.client.retries import DefaultPolicy

    class UntilStop(DefaultPolicy):
        def can_retry(self, e: BaseException) -> bool:
            return not should_stop() and super().can_retry(e)

    policies = spark.client.get_retry_policies()
    spark.client.set_retry_policies([UntilStop(max_retries=_MAX_RETRIES, max_backoff=_MAX_WAIT_MS)])
    try:
        yield
    finally:
        spark.client.set_retry_policies(policies)


def end_retries(spark: SparkSession) -> None:
    """Retry no call of the session from now on."""
    if is_connect_session(spark):
        spark.client.set_retry_policies([])


def is_connect_session(spark: SparkSession) -> bool:
    """Return whether the session is one of Spark Connect."""
    # The class of these sessions cannot be imported without the packages of Spark Connect.
    return type(spark).__module__.startswith("pyspark.sql.connect")
