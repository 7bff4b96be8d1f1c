"""Measure the pipeline, alone or in turn with an older commit. The exit code is 1 if a target is missed.

The targets, with two brokers:             python -m tests.bench.pipeline
The old and the new code in turn:          python -m tests.bench.pipeline --old-commit cd93aa5 --rounds 5
The same with ingest and sample:           python -m tests.bench.pipeline --old-commit cd93aa5 --rounds 5 --ingest

A comparison runs builds, the report and a compaction with the old code, the new code and a second copy of the new code.
A step is missed if its median ratio of new to old is larger than any ratio between the two copies, or if its Python
processes use more than 110 % of the old code's memory. --commits 40000 --rounds 1 tries it out in a minute.
"""

from __future__ import annotations

import argparse
import signal
import statistics
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from tests.bench.cluster import print_progress
from tests.bench.report import describe_machine

from .builds import measure as measure_builds
from .builds import measure_hours
from .contenders import Bench, spread
from .filled_broker import one_broker
from .old_and_new import compare_versions

_SIZES: Final = (500_000, 1_000_000, 2_000_000, 4_000_000)
# A start varies by a second, so the compared runs read enough records to take several.
_COMPARED: Final = 4_000_000
# Each version ingests this number of records in a comparison.
_INGESTED: Final = 1_000_000
# 500 groups make these commits in a day on 50 partitions each, with a commit every 5 s.
_DAY: Final = 432_000_000


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the results, and return the exit code."""
    options = _parser().parse_args(arguments)
    # SIGTERM raises SystemExit, so that brokers and worktrees are removed as on Ctrl-C.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    return _measure_targets(options) if options.old_commit is None else _compare_with_old_commit(options)


def _compare_with_old_commit(options: argparse.Namespace) -> int:
    """Run the old and the new code in turn; return 1 if the new code is slower or needs more memory in a step."""
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        bootstrap = None
        if options.ingest:
            filled, _ = stack.enter_context(one_broker(print_progress))
            filled.fill_to(_INGESTED // options.divide_by)
            bootstrap = filled.bootstrap
        comparisons = compare_versions(
            options.old_commit,
            scratch,
            rounds=options.rounds,
            commits=options.commits,
            bootstrap=bootstrap,
            report=print_progress,
        )
    for comparison in comparisons:
        _print(comparison.describe())
    return int(any(comparison.is_slower() or comparison.is_larger() for comparison in comparisons))


def _measure_targets(options: argparse.Namespace) -> int:
    """Fill a topic, run all contenders in turn, and return 1 if a target was missed."""
    sizes = [size // options.divide_by for size in _SIZES]
    reached: list[tuple[str, bool]] = []
    with (
        one_broker(print_progress) as (filled, scratch),
        one_broker(print_progress, name="bench-pipeline-idle") as (idle, _),
    ):
        bench = Bench(filled, idle, scratch, options.runs)
        _print(describe_machine("one broker, and one of 50 records for the starts") + "\n")
        growth = {}
        for size in sizes:
            filled.fill_to(size)
            if size == _COMPARED // options.divide_by:
                ingests, reached = bench.compare()
            else:
                ingests = bench.ingests()
            growth[size] = statistics.median(run.net_s for run in ingests)
            whole = spread([run.seconds for run in ingests])
            _print(f"ingest of {filled.commits:,} records: {whole}, {growth[size]:.2f} s without its start")
        if options.divide_by == 1:
            _print(describe_growth(growth))
        for target, is_reached in reached:
            _print(f"{'reached' if is_reached else 'MISSED '}  {target}")
        if options.divide_by == 1:
            _print(measure_builds(scratch))
            _print(measure_hours(scratch))
    return 0 if all(is_reached for _, is_reached in reached) else 1


def describe_growth(growth: dict[int, float]) -> str:
    """Return how the time of an ingest grows with its records, and the time of a whole day by that slope."""
    sizes = sorted(growth)
    slope = (growth[sizes[-1]] - growth[sizes[0]]) / (sizes[-1] - sizes[0])
    steps = ", ".join(f"{size / 1e6:g} M {growth[size]:.1f} s" for size in sizes)
    return f"growth: {steps}; by that slope a day of {_DAY / 1e6:.0f} million commits takes {slope * _DAY / 60:.0f} min"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.pipeline",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--runs", type=int, default=3, help="runs of each (default: %(default)s)")
    parser.add_argument(
        "--divide-by", type=int, default=1, help="smaller, to try the bench out; no target holds for it"
    )
    comparison = parser.add_argument_group("comparison with an older commit")
    comparison.add_argument("--old-commit", metavar="COMMIT", help="compare with this commit, such as cd93aa5")
    comparison.add_argument("--rounds", type=int, default=5, help="runs of each step (default: %(default)s)")
    comparison.add_argument(
        "--commits", type=int, default=2_000_000, help="commit records of the day that is built (default: %(default)s)"
    )
    comparison.add_argument("--ingest", action="store_true", help="also measure ingest and sample, with a broker")
    return parser


def _print(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
