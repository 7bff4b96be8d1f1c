"""The tables of today against those of the old storage: `python -m tests.pipeline.proof`, or `make proof-pipeline`.

The same facts, seeded random histories, each a cluster, some twenty a directory, are written and built date after date
in a worktree of OLD_COMMIT, whose tables were directories of Parquet files, and here. All rows have to be equal.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import click
import pyarrow.parquet as pq

from kafka_groups.pipeline.store import Storage
from kafka_groups.pipeline.tables import TABLES
from tests.pipeline.build.histories import Facts, histories, joined
from tests.pipeline.build.kernels.histories import history

OLD_COMMIT: Final = "3f280be"
ROOT: Final = Path(__file__).parent.parent.parent
DERIVED: Final = ("lag_history", "rebalances", "group_status", "topic_daily", "group_daily")
# Each tree has its own modules of these names.
_ROWS: Final = """
import pickle, sys
from datetime import date
from pathlib import Path
from kafka_groups.pipeline.build.run import build
from kafka_groups.pipeline.build.local_engine import LocalEngine
from tests.pipeline.fact_rows import new_storage, put_all
from tests.pipeline.proof import DERIVED, facts_of, rows_of
first, count, directory = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
facts, storage = facts_of(first, count), new_storage(directory / "tables")
def day_of(row):
    return next(row[name] for name in ("commit_time", "observed_at", "record_time") if row.get(name)).date()
for number, day in enumerate(sorted({day_of(row) for rows in facts.values() for row in rows})):
    put_all(storage, f"b{number}", {name: [row for row in rows if day_of(row) == day] for name, rows in facts.items()})
    build(storage, LocalEngine())
(directory / "rows").write_bytes(pickle.dumps({name: rows_of(storage, name) for name in DERIVED}))
"""
Rows = dict[tuple[Any, ...], dict[str, Any]]
_OF_VERDICTS: Final = ("verdict", "rule", "complete", "window_start", "window_end")
_SUMS: Final = ("partitions", "time_lag_ms", "time_lag_quality", "consume_rate", "produce_rate", "catch_up_ms")


def facts_of(first: int, count: int) -> Facts:
    """Return the facts of so many seeds: commits and samples, and two days earlier than they are, events of groups."""
    facts = joined(histories(first, count))
    names = [column.name for column in TABLES["group_events"].columns]
    for seed in range(first, first + count):
        for group in ("group-0", "other"):
            for row in history(seed * 2 + (group == "other")):
                moved: dict[str, Any] = {name: row.get(name) for name in names}
                moved |= {"cluster_id": f"seed-{seed:04}", "group": group}
                for name in ("record_time", "state_time"):
                    moved[name] = None if moved[name] is None else moved[name] - timedelta(days=2)
                if row["expression"]:
                    moved["details"] = json.dumps({"regular_expression": row["expression"]})
                facts["group_events"].append(moved)
    return facts


def rows_of(storage: Storage, name: str) -> Rows:
    """Return the rows of a derived table by their identity."""
    table = TABLES[name]
    schema = table.arrow()
    found = [
        row
        for file in storage.files(table)
        for row in pq.ParquetFile(file.path).read().select(schema.names).cast(schema).to_pylist()
    ]
    return {tuple(row[key] for key in table.identity): row for row in found}


@contextmanager
def old_tree() -> Iterator[Path]:
    """A worktree of the old storage, for a while."""
    with tempfile.TemporaryDirectory() as directory:
        tree = Path(directory) / "old"
        subprocess.run(["git", "worktree", "add", "--detach", "--quiet", str(tree), OLD_COMMIT], cwd=ROOT, check=True)
        try:
            yield tree
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(tree)], cwd=ROOT, check=True)


def build_in(tree: Path, first: int, count: int) -> dict[str, Rows]:
    """Return the rows of the derived tables of so many seeds, as the program of a tree makes them."""
    with tempfile.TemporaryDirectory() as directory:
        environment = {**os.environ, "PYTHONPATH": f"{tree / 'cli'}{os.pathsep}{tree}"}
        command = [sys.executable, "-c", _ROWS, str(first), str(count), directory]
        subprocess.run(command, cwd=tree, env=environment, check=True)
        rows: dict[str, Rows] = pickle.loads(Path(directory, "rows").read_bytes())
        return rows


def reshaped(old: dict[str, Rows]) -> dict[str, Rows]:
    """Return rows of the old storage as they are now: verdicts on partitions stand in lag_history."""
    groups, lags = Rows(), dict(old["lag_history"])
    for (cluster, group, topic, partition, at), row in old["group_status"].items():
        if topic is None:
            groups[cluster, group, at] = {name: row[name] for name in row if name not in {"topic", "partition"}}
        else:
            lags[cluster, group, topic, partition, at] |= {name: row[name] for name in _OF_VERDICTS}
    return old | {"lag_history": lags, "group_status": groups}


def without_sums(new: dict[str, Rows]) -> dict[str, Rows]:
    """Return the rows without what a group's row has only now."""
    groups = {key: {name: row[name] for name in row if name not in _SUMS} for key, row in new["group_status"].items()}
    return new | {"group_status": groups}


def differences(old: dict[str, Rows], new: dict[str, Rows]) -> Iterator[str]:
    """Yield the rows that only one of them has, or that differ."""
    for name in DERIVED:
        for key in old[name].keys() | new[name].keys():
            if old[name].get(key) != new[name].get(key):
                yield f"{name} {key}: {old[name].get(key)} is {new[name].get(key)} now"


def main() -> None:
    """Compare, print how many rows there were; exit with 1 if any differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--per-directory", type=int, default=20)
    options = parser.parse_args()
    compared: Counter[str] = Counter()
    found: list[str] = []
    with old_tree() as tree:
        for first in range(options.first, options.first + options.count, options.per_directory):
            count = min(options.per_directory, options.first + options.count - first)
            start = time.perf_counter()
            old, new = build_in(tree, first, count), build_in(ROOT, first, count)
            compared.update({name: len(new[name]) for name in DERIVED})
            found += differences(reshaped(old), without_sums(new))
            click.echo(f"seeds {first} to {first + count - 1}: {time.perf_counter() - start:.0f} s")
    click.echo("\n".join([*found[:20], f"rows: {dict(compared)}; {len(found)} differ"]))
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
