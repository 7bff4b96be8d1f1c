"""Reading anew what a compaction, an ingest or a build took away while it was read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from kafka_groups.errors import StorageError
from kafka_groups.pipeline.storage.failing import is_gone
from kafka_groups.pipeline.storage.spark_tables import files_changed

T = TypeVar("T")
_ATTEMPTS: Final = 3


def reread(work: Callable[[], T]) -> T:
    """What `work` makes of the tables; it begins again where files that it had listed are gone, three times in all."""
    for _ in range(_ATTEMPTS - 1):
        try:
            return work()
        except Exception as error:
            if not (files_changed(error) or (isinstance(error, StorageError) and is_gone(error))):
                raise
    return work()
