"""A broker whose `__consumer_offsets` holds a wanted number of commits; the number only grows."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from kafka_groups import sandbox
from tests.bench.workload import create_groups, create_topic

_HEAP_MB: Final = 1536
# The cluster of the bench's day: 500 groups, each of which commits on 50 partitions again and again.
_GROUPS: Final = 500
_PARTITIONS: Final = 50


class FilledBroker:
    """A broker, and the number of commits that were made on it."""

    def __init__(self, bootstrap: str, report: Callable[[str], None]) -> None:
        self.bootstrap = bootstrap
        self.commits = 0
        self._report = report

    def fill_to(self, commits: int) -> None:
        """Commit until at least this number of commits was made; report the time that it took."""
        start = time.perf_counter()
        before = self.commits
        while self.commits < commits:
            groups = min(_GROUPS, -(-(commits - self.commits) // _PARTITIONS))
            create_groups(self.bootstrap, range(groups), _PARTITIONS)
            self.commits += groups * _PARTITIONS
        if self.commits > before:
            self._report(f"{self.commits - before:,} commits made in {time.perf_counter() - start:.1f} s")


@contextmanager
def one_broker(report: Callable[[str], None], *, name: str = "bench-pipeline") -> Iterator[tuple[FilledBroker, Path]]:
    """Yield a broker with a topic and no commit yet, and a directory for scratch files; both are deleted at the end."""
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory)
        spec = sandbox.SandboxSpec(
            name=name, brokers=1, port=0, heap_mb=_HEAP_MB, optimised=True, seed=False, profile=False, home=home
        )
        try:
            started = sandbox.up(spec, report=report)
            create_topic(started.bootstrap, _PARTITIONS)
            yield FilledBroker(started.bootstrap, report), home
        finally:
            sandbox.down(name, home=home)
