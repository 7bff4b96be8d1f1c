"""All transactions of a Delta table at once: delta-rs reads the log again for each one that is requested.

A log is a Parquet checkpoint, if there is one, and the commits after it, a JSON object a line (Delta's PROTOCOL.md,
"Checkpoints" and "Transaction Identifiers").
"""

from __future__ import annotations

import json
from typing import Final

import pyarrow.parquet as pq

from kafka_groups.pipeline.storage.root_directory import RootDirectory
from kafka_groups.pipeline.storage.storage_errors import as_storage_error

_CHECKPOINT: Final = ".checkpoint.parquet"


def read_transactions(place: RootDirectory, root: str, version: int) -> dict[str, int] | None:
    """Return the last version of each application, as of a version of the table whose directory is `root`.

    None if the log has another form, as other programs may write it. Raises StorageError.
    """
    log = f"{root}/_delta_log"
    names = {info.base_name for info in place.children(log)}
    checkpoints = (name.removesuffix(_CHECKPOINT) for name in names if name.endswith(_CHECKPOINT))
    numbers = (int(name) for name in checkpoints if name.isdigit())
    start = max((number for number in numbers if number <= version), default=-1)
    commits = [f"{number:020}.json" for number in range(start + 1, version + 1)]
    if not names.issuperset(commits):
        return None
    found: dict[str, int] = {}
    with as_storage_error("read the table", root):
        if start >= 0:
            with place.fs.open_input_file(f"{log}/{start:020}{_CHECKPOINT}") as file:
                rows = pq.ParquetFile(file).read(["txn"])["txn"].drop_null()
            found.update((row["appId"], row["version"]) for row in rows.to_pylist())
        for name in commits:
            with place.fs.open_input_stream(f"{log}/{name}") as file:
                actions = [json.loads(line) for line in bytes(file.read()).splitlines() if b'"txn"' in line]
            found.update((one["txn"]["appId"], one["txn"]["version"]) for one in actions if "txn" in one)
    return found
