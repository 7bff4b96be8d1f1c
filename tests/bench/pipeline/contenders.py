"""The product and its contenders on one topic, run in turn, each run in a process of its own."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from .connector import connector_jars
from .console_dump import dump_seconds
from .filled_broker import FilledBroker

_TIMEOUT_S: Final = 900
# A run with 50 records takes as long as its start.
_FEW_RECORDS: Final = 50
_CONNECTOR: Final = "connector"


class Run(NamedTuple):
    """One run, and the time of a run with few records directly before it, because a machine's speed changes."""

    seconds: float
    start_s: float
    worker_mib: float = 0.0

    @property
    def net_s(self) -> float:
        """The seconds without the start."""
        return self.seconds - self.start_s


class Bench:
    """Runs on the records of the broker `filled`; starts are measured on the broker `idle`, which has 50 commits."""

    def __init__(self, filled: FilledBroker, idle: FilledBroker, scratch: Path, times: int) -> None:
        self._filled = filled
        self._idle = idle
        self._scratch = scratch
        self._times = times
        idle.fill_to(_FEW_RECORDS)
        try:
            self._jars = connector_jars()
        except RuntimeError as error:
            self._jars = []
            sys.stdout.write(f"Spark's own connector is not measured: {error}\n")

    def ingests(self) -> list[Run]:
        """Run the ingest of the whole topic several times, and return the runs."""
        return [self._run("ingest") for _ in range(self._times)]

    def compare(self) -> tuple[list[Run], list[tuple[str, bool]]]:
        """Run all contenders in turn on the same records, and print their times.

        Return the runs of ingest, and each target with whether it was reached.
        """
        records = self._filled.commits
        rounds = [{name: self._run(name) for name in self._contenders()} for _ in range(self._times)]
        for name in rounds[0]:
            net = [runs[name].net_s for runs in rounds]
            starts = spread([runs[name].start_s for runs in rounds])
            rate = records / statistics.median(net) / 1000
            sys.stdout.write(f"{name:9}  {records:,} records: {spread(net)} and a start of {starts}, {rate:,.0f} k/s\n")
        ingests = [runs["ingest"] for runs in rounds]
        ratios = [runs["dump"].net_s / runs["ingest"].net_s for runs in rounds]
        share = statistics.median(self._run_once("decoding", self._filled)["share"] for _ in range(self._times))
        peak = max(run.worker_mib for run in ingests)
        shown_ratios = ", ".join(f"{ratio:.2f}" for ratio in sorted(ratios))
        targets = [
            (
                f"at least 2 times the records a second of Kafka's console dump: {shown_ratios}",
                statistics.median(ratios) >= 2,
            ),
            (f"decoding takes at most 40 % of a task's time: {share:.0%}", share <= 0.4),
            (f"a Python worker stays below 400 MiB: {peak:.0f} MiB", 0 < peak < 400),
        ]
        if self._jars:
            factor = statistics.median(runs[_CONNECTOR].net_s / runs["raw"].net_s for runs in rounds)
            sys.stdout.write(f"reading alone, in records a second: {factor:.2f} times Spark's own connector\n")
        sys.stdout.flush()
        return ingests, targets

    def _contenders(self) -> list[str]:
        names = ["ingest", "dump", "raw"]
        return [*names, _CONNECTOR] if self._jars else names

    def _run(self, name: str) -> Run:
        """Run a contender with few records and then with all."""
        if name == "dump":
            start_s = dump_seconds(self._filled.bootstrap, 1)
            return Run(dump_seconds(self._filled.bootstrap, self._filled.commits), start_s)
        start = self._run_once(name, self._idle)
        whole = self._run_once(name, self._filled)
        return Run(whole["seconds"], start["seconds"], whole["worker_mib"])

    def _run_once(self, name: str, broker: FilledBroker) -> dict[str, Any]:
        """Return what `ours.py` prints. Raises RuntimeError if it fails or reads fewer records than there are."""
        with tempfile.TemporaryDirectory(dir=self._scratch) as directory:
            command = [sys.executable, "-m", "tests.bench.pipeline.ours", name, broker.bootstrap, directory]
            completed = subprocess.run(
                [*command, *self._jars], capture_output=True, text=True, check=False, timeout=_TIMEOUT_S
            )
            if completed.returncode:
                msg = f"{name} ended with {completed.returncode}: {completed.stderr.strip()[-2000:]}"
                raise RuntimeError(msg)
            result: dict[str, Any] = json.loads(completed.stdout)
        # Kafka's console consumer joins a group, so the topic may hold some records more than the commits.
        if result.get("records", broker.commits) < broker.commits:
            msg = f"{name} read {result['records']:,} of {broker.commits:,} records"
            raise RuntimeError(msg)
        return result


def spread(seconds: Sequence[float]) -> str:
    """Return the median and the extremes as a text."""
    return f"{statistics.median(seconds):.2f} s ({min(seconds):.2f} to {max(seconds):.2f})"
