"""The history of groups in tables: records of `__consumer_offsets` and samples in, lag, verdicts and rebalances out.

    from kafka_groups.pipeline import build, ingest, read_table, report, sample

`KafkaGroupsSource` is the topic as a data source of Spark. Names are imported when they are used, so that a program
without Spark needs none.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kafka_groups.pipeline.api import backfill, build, export, ingest, read_table, report, sample
    from kafka_groups.pipeline.source.datasource import KafkaGroupsSource
    from kafka_groups.verdicts import Rules

__all__ = ["KafkaGroupsSource", "Rules", "backfill", "build", "export", "ingest", "read_table", "report", "sample"]


def __getattr__(name: str) -> Any:
    """Return a public name, importing its module."""
    if name not in __all__:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    modules = {"KafkaGroupsSource": "pipeline.source.datasource", "Rules": "verdicts"}
    return getattr(import_module(f"kafka_groups.{modules.get(name, 'pipeline.api')}"), name)
