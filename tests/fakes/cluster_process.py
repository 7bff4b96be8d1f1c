"""Scripted clusters in processes of their own, so that they share no interpreter with the code that is measured.

    python -m tests.fakes.cluster_process NAME GROUPS DELAY_MS

It prints the address of a broker, and ends when stdin does.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Final

from kafka_groups.protocol import Struct
from tests.fakes.reactions import ReceivedRequest
from tests.fakes.scripted_cluster import Group, ScriptedCluster

_BROKERS: Final = 3
_PARTITIONS: Final = 12


class SlowCluster(ScriptedCluster):
    """A cluster of three brokers whose groups have commits on each partition of a topic; each response takes a time."""

    def __init__(self, name: str, *, groups: int, delay_s: float) -> None:
        self._delay_s = delay_s
        commits = {("orders", partition): 10 + partition for partition in range(_PARTITIONS)}
        super().__init__(
            brokers=_BROKERS,
            groups={
                f"{name}-{number:05d}": Group(coordinator=1 + number % _BROKERS, state="Empty", commits=commits)
                for number in range(groups)
            },
            topics={"orders": {partition: 1 + partition % _BROKERS for partition in range(_PARTITIONS)}},
        )
        self.cluster_id = f"id-{name}"

    def _respond(self, request: ReceivedRequest) -> Struct:
        time.sleep(self._delay_s)
        return super()._respond(request)


@contextmanager
def start_clusters(names: Sequence[str], *, groups: int, delay_ms: float) -> Iterator[list[str]]:
    """Start a process for each cluster, with this number of groups; yield the addresses in the order of the names."""
    with ExitStack() as stack:
        processes = [_start(stack, name, groups, delay_ms) for name in names]
        yield [_read_line(process) for process in processes]
        for process in processes:
            assert process.stdin is not None
            process.stdin.close()


def _start(stack: ExitStack, name: str, groups: int, delay_ms: float) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", __name__, name, str(groups), str(delay_ms)]
    return stack.enter_context(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))


def _read_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def _serve(name: str, groups: str, delay_ms: str) -> None:
    with SlowCluster(name, groups=int(groups), delay_s=float(delay_ms) / 1000) as cluster:
        sys.stdout.write(f"{cluster.addresses[1]}\n")
        sys.stdout.flush()
        sys.stdin.read()


if __name__ == "__main__":
    _serve(*sys.argv[1:])
