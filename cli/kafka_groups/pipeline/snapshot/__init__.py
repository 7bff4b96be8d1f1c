"""A sample: what all groups have committed, how they are, and where all logs end, at one time.

Where `__consumer_offsets` may not be read, samples fill the same tables; where it may, they bring what it does not
say: log ends, and states.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from kafka_groups.admin import GroupAdmin
from kafka_groups.model import Failure
from kafka_groups.pipeline.schemas import GROUP_EVENTS, OFFSET_COMMITS, PARTITION_OFFSETS, SAMPLE_RUNS
from kafka_groups.pipeline.snapshot.requests import ask
from kafka_groups.pipeline.snapshot.sample_rows import row_of_run, rows_of
from kafka_groups.pipeline.storage import Storage
from kafka_groups.pipeline.storage.layout import SAMPLE, new_batch_name

# In the order of their commits: the last one makes the sample count.
_TABLES: Final = (OFFSET_COMMITS, GROUP_EVENTS, PARTITION_OFFSETS, SAMPLE_RUNS)


@dataclass(frozen=True, kw_only=True)
class Sampled:
    """What a sample wrote: rows by table, under the name of its batch; and what could not be read, item by item."""

    batch: str
    groups: int
    rows: Mapping[str, int]
    failures: tuple[Failure, ...]


def sample(admin: GroupAdmin, storage: Storage, *, cluster_id: str, now_ms: Callable[[], int]) -> Sampled:
    """Request everything in one pass, and write it as one batch: whole, with its row of SAMPLE_RUNS, or absent.

    Commits are requested before log ends, so that no commit is beyond the end that stands beside it. Groups of which
    the listing has all that is known (empty classic ones, share and streams groups, other protocols) are not
    described. A group that is deleted when it is described has no row and is no failure. Topics without
    commits are sampled too; internal ones only if a group has commits on them. A partition that exists but whose log
    end is not returned has a row without it, since one without a row was deleted. `now_ms` is the time, in milliseconds
    since 1970. Raises AdminError if the cluster cannot be reached at all, StorageError; other failures are returned.
    """
    asked = ask(admin, now_ms)
    batch = new_batch_name(SAMPLE, datetime.fromtimestamp(asked.ends_ms / 1000, UTC))
    rows = {table.name: 0 for table in _TABLES[:-1]}
    with storage.writer(batch) as writer:
        for table, part in rows_of(asked, cluster_id):
            writer.write(table, part)
            rows[table.name] += part.num_rows
        writer.write(SAMPLE_RUNS, row_of_run(asked, cluster_id, batch, rows))
        files = writer.close()
    storage.append(files, tables=_TABLES)
    return Sampled(batch=batch, groups=len(asked.groups), rows=rows, failures=asked.failures)
