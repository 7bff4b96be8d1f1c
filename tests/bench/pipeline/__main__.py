"""`python -m tests.bench.pipeline`: the pipeline on one topic, in one run. Exit code 1 if a target was missed."""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from tests.bench.cluster import tell
from tests.bench.report import machine

from .dumping import dump_seconds
from .filling import Filling, one_broker

_SIZES: Final = (500_000, 1_000_000, 2_000_000, 4_000_000)
_COMPARED: Final = 2_000_000
_DAY: Final = 432_000_000  # 500 groups, 50 partitions each, a commit every 5 s
_TIMEOUT_S: Final = 900


def main(arguments: Sequence[str] | None = None) -> int:
    """Fill, run in turns, tell."""
    options = _parser().parse_args(arguments)
    # Told to terminate, it ends as with Ctrl-C: what it started ends first.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    sizes = [size // options.divide_by for size in _SIZES]
    reached: list[tuple[str, bool]] = []
    with one_broker(tell) as (filling, scratch):
        _print(machine("one broker") + "\n")
        growth = {}
        for size in sizes:
            filling.reach(size)
            runs = [_ours("ingest", filling, scratch) for _ in range(options.runs)]
            growth[size] = statistics.median(run["seconds"] for run in runs)
            _print(f"ingest of {runs[0]['records']:,} records: {_spread([run['seconds'] for run in runs])}")
            if size == _COMPARED // options.divide_by:
                reached += _compare(filling, scratch, runs, options.runs)
        if options.divide_by == 1:
            _print(_told_growth(growth))
    for target, is_reached in reached:
        _print(f"{'reached' if is_reached else 'MISSED '}  {target}")
    return 0 if all(is_reached for _, is_reached in reached) else 1


def _compare(filling: Filling, scratch: Path, ingests: list[dict[str, Any]], runs: int) -> list[tuple[str, bool]]:
    records = filling.commits
    empty = statistics.median(dump_seconds(filling.bootstrap, 1) for _ in range(runs))
    dumps = [dump_seconds(filling.bootstrap, records) - empty for _ in range(runs)]
    _print(f"Kafka's console dump of {records:,} records, without its start ({empty:.2f} s): {_spread(dumps)}")
    raws = [_ours("raw", filling, scratch)["seconds"] for _ in range(runs)]
    _print(f"reading without decoding or writing: {_spread(raws)}")
    if os.environ.get("KAFKA_GROUPS_CONNECTOR"):
        connector = [_ours("connector", filling, scratch)["seconds"] for _ in range(runs)]
        _print(f"the same by Spark's own connector: {_spread(connector)}")
    else:
        _print("Spark's own connector: not measured, its jars are not named in KAFKA_GROUPS_CONNECTOR")
    share = statistics.median(_ours("decoding", filling, scratch)["share"] for _ in range(runs))
    peak = max(run["worker_mib"] for run in ingests)
    rate = statistics.median(run["records"] / run["seconds"] for run in ingests)
    ratio = rate / (records / statistics.median(dumps))
    return [
        (f"at least 2 times the console dump's records a second: {ratio:.2f} ({rate / 1000:,.0f} k/s)", ratio >= 2),
        (f"decoding takes at most 40 % of a task's time: {share:.0%}", share <= 0.4),
        (f"a Python worker stays below 400 MiB: {peak:.0f} MiB", 0 < peak < 400),
    ]


def _ours(what: str, filling: Filling, scratch: Path) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(dir=scratch) as directory:
        command = [sys.executable, "-m", "tests.bench.pipeline.ours", what, filling.bootstrap, directory]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_TIMEOUT_S)
        if done.returncode:
            msg = f"{what} ended with {done.returncode}: {done.stderr.strip()[-2000:]}"
            raise RuntimeError(msg)
        return json.loads(done.stdout)


def _told_growth(growth: dict[int, float]) -> str:
    sizes = sorted(growth)
    slope = (growth[sizes[-1]] - growth[sizes[0]]) / (sizes[-1] - sizes[0])
    steps = ", ".join(f"{size / 1e6:g} M {growth[size]:.1f} s" for size in sizes)
    return f"growth: {steps}; by that slope a day of {_DAY / 1e6:.0f} million commits takes {slope * _DAY / 60:.0f} min"


def _spread(seconds: Sequence[float]) -> str:
    return f"{statistics.median(seconds):.2f} s ({min(seconds):.2f} to {max(seconds):.2f})"


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
