"""`python -m tests.bench.pipeline`: the pipeline on one topic, in one run. Exit code 1 if a target was missed."""

from __future__ import annotations

import argparse
import signal
import statistics
import sys
from collections.abc import Sequence
from typing import Final

from tests.bench.cluster import print_progress
from tests.bench.report import describe_machine

from .builds import measure as measure_builds
from .builds import measure_hours
from .comparing import Bench, spread
from .filling import one_broker

_SIZES: Final = (500_000, 1_000_000, 2_000_000, 4_000_000)
_COMPARED: Final = 4_000_000  # a start varies by a second, so the records have to take some
_DAY: Final = 432_000_000  # 500 groups, 50 partitions each, a commit every 5 s


def main(arguments: Sequence[str] | None = None) -> int:
    """Fill, run in turns, report."""
    options = _parser().parse_args(arguments)
    # Told to terminate, it ends as with Ctrl-C: what it started ends first.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    sizes = [size // options.divide_by for size in _SIZES]
    reached: list[tuple[str, bool]] = []
    with (
        one_broker(print_progress) as (filling, scratch),
        one_broker(print_progress, name="bench-pipeline-idle") as (idle, _),
    ):
        bench = Bench(filling, idle, scratch, options.runs)
        _print(describe_machine("one broker, and one of 50 records for the starts") + "\n")
        growth = {}
        for size in sizes:
            filling.reach(size)
            if size == _COMPARED // options.divide_by:
                ingests, reached = bench.compare()
            else:
                ingests = bench.ingests()
            growth[size] = statistics.median(run.net_s for run in ingests)
            whole = spread([run.seconds for run in ingests])
            _print(f"ingest of {filling.commits:,} records: {whole}, {growth[size]:.2f} s without its start")
        if options.divide_by == 1:
            _print(describe_growth(growth))
        for target, is_reached in reached:
            _print(f"{'reached' if is_reached else 'MISSED '}  {target}")
        if options.divide_by == 1:
            _print(measure_builds(scratch))
            _print(measure_hours(scratch))
    return 0 if all(is_reached for _, is_reached in reached) else 1


def describe_growth(growth: dict[int, float]) -> str:
    """What more records cost, and a day of the cluster that the bench plays."""
    sizes = sorted(growth)
    slope = (growth[sizes[-1]] - growth[sizes[0]]) / (sizes[-1] - sizes[0])
    steps = ", ".join(f"{size / 1e6:g} M {growth[size]:.1f} s" for size in sizes)
    return f"growth: {steps}; by that slope a day of {_DAY / 1e6:.0f} million commits takes {slope * _DAY / 60:.0f} min"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.pipeline", description=__doc__)
    parser.add_argument("--runs", type=int, default=3, help="runs of each (default: %(default)s)")
    parser.add_argument(
        "--divide-by", type=int, default=1, help="smaller, to try the bench out; no target holds for it"
    )
    return parser


def _print(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
