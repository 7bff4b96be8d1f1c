"""The three brokers of a run: started on free ports, filled, and gone at its end."""

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

from .fill import make_groups, make_topic

_NAME: Final = "bench"
_BROKERS: Final = 3
_HEAP_MB: Final = 1536


class Filling:
    """A cluster and how many groups it has; it only ever gets more."""

    def __init__(self, bootstrap: str, tell: Callable[[str], None]) -> None:
        self.bootstrap = bootstrap
        self._tell = tell
        self._groups = 0

    def reach(self, groups: int) -> None:
        """Make groups until there are so many."""
        start = time.perf_counter()
        made = range(self._groups, groups)
        if made:
            make_groups(self.bootstrap, made)
            self._groups = groups
            self._tell(f"{len(made):,} groups made in {time.perf_counter() - start:.1f} s")


@contextmanager
def three_brokers(tell: Callable[[str], None]) -> Iterator[tuple[Filling, Path]]:
    """A cluster with the topic and no groups, and a directory for scratch files."""
    # Told to terminate, it ends as with Ctrl-C: what it started ends first.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory)
        try:
            started = sandbox.up(
                sandbox.SandboxSpec(
                    name=_NAME,
                    brokers=_BROKERS,
                    port=0,
                    heap_mb=_HEAP_MB,
                    optimised=True,
                    seed=False,
                    profile=False,
                    home=home,
                ),
                report=tell,
            )
            make_topic(started.bootstrap)
            yield Filling(started.bootstrap, tell), home
        finally:
            sandbox.down(_NAME, home=home)


def tell(text: str) -> None:
    """What is going on, on stderr, so that stdout is the report."""
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {text}\n")
    sys.stderr.flush()
