"""A process that commits new offsets of the bench's groups, one group after the other, until its stdin ends.

python -m tests.bench.exporter.moving_commits BOOTSTRAP GROUPS
"""

from __future__ import annotations

import itertools
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from tests.bench.connection import OFFSET_COMMIT, BrokerConnection, group_by_coordinator
from tests.bench.workload import PARTITIONS, RECORDS, TOPIC, group_name

# 2,400 partitions a second over all coordinators.
_GROUPS_A_SECOND: Final = 200
_VERSION: Final = 8


@contextmanager
def keep_commits_moving(bootstrap: str, groups: int) -> Iterator[None]:
    """Let the commits of all groups move inside the with block."""
    command = [sys.executable, "-m", __name__, bootstrap, str(groups)]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        try:
            yield
            if process.poll() is not None:
                msg = f"the commits stopped moving: exit code {process.returncode}"
                raise RuntimeError(msg)
        finally:
            assert process.stdin is not None
            process.stdin.close()


def main(bootstrap: str, groups: int) -> None:
    """Commit until stdin ends."""
    ended = threading.Event()
    threading.Thread(target=_await_end, args=(ended,), daemon=True).start()
    coordinators = group_by_coordinator(bootstrap, map(group_name, range(groups)))
    workers = [
        threading.Thread(target=_commit_all, args=(address, names, len(coordinators), ended), daemon=True)
        for address, names in coordinators.items()
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def _await_end(ended: threading.Event) -> None:
    sys.stdin.read()
    ended.set()


def _commit_all(coordinator: str, groups: Sequence[str], coordinators: int, ended: threading.Event) -> None:
    pause_s = coordinators / _GROUPS_A_SECOND
    next_at = time.monotonic()
    with BrokerConnection(coordinator) as connection:
        for turn in itertools.count(1):
            for group in groups:
                connection.send(OFFSET_COMMIT, _VERSION, _commits(group, turn))
                next_at += pause_s
                if ended.wait(max(next_at - time.monotonic(), 0)):
                    return


def _commits(group: str, turn: int) -> dict[str, object]:
    rows = [
        {"partition_index": partition, "committed_offset": (turn * 7 + partition) % RECORDS, "committed_metadata": ""}
        for partition in range(PARTITIONS)
    ]
    return {"group_id": group, "topics": [{"name": TOPIC, "partitions": rows}]}


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
