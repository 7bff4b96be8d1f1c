"""A broker whose `__consumer_offsets` holds as many commits as wanted; it only ever gets more."""

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
# The cluster of the bench's day: 500 groups commit on 50 partitions each, again and again.
_GROUPS: Final = 500
_PARTITIONS: Final = 50


class Filling:
    """The broker, and how many commits were made on it."""

    def __init__(self, bootstrap: str, tell: Callable[[str], None]) -> None:
        self.bootstrap = bootstrap
        self.commits = 0
        self._tell = tell

    def reach(self, commits: int) -> None:
        """Commit until there are at least so many records of commits."""
        start, before = time.perf_counter(), self.commits
        while self.commits < commits:
            groups = min(_GROUPS, -(-(commits - self.commits) // _PARTITIONS))
            create_groups(self.bootstrap, range(groups), _PARTITIONS)
            self.commits += groups * _PARTITIONS
        if self.commits > before:
            self._tell(f"{self.commits - before:,} commits made in {time.perf_counter() - start:.1f} s")


@contextmanager
def one_broker(tell: Callable[[str], None], *, name: str = "bench-pipeline") -> Iterator[tuple[Filling, Path]]:
    """A broker with a topic and no commit yet, and a directory for scratch files; both are deleted at the end."""
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory)
        wanted = sandbox.SandboxSpec(
            name=name, brokers=1, port=0, heap_mb=_HEAP_MB, optimised=True, seed=False, profile=False, home=home
        )
        try:
            started = sandbox.up(wanted, report=tell)
            create_topic(started.bootstrap, _PARTITIONS)
            yield Filling(started.bootstrap, tell), home
        finally:
            sandbox.down(name, home=home)
