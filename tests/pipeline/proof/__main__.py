"""Compare the derived tables and the report with those of the last commit before the redesign of the pipeline.

All of it, as `make proof-pipeline` does:  python -m tests.pipeline.proof
Some seeds only:                           python -m tests.pipeline.proof --first 41 --count 20 --jobs 1

Each seed is a random history of one cluster; some twenty share a directory. Both codes write the same facts with their
own storage, date after date with a build after each, in a process of their own; the old code runs in a temporary git
worktree. The exit code is 1 if a row differs in a way that `expected.py` does not list. Verdicts are not compared,
because the old commit has other rules.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Final

import click

from tests.pipeline.old_commit import OLD_COMMIT, ROOT, worktree_of
from tests.pipeline.proof.differences import Comparison, compare
from tests.pipeline.proof.expected import EXPECTED
from tests.pipeline.proof.random_facts import facts_of
from tests.pipeline.proof.trees import derive

_EXAMPLES: Final = 2


def compare_seeds(old_tree: Path, seeds: range) -> Comparison:
    """Return the outcome for the clusters of these seeds, which share a directory; print a line."""
    start = time.perf_counter()
    facts = facts_of(seeds[0], len(seeds))
    comparison = compare(derive(old_tree, facts), derive(ROOT, facts), EXPECTED)
    click.echo(f"seeds {seeds[0]} to {seeds[-1]}: {comparison.summary()}; {time.perf_counter() - start:.0f} s")
    return comparison


def split_seeds(first: int, count: int, per_directory: int) -> list[range]:
    """Return `count` seeds from `first` on as ranges, each with at most `per_directory` of them."""
    seeds = range(first, first + count)
    return [seeds[start : start + per_directory] for start in range(0, count, per_directory)]


def describe(comparison: Comparison) -> str:
    """Return the lines to print at the end: rows by table, unexpected differences, rows by entry, the sum."""
    lines = [f"{table}: {rows:,} rows" for table, rows in comparison.rows.items()]
    lines += [f"unexpected: {difference}" for difference in comparison.examples(_EXAMPLES)]
    lines += comparison.unexpected_places()
    lines += comparison.entry_lines(EXPECTED)
    return "\n".join([*lines, comparison.summary()])


def main() -> None:
    """Compare, print the outcome, and exit with 1 if there are unexpected differences."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.pipeline.proof",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--first", type=int, default=1, metavar="SEED", help="first seed (default: %(default)s)")
    parser.add_argument("--count", type=int, default=200, metavar="N", help="number of seeds (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=2, help="directories compared at a time (default: %(default)s)")
    parser.add_argument("--per-directory", type=int, default=20, metavar="N", help="seeds that share a directory")
    parser.add_argument("--old-commit", default=OLD_COMMIT, help="commit to compare with (default: %(default)s)")
    options = parser.parse_args()
    # On SIGTERM the worktree is removed, as on Ctrl-C.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    whole = Comparison()
    with worktree_of(options.old_commit) as old_tree, ThreadPoolExecutor(options.jobs) as jobs:
        parts = split_seeds(options.first, options.count, options.per_directory)
        for comparison in jobs.map(partial(compare_seeds, old_tree), parts):
            whole.add(comparison)
    click.echo(describe(whole))
    sys.exit(bool(whole.unexpected))


if __name__ == "__main__":
    main()
