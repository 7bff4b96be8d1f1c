"""The build of today against the old one: `python -m tests.pipeline.proof`, or `make proof-pipeline`.

The old build, that of OLD_COMMIT, runs from a worktree of that commit, on the same facts: seeded random histories, each
a cluster, some twenty a directory. Rows have to be equal, except for differences that are listed with their reasons.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import click
import pyarrow.parquet as pq

from kafka_groups.pipeline.storage import Storage, open_storage
from kafka_groups.pipeline.tables import TABLES
from kafka_groups.pipeline.transform.engine import LocalEngine
from kafka_groups.pipeline.transform.run import dates_to_read, transform
from kafka_groups.verdicts import Rules
from tests.pipeline.fact_rows import new_storage, put_all
from tests.pipeline.transform.histories import Facts, histories, joined
from tests.pipeline.transform.kernels.histories import history

OLD_COMMIT: Final = "1e4c223"
ROOT: Final = Path(__file__).parent.parent.parent
DERIVED: Final = ("lag_history", "rebalances", "group_status", "topic_daily", "group_daily")
_FACTS: Final = ("offset_commits", "partition_offsets", "group_events")
_BUILD: Final = """
import sys
from pathlib import Path
from kafka_groups.pipeline.building import build
from kafka_groups.pipeline.session import start_session
from kafka_groups.pipeline.storage import open_storage
with start_session(log=Path(sys.argv[1] + ".log")) as spark:
    build(spark, open_storage(sys.argv[1]))
