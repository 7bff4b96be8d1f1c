"""The three brokers of a run, on free ports. They and their data are deleted at its end."""

from __future__ import annotations

import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from kafka_groups import sandbox

from .workload import create_groups, create_topic

NAME: Final = "bench"
_BROKERS: Final = 3
_HEAP_MB: Final = 1536


class BenchCluster:
    """A cluster and its number of groups, which only grows."""

    def __init__(self, bootstrap: str, report: Callable[[str], None]) -> None:
        self.bootstrap = bootstrap
        self._report = report
        self._groups = 0

    def create_groups(self, total: int) -> None:
        """Create groups until there are `total`."""
        start = time.perf_counter()
        missing = range(self._groups, total)
        if missing:
            create_groups(self.bootstrap, missing)
            self._groups = total
            self._report(f"{len(missing):,} groups created in {time.perf_counter() - start:.1f} s")


@contextmanager
def start_three_brokers(report: Callable[[str], None]) -> Iterator[tuple[BenchCluster, Path]]:
    """Yield a cluster with the topic and no groups, and a directory for scratch files."""
    # SIGTERM ends the bench as Ctrl-C does: the processes that it started end first.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory)
        try:
            started = sandbox.up(
                sandbox.SandboxSpec(
                    name=NAME,
                    brokers=_BROKERS,
                    port=0,
                    heap_mb=_HEAP_MB,
                    optimised=True,
                    seed=False,
                    profile=False,
                    home=home,
                ),
                report=report,
            )
            create_topic(started.bootstrap)
            yield BenchCluster(started.bootstrap, report), home
        finally:
            sandbox.down(NAME, home=home)


def print_progress(text: str) -> None:
    """Print a line of progress to stderr, because stdout is the report."""
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {text}\n")
    sys.stderr.flush()
