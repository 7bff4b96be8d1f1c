"""Ours and the contenders on one topic, in turns, each run in a process of its own."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from .connector import connector_jars
from .dumping import dump_seconds
from .filling import Filling

_TIMEOUT_S: Final = 900
_FEW: Final = 50  # records: what a run with so few takes is its start
_CONNECTOR: Final = "connector"


class Bench:
    """What is run on the broker that `filling` fills."""

    def __init__(self, filling: Filling, scratch: Path, times: int) -> None:
        self._filling = filling
        self._scratch = scratch
        self._times = times
        try:
            self._jars = connector_jars()
        except RuntimeError as error:
            self._jars = []
            sys.stdout.write(f"Spark's own connector is not measured: {error}\n")

    def runs(self, what: str) -> list[dict[str, Any]]:
        """Run it so many times."""
        return [self._once(what) for _ in range(self._times)]

    def starts(self) -> dict[str, float]:
        """The seconds of a run that has next to nothing to read, before anything else is on the topic."""
        self._filling.reach(_FEW)
        found = {what: _median(self.runs(what)) for what in self._contenders()}
        found["dump"] = statistics.median(dump_seconds(self._filling.bootstrap, 1) for _ in range(self._times))
        told = ", ".join(f"{what} {seconds:.2f} s" for what, seconds in found.items())
        sys.stdout.write(f"start-up, taken off in comparisons: {told}\n")
        return found

    def compare(self, ingests: Sequence[Mapping[str, Any]], starts: Mapping[str, float]) -> list[tuple[str, bool]]:
        """Tell what all took for the same records, and which targets were reached."""
        records = self._filling.commits
        taken = {what: [run["seconds"] for run in self.runs(what)] for what in self._contenders() if what != "ingest"}
        taken["ingest"] = [run["seconds"] for run in ingests]
        taken["dump"] = [dump_seconds(self._filling.bootstrap, records) for _ in range(self._times)]
        without = {what: [seconds - starts[what] for seconds in all_of_it] for what, all_of_it in taken.items()}
        for what, seconds in without.items():
            rate = records / statistics.median(seconds) / 1000
            sys.stdout.write(f"{what:9}  {records:,} records without start-up: {spread(seconds)}, {rate:,.0f} k/s\n")
        share = statistics.median(run["share"] for run in self.runs("decoding"))
        peak = max(run["worker_mib"] for run in ingests)
        ratio = statistics.median(without["dump"]) / statistics.median(without["ingest"])
        targets = [
            (f"at least 2 times the records a second of Kafka's console dump: {ratio:.2f}", ratio >= 2),
            (f"decoding takes at most 40 % of a task's time: {share:.0%}", share <= 0.4),
            (f"a Python worker stays below 400 MiB: {peak:.0f} MiB", 0 < peak < 400),
        ]
        if self._jars:
            ours = statistics.median(without[_CONNECTOR]) / statistics.median(without["raw"])
            sys.stdout.write(f"reading alone, in records a second: {ours:.2f} times Spark's own connector\n")
        sys.stdout.flush()
        return targets

    def _contenders(self) -> list[str]:
        return ["ingest", "raw", *([_CONNECTOR] if self._jars else [])]

    def _once(self, what: str) -> dict[str, Any]:
        with tempfile.TemporaryDirectory(dir=self._scratch) as directory:
            command = [sys.executable, "-m", "tests.bench.pipeline.ours", what, self._filling.bootstrap, directory]
            done = subprocess.run(
                [*command, *self._jars], capture_output=True, text=True, check=False, timeout=_TIMEOUT_S
            )
            if done.returncode:
                msg = f"{what} ended with {done.returncode}: {done.stderr.strip()[-2000:]}"
                raise RuntimeError(msg)
            found: dict[str, Any] = json.loads(done.stdout)
        # Kafka's console consumer joins a group, of which the broker writes some records, too.
        if found.get("records", self._filling.commits) < self._filling.commits:
            msg = f"{what} read {found['records']:,} of {self._filling.commits:,} records"
            raise RuntimeError(msg)
        return found


def spread(seconds: Sequence[float]) -> str:
    """The median, and the extremes."""
    return f"{statistics.median(seconds):.2f} s ({min(seconds):.2f} to {max(seconds):.2f})"


def _median(runs: Sequence[Mapping[str, Any]]) -> float:
    return statistics.median(run["seconds"] for run in runs)