"""
_MINUTE_MS: Final = 60_000
# 32 points for each doubling of the age are 2.2 % apart.
_THINNED: Final = 45
_CONTRADICTION: Final = "backfilled log ends of one minute that contradict each other"
Rows = dict[tuple[Any, ...], dict[str, Any]]


def _is_thinned(before: Any, now: Any) -> bool:
    """Return whether the index of earlier days, of which not every point is kept, explains the difference."""
    return before is not None and now is not None and abs(before - now) <= max(_MINUTE_MS, before // _THINNED)


def _always(_before: Any, _now: Any) -> bool:
    return True


def _never(_before: Any, _now: Any) -> bool:
    return False


_COUNTED: Final = ("rebalances", "rebalance_ms")
_OF_MEMBERS: Final = ("members", "members_max", "state")
# By table and column: when a difference is explained, and by which point of the design.
EXPLAINED: Final[Mapping[tuple[str, str], tuple[Callable[[Any, Any], bool], str]]] = {
    **{("group_status", name): (_always, "other rules") for name in ("verdict", "rule", "complete")},
    **{("group_status", name): (_always, "other rules") for name in ("window_start", "window_end")},
    ("group_daily", "worst_verdict"): (_always, "other rules"),
    ("lag_history", "time_lag_ms"): (_is_thinned, "thinned index"),
    ("lag_history", "time_lag_quality"): (lambda before, _: before in {"exact", "interpolated"}, "thinned index"),
    ("group_daily", "max_time_lag_ms"): (_is_thinned, "thinned index"),
}


class GroupHistories:
    """What explains differences of groups: since when a group is a share or streams group, and which epochs it had."""

    def __init__(self, facts: Facts) -> None:
        self._since: dict[tuple[str, str], datetime] = {}
        self._epochs: dict[tuple[str, str], list[int]] = {}
        for row in sorted(facts["group_events"], key=lambda row: row["record_time"]):
            key = (row["cluster_id"], row["group"])
            if str(row["group_type"] or row["type"]).startswith(("Share", "Streams")):
                self._since.setdefault(key, row["record_time"])
            if row["meaning"] == "group_epoch" and row["epoch"] is not None:
                self._epochs.setdefault(key, []).append(row["epoch"])

    def reason(self, table: str, column: str, key: tuple[Any, ...], before: Any) -> str | None:
        """Return why a row of a group differs; None if nothing explains it."""
        since = self._since.get(key[:2])
        if table == "group_daily" and column in _COUNTED:
            is_other_day = since is not None and key[2] + timedelta(days=1) <= since
            return (
                "rebalances before the group was a share or streams group" if is_other_day and before is None else None
            )
        if table == "rebalances" or column in _OF_MEMBERS:
            if since is not None:
                return "members of a share or streams group of that name"
            epochs = self._epochs.get(key[:2], [])
            if table == "rebalances" and epochs.count(key[3]) > 1:
                return "an epoch that returns without a removal, or that compaction shows later"
        return None


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


def differences(old: Storage, new: Storage, groups: GroupHistories) -> Iterator[tuple[str, str, str | None, Any]]:
    """Yield table, column, the reason if there is one, and the values of each difference."""
    for name in DERIVED:
        before, now = rows_of(old, name), rows_of(new, name)
        for key in before.keys() ^ now.keys():
            where = "only in the old build" if key in before else "only in this build"
            yield name, where, groups.reason(name, where, key, None), before.get(key, now.get(key))
        for key in before.keys() & now.keys():
            for column, value in before[key].items():
                other = now[key][column]
                if math.isclose(value, other, rel_tol=1e-9) if _are_real(value, other) else value == other:
                    continue
                explains, reason = EXPLAINED.get((name, column), (_never, None))
                known = reason if explains(value, other) else groups.reason(name, column, key, value)
                known = known or _reason_of_rows(name, column, before[key], now[key])
                yield name, column, known, (key, value, other)


def _reason_of_rows(table: str, column: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> str | None:
    """Return why a column of two rows differs, by their other columns."""
    if table == "lag_history" and column in {"time_lag_ms", "time_lag_quality"}:
        is_bound = (old["origin"], old["time_lag_quality"]) == ("backfill", "lower_bound")
        return _CONTRADICTION if is_bound else None
    if table != "group_daily":
        return None
    found = {
        "commit_rate": "no record of the cluster was read on the day" if new["commit_rate"] is None else None,
        "max_time_lag_ms": _CONTRADICTION if _is_near(old[column], new[column]) else None,
        "skew": "a recreated partition with an equal log end has not grown",
        "members_max": "members that only records of a later date show" if new["members_max"] is None else None,
    }
    if column in {"commits", "commit_rate", "last_commit_time"} and old["last_commit_time"] is None:
        return "the last record is older than the lookback, and samples still see the commit"
    return found.get(column)


def _is_near(before: Any, now: Any) -> bool:
    return isinstance(before, int) and isinstance(now, int) and abs(before - now) <= before // 20


def _are_real(*values: Any) -> bool:
    return all(isinstance(value, float) for value in values)


@contextmanager
def old_tree() -> Iterator[Path]:
    """A worktree of the old build, for a while."""
    with tempfile.TemporaryDirectory() as directory:
        tree = Path(directory) / "old"
        subprocess.run(["git", "worktree", "add", "--detach", "--quiet", str(tree), OLD_COMMIT], cwd=ROOT, check=True)
        try:
            yield tree
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(tree)], cwd=ROOT, check=True)


def build_old(tree: Path, directory: Path) -> None:
    """Run the old build on a data directory."""
    environment = {**os.environ, "PYTHONPATH": str(tree / "cli")}
    subprocess.run([sys.executable, "-c", _BUILD, str(directory)], cwd=tree, env=environment, check=True)


def build_new(storage: Storage) -> None:
    """Run this build, one date after another."""
    dates = sorted({date.fromisoformat(day) for name in _FACTS for day in storage.dates(TABLES[name])})
    for day in dates:
        transform(LocalEngine(), storage, dates_to_read(storage, [day], dates), rules=Rules(), lookback_days=7)


def main() -> None:
    """Compare, print how often rows differ and why; exit with 1 if a difference has no reason."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--per-directory", type=int, default=20)
    options = parser.parse_args()
    found: Counter[tuple[str, str, str | None]] = Counter()
    compared: Counter[str] = Counter()
    with old_tree() as tree, tempfile.TemporaryDirectory() as scratch:
        for first in range(options.first, options.first + options.count, options.per_directory):
            count = min(options.per_directory, options.first + options.count - first)
            facts = facts_of(first, count)
            old, new = (new_storage(Path(scratch) / f"{name}-{first}") for name in ("old", "new"))
            for storage in (old, new):
                put_all(storage, "b", facts)
            start = time.perf_counter()
            build_old(tree, Path(old.into))
            middle = time.perf_counter()
            build_new(new)
            taken = middle - start, time.perf_counter() - middle
            compared.update({name: len(rows_of(new, name)) for name in DERIVED})
            for table, column, reason, values in differences(open_storage(old.into), new, GroupHistories(facts)):
                found[table, column, reason] += 1
                if reason is None and found[table, column, reason] <= 3:
                    click.echo(f"{table} {column}: {values}")
            click.echo(f"seeds {first} to {first + count - 1}: old {taken[0]:.0f} s, this {taken[1]:.0f} s")
    click.echo(f"rows: {dict(compared)}")
    for (table, column, reason), number in sorted(found.items(), key=str):
        click.echo(f"{number:7} {table} {column}: {reason or 'NOT EXPLAINED'}")
    sys.exit(any(reason is None for _, _, reason in found))


if __name__ == "__main__":
    main()
