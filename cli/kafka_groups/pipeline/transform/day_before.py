"""The date before a build: its rebalances may end after midnight, and its group_daily counts them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import date
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from kafka_groups.pipeline.schemas import GROUP_DAILY, GROUP_EVENTS, OFFSET_COMMITS, REBALANCES
from kafka_groups.pipeline.storage import NewFile, Storage
from kafka_groups.pipeline.storage.layout import BUILD
from kafka_groups.pipeline.transform.facts import read_columns

_KEY: Final = ("cluster_id", "group")
_COUNTED: Final = ("rebalances", "rebalance_ms")
_NOTHING: Final = (None, None)
_READ: Final = pa.schema([REBALANCES.arrow().field(name) for name in (*_KEY, "duration_ms")])


def count_rebalances_again(storage: Storage, day: date, files: Sequence[NewFile]) -> list[NewFile]:
    """Write the rows of group_daily of a date with the rebalances that `files` have of it; return the new files.

    No file is returned if nothing differs, or if the date has no rows.
    """
    name = day.isoformat()
    found = [
        rows
        for file in files
        if (file.table, file.date) == (REBALANCES.name, name)
        for rows in read_columns(storage.place.address(file.path), _READ.names)
    ]
    paths = [storage.place.address(file.path) for file in storage.files(GROUP_DAILY, [name])]
    schema = GROUP_DAILY.arrow()
    before = [rows for path in paths for rows in read_columns(path, schema.names)]
    if not before:
        return []
    old = pa.Table.from_batches(before).cast(schema)
    read = _read_clusters(storage, name, {*old["cluster_id"].unique().to_pylist()})
    new = _counted(old, pa.Table.from_batches(found, schema=_READ), read)
    if new.equals(old):
        return []
    with storage.writer(BUILD) as writer:
        for rows in new.to_batches():
            writer.write(GROUP_DAILY, rows)
        return writer.close()


def _read_clusters(storage: Storage, day: str, wanted: Collection[str]) -> set[str]:
    """Return those of the clusters of which a record was read on the date."""
    found: set[str] = set()
    for table in (OFFSET_COMMITS, GROUP_EVENTS):
        for file in storage.files(table, [day]):
            for rows in read_columns(storage.place.address(file.path), ("cluster_id", "origin")):
                found.update(rows.filter(pc.equal(rows["origin"], "topic"))["cluster_id"].unique().to_pylist())
                if found.issuperset(wanted):
                    return found
    return found


def _counted(daily: Any, rebalances: Any, read: Collection[str]) -> Any:
    summed = rebalances.group_by(list(_KEY)).aggregate([([], "count_all"), ("duration_ms", "sum")])
    columns = (summed[name].to_pylist() for name in (*_KEY, "count_all", "duration_ms_sum"))
    known = {(cluster, group): numbers for cluster, group, *numbers in zip(*columns, strict=True)}
    keys = list(zip(*(daily[name].to_pylist() for name in _KEY), strict=True))
    for place, name in enumerate(_COUNTED):
        values = [
            # Null where no record of the cluster was read on the date, or no rebalances of the group are derived.
            number
            if (number := known.get(key, _NOTHING)[place]) is not None or value is None or key[0] not in read
            else 0
            for key, value in zip(keys, daily[name].to_pylist(), strict=True)
        ]
        at = daily.schema.get_field_index(name)
        daily = daily.set_column(at, daily.schema.field(at), pa.array(values, daily.schema.field(at).type))
    return daily
