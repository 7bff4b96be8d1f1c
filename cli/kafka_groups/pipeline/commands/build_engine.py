"""The engine of a build: Spark, or, for few facts, this process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from kafka_groups.pipeline.commands.spark_options import SparkChoice
from kafka_groups.pipeline.commands.spark_session import STARTING_SPARK, open_spark_session

if TYPE_CHECKING:
    from kafka_groups.pipeline.build.run import Engine
    from kafka_groups.rendering.progress import ProgressBar

# This process builds them in less time than Spark takes to start.
_FEW_FACTS: Final = 100_000


@contextmanager
def open_engine(spark_choice: SparkChoice, progress_bar: ProgressBar, *, fact_count: int) -> Iterator[Engine]:
    """Yield the engine for this number of facts, which ends with the block. Raises PipelineError if Spark fails.

    More than 100,000 facts are built on Spark, and fewer in this process unless the user names a Spark.
    """
    from kafka_groups.pipeline.build.local_engine import LocalEngine
    from kafka_groups.pipeline.build.spark_engine import SparkEngine

    if not fact_count or (fact_count <= _FEW_FACTS and not spark_choice.names_spark()):
        yield LocalEngine()
        return
    progress_bar.begin(STARTING_SPARK)
    with open_spark_session(spark_choice, brief=True) as spark:
        progress_bar(STARTING_SPARK, 1, 1)
        yield SparkEngine(spark, fact_count)
