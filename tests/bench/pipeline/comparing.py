"""Ours and the contenders on one topic, in turns, each run in a process of its own."""

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
from .dumping import dump_seconds
from .filling import Filling

_TIMEOUT_S: Final = 900
_FEW: Final = 50  # records: what a run with so few takes is its start
_CONNECTOR: Final = "connector"


class Run(NamedTuple):
    """One run, and the one with next to nothing to read that came right before it: a machine's pace changes."""

    seconds: float
    start_s: float
    worker_mib: float = 0.0

    @property
    def net_s(self) -> float:
        """Without its start."""
        return self.seconds - self.start_s


class Bench:
    """What is run on the broker that `filling` fills; starts are measured on another one, which is left `idle`."""

    def __init__(self, filling: Filling, idle: Filling, scratch: Path, times: int) -> None:
        self._filling = filling
        self._idle = idle
        self._scratch = scratch
        self._times = times
        idle.reach(_FEW)
        try:
            self._jars = connector_jars()
        except RuntimeError as error:
            self._jars = []
            sys.stdout.write(f"Spark's own connector is not measured: {error}\n")

    def ingests(self) -> list[Run]:
        """So many ingests of all there is."""
        return [self._run("ingest") for _ in range(self._times)]

    def compare(self) -> tuple[list[Run], list[tuple[str, bool]]]:
        """Return what all take for the same records, in turns: the ingests, and which targets were reached."""
        records = self._filling.commits
        rounds = [{what: self._run(what) for what in self._contenders()} for _ in range(self._times)]
        for what in rounds[0]:
            net = [each[what].net_s for each in rounds]
            starts = spread([each[what].start_s for each in rounds])
            rate = records / statistics.median(net) / 1000
            sys.stdout.write(f"{what:9}  {records:,} records: {spread(net)} and a start of {starts}, {rate:,.0f} k/s\n")
        ingests = [each["ingest"] for each in rounds]
        ratios = [each["dump"].net_s / each["ingest"].net_s for each in rounds]
        share = statistics.median(self._once("decoding", self._filling)["share"] for _ in range(self._times))
        peak = max(run.worker_mib for run in ingests)
        given = ", ".join(f"{ratio:.2f}" for ratio in sorted(ratios))
        targets = [
            (f"at least 2 times the records a second of Kafka's console dump: {given}", statistics.median(ratios) >= 2),
            (f"decoding takes at most 40 % of a task's time: {share:.0%}", share <= 0.4),
            (f"a Python worker stays below 400 MiB: {peak:.0f} MiB", 0 < peak < 400),
        ]
        if self._jars:
            ours = statistics.median(each[_CONNECTOR].net_s / each["raw"].net_s for each in rounds)
            sys.stdout.write(f"reading alone, in records a second: {ours:.2f} times Spark's own connector\n")
        sys.stdout.flush()
        return ingests, targets

    def _contenders(self) -> list[str]:
        return ["ingest", "dump", "raw", *([_CONNECTOR] if self._jars else [])]

    def _run(self, what: str) -> Run:
        if what == "dump":
            start_s = dump_seconds(self._filling.bootstrap, 1)
            return Run(dump_seconds(self._filling.bootstrap, self._filling.commits), start_s)
        few, all_of_it = (self._once(what, filling) for filling in (self._idle, self._filling))
        return Run(all_of_it["seconds"], few["seconds"], all_of_it["worker_mib"])

    def _once(self, what: str, filling: Filling) -> dict[str, Any]:
        with tempfile.TemporaryDirectory(dir=self._scratch) as directory:
            command = [sys.executable, "-m", "tests.bench.pipeline.ours", what, filling.bootstrap, directory]
            done = subprocess.run(
                [*command, *self._jars], capture_output=True, text=True, check=False, timeout=_TIMEOUT_S
            )
            if done.returncode:
                msg = f"{what} ended with {done.returncode}: {done.stderr.strip()[-2000:]}"
                raise RuntimeError(msg)
            found: dict[str, Any] = json.loads(done.stdout)
        # Kafka's console consumer joins a group, of which the broker writes some records, too.
        if found.get("records", filling.commits) < filling.commits:
            msg = f"{what} read {found['records']:,} of {filling.commits:,} records"
            raise RuntimeError(msg)
        return found


def spread(seconds: Sequence[float]) -> str:
    """The median, and the extremes."""
    return f"{statistics.median(seconds):.2f} s ({min(seconds):.2f} to {max(seconds):.2f})"
