"""Files of facts and states as rows for the stages, with parts of the facts' summary: each file is read once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import groupby
from operator import attrgetter
from typing import Any, Final

import pyarrow.compute as pc
import pyarrow.parquet as pq

from kafka_groups.pipeline.build.fact_columns import (
    COMMIT_NAMES,
    EVENT_NAMES,
    GROUP_STATE_NAMES,
    OBSERVATION_NAMES,
    PARTITION_STATE_NAMES,
    SHARE_NAMES,
    convert_commits,
    convert_events,
    convert_group_states,
    convert_observations,
    convert_partition_states,
    convert_share_offsets,
)
from kafka_groups.pipeline.build.fact_parts import (
    summarize_commits,
    summarize_events,
    summarize_nothing,
    summarize_observations,
)
from kafka_groups.pipeline.build.fact_summary import FactSummaryParts
from kafka_groups.pipeline.build.stage_rows import (
    RowKind,
    make_result_rows,
    make_rows,
    pack_commits,
    pack_events,
    pack_observations,
    pack_share_offsets,
)
from kafka_groups.pipeline.store import DataFile
from kafka_groups.pipeline.store.root_directory import as_storage_error, open_file
from kafka_groups.pipeline.tables import (
    GROUP_EVENTS,
    GROUP_STATE,
    OFFSET_COMMITS,
    PARTITION_OFFSETS,
    PARTITION_STATE,
    SHARE_OFFSETS,
    STORED_TABLES,
)

_ROWS_PER_BATCH: Final = 65_536


@dataclass(frozen=True, slots=True)
class _TableReader:
    """The functions that turn the rows of a table into rows for a stage and into parts of the summary.

    - `convert` takes rows with the columns `names`, and the day of their file (days since 1970).
    - `pack` takes the record batches that `convert` returns.
    - `summarize` takes the same arguments as `convert`, and returns parts of the summary.
    """

    names: Sequence[str]
    convert: Callable[[Any, int], Any]
    pack: Callable[[Iterator[Any]], Iterator[Any]]
    summarize: Callable[[Any, int], list[Any]]


def read_facts(files: Iterable[DataFile]) -> Iterator[Any]:
    """Yield record batches of StageRows from files of facts and states: packed rows, and parts of the summary.

    The paths of the files are addresses (`RootDirectory.address`). Raises StorageError.
    """
    summary_parts = FactSummaryParts()
    for table_name, table_files in groupby(sorted(files, key=attrgetter("table")), attrgetter("table")):
        reader = _READERS[STORED_TABLES[table_name]]
        yield from reader.pack(_convert_files(table_files, reader, summary_parts))
    for summary_rows in summary_parts.to_batches():
        yield make_result_rows("summary", summary_rows)


def _convert_files(files: Iterable[DataFile], reader: _TableReader, summary_parts: FactSummaryParts) -> Iterator[Any]:
    """Yield the converted rows of files of one table as record batches, and fill `summary_parts` with their parts.

    `summary_parts` is complete after the last batch. Raises StorageError.
    """
    for file in files:
        day = day_number(date.fromisoformat(file.date))
        for rows in read_columns(file.path, reader.names):
            for summary_part in reader.summarize(rows, day):
                summary_parts.add(summary_part)
            yield reader.convert(rows, day)


def read_columns(path: str, columns: Sequence[str]) -> Iterator[Any]:
    """Yield record batches of some columns of a Parquet file, by its path or URI. Raises StorageError."""
    with as_storage_error("read the tables", path), open_file(path) as file:
        for rows in pq.ParquetFile(file).iter_batches(_ROWS_PER_BATCH, columns=list(columns)):
            yield rows.select(columns)


def day_number(day: date) -> int:
    """Return the number of days from 1970-01-01 to a date."""
    return (day - date(1970, 1, 1)).days


def _pack_partition_states(batches: Iterator[Any]) -> Iterator[Any]:
    """Yield StageRows of states of partitions and keys, which are already packed."""
    for rows in batches:
        for kind in (RowKind.LOG_STATE, RowKind.KEY_STATE):
            rows_of_kind = rows.filter(pc.equal(rows["kind"], int(kind)))
            yield make_rows(kind, {name: rows_of_kind[name] for name in rows_of_kind.schema.names})


def _pack_group_states(batches: Iterator[Any]) -> Iterator[Any]:
    """Yield StageRows of states of groups, which are JSON."""
    for rows in batches:
        yield make_rows(RowKind.GROUP_STATE, {name: rows[name] for name in rows.schema.names})


_READERS: Final = {
    OFFSET_COMMITS: _TableReader(COMMIT_NAMES, convert_commits, pack_commits, summarize_commits),
    PARTITION_OFFSETS: _TableReader(OBSERVATION_NAMES, convert_observations, pack_observations, summarize_observations),
    SHARE_OFFSETS: _TableReader(SHARE_NAMES, convert_share_offsets, pack_share_offsets, summarize_nothing),
    GROUP_EVENTS: _TableReader(EVENT_NAMES, convert_events, pack_events, summarize_events),
    PARTITION_STATE: _TableReader(
        PARTITION_STATE_NAMES, convert_partition_states, _pack_partition_states, summarize_nothing
    ),
    GROUP_STATE: _TableReader(GROUP_STATE_NAMES, convert_group_states, _pack_group_states, summarize_nothing),
}
