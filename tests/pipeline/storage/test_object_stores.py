"""Tables on an object store are those on a disk: versions, samples, builds, and commits of which one is refused."""

from __future__ import annotations

import datetime as dt
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from deltalake import DeltaTable

from kafka_groups.errors import StorageError
from kafka_groups.pipeline.compacting import compact
from kafka_groups.pipeline.storage import Storage, open_storage
from kafka_groups.pipeline.storage import delta_log as log_module
from kafka_groups.pipeline.storage.delta_log import DeltaLog
from kafka_groups.pipeline.storage.places import open_file
from kafka_groups.pipeline.tables import INGEST_GAPS, LAG_HISTORY, OFFSET_COMMITS, Table
from tests.pipeline.storage.commits import FIRST, append, commits, rows_of, written
from tests.pipeline.storage.object_stores import new_bucket, object_store

NOW = dt.datetime(2026, 11, 20, tzinfo=dt.UTC)


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with pytest.MonkeyPatch.context() as patch, object_store() as variables:
        for name, value in variables.items():
            patch.setenv(name, value)
        yield variables["AWS_ENDPOINT_URL"]


@pytest.fixture
def remote(endpoint: str) -> Storage:
    return open_storage(f"s3://{new_bucket(endpoint)}/mes données", create=True)


def offsets_in(storage: Storage, table: Table = OFFSET_COMMITS) -> Counter[int]:
    """How often each offset is there, to a reader that knows nothing but the format."""
    uris = DeltaTable(f"{storage.into}/{table.name}").file_uris()
    found = [pa.table({"o": []})]
    for uri in uris:
        with open_file(uri) as file:
            found.append(ds.dataset([file]).to_table(["source_offset"]) if False else pa.parquet.read_table(file))
    return Counter(one for rows in found[1:] for one in rows["source_offset"].to_pylist())


def test_a(remote: Storage) -> None:
    append(remote, "w-1", commits(range(5)), commits(range(5, 8), day=1))
    print(remote.files(OFFSET_COMMITS))
    assert remote.rows(OFFSET_COMMITS) == 8
    print(DeltaTable(f"{remote.into}/offset_commits").file_uris())
    remote.save_note("n", {"a": 1}); assert remote.note("n") == {"a": 1}
    again = open_storage(remote.into); assert again.dates(OFFSET_COMMITS) == ["2026-11-01", "2026-11-02"]
    for n in range(3): append(remote, f"x-{n}", commits([10 + n]))
    d = compact(remote, now=NOW); print(d)
    print(remote.files(OFFSET_COMMITS))
    log_module._KEPT_H = 0
    compact(remote, now=NOW, keep=dt.timedelta(days=18)); print(remote.files(OFFSET_COMMITS)); log_module._KEPT_H = 24
