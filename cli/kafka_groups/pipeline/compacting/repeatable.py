"""Which batches may come again: they are left as they are, for what comes again takes their places."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kafka_groups.pipeline.storage import KEPT, Storage
from kafka_groups.pipeline.storage.layout import numbered
from kafka_groups.pipeline.tables import TABLES

FACTS: Final = tuple(table for table in TABLES.values() if not table.derived)
# A backfill of the same grid takes the place of the one before, also years later. It is a file a day as it is.
_REPLACEABLE: Final = "backfill-"


def newest_batches(storage: Storage) -> dict[str, int]:
    """The number of each writer's last batch."""
    # Over all tables: a batch that wrote to one of them only may be repeated as a whole.
    newest: dict[str, int] = {}
    for table in FACTS:
        for found in storage.batches(table):
            if one := numbered(found.batch):
                newest[one[0]] = max(one[1], newest.get(one[0], -1))
    return newest


def may_come_again(batch: str, newest: Mapping[str, int]) -> bool:
    """Whether it may, or has to be known by its name: what retention left is no news to a build."""
    one = numbered(batch)
    return one[1] >= newest.get(one[0], -1) if one else batch == KEPT or batch.startswith(_REPLACEABLE)
