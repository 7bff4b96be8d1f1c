"""The time for which one request blocks a broker, by its size: the product's bounds on a request follow from it.

    python -m tests.bench.request_sizes [--groups N]

One client sends a broker a request for many groups. Another client repeatedly fetches the offsets of one group from
the same broker: its waits are what the size of the first client's request costs other clients. Run it on an idle
machine.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from kafka_groups.protocol.messages import FIND_COORDINATOR, OFFSET_FETCH

from .cluster import print_progress, start_three_brokers
from .connection import FIND_COORDINATOR_VERSION, BrokerConnection, encode_frame, group_by_coordinator
from .report import describe_machine, format_table
from .workload import PARTITIONS, group_name

_FETCH_VERSION: Final = 8
_FETCH_SIZES: Final = (1, 100, 500, 1_000, 2_000, 5_000, 10_000, 20_000)
_LOOKUP_SIZES: Final = (1, 1_000, 5_000, 10_000, 20_000, 65_000)
_TIMES: Final = 9
_PAUSE_S: Final = 0.2
_HEADER: Final = (
    "in one request",
    "its time, median (max)",
    "longest wait of another client at that time, median (max)",
    "all groups, one request after the other",
)
_Frames = Callable[[Sequence[str]], bytes]


@dataclass(frozen=True, kw_only=True)
class Waits:
    """The waits of another client for its responses, each as the time of the request and the seconds that it took."""

    samples: list[tuple[float, float]] = field(default_factory=list)

    def longest(self, start: float, end: float) -> float:
        """Return the longest wait that overlaps with this span, in seconds."""
        return max((seconds for at, seconds in self.samples if at < end and at + seconds > start), default=0.0)


def main() -> None:
    """Create the groups, measure, and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.request_sizes", description=__doc__)
    parser.add_argument("--groups", type=int, default=65_000, help="groups in the cluster (default: %(default)s)")
    options = parser.parse_args()
    with start_three_brokers(print_progress) as (cluster, _):
        cluster.create_groups(options.groups)
        sys.stdout.write(describe_machine() + "\n\n")
        print_tables(cluster.bootstrap, options.groups)


def print_tables(bootstrap: str, groups: int) -> None:
    """Measure requests of each size, and print a table for OffsetFetch and one for FindCoordinator."""
    names = [group_name(number) for number in range(groups)]
    coordinator, own = max(group_by_coordinator(bootstrap, names).items(), key=lambda item: len(item[1]))
    probe = own[0]
    title = f"OffsetFetch, {PARTITIONS} partitions a group, {len(own):,} groups on the coordinator"
    _print(title, _measure_all(coordinator, own, probe, _FETCH_SIZES, _fetch_frame))
    _print("FindCoordinator", _measure_all(coordinator, names, probe, _LOOKUP_SIZES, _lookup_frame))


def _print(title: str, rows: Sequence[Sequence[str]]) -> None:
    sys.stdout.write("\n".join([f"### {title}", "", *format_table(rows), "", ""]))
    sys.stdout.flush()


def _measure_all(
    broker: str, names: Sequence[str], probe: str, sizes: Sequence[int], frame: _Frames
) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [_HEADER]
    for size in sizes:
        if size > len(names):
            break
        print_progress(f"{size:,} in one request")
        rows.append(_measure(broker, names, probe, size, frame))
    return rows


def _measure(broker: str, names: Sequence[str], probe: str, size: int, frame: _Frames) -> tuple[str, ...]:
    one = frame(names[:size])
    parts = [frame(names[at : at + size]) for at in range(0, len(names), size)] if size > 1 else []
    with BrokerConnection(broker) as connection:
        connection.send_frame(one)
        with _other_client(broker, probe) as waits:
            spans = [_time_frame(connection, one) for _ in range(_TIMES)]
        whole = time.perf_counter()
        for part in parts:
            connection.send_frame(part)
        whole = time.perf_counter() - whole
    return (
        f"{size:,}",
        _median_and_max([end - start for start, end in spans]),
        _median_and_max([waits.longest(start, end) for start, end in spans]),
        f"{whole:.2f} s" if parts else "-",
    )


def _time_frame(connection: BrokerConnection, frame: bytes) -> tuple[float, float]:
    time.sleep(_PAUSE_S)
    start = time.perf_counter()
    connection.send_frame(frame)
    return start, time.perf_counter()


@contextmanager
def _other_client(broker: str, group: str) -> Iterator[Waits]:
    waits = Waits()
    stop = threading.Event()
    frame = _fetch_frame([group])

    def fetch_repeatedly() -> None:
        with BrokerConnection(broker) as connection:
            while not stop.is_set():
                start = time.perf_counter()
                connection.send_frame(frame)
                waits.samples.append((start, time.perf_counter() - start))
                # Short enough to overlap with a request of a few milliseconds, long enough to cause no load.
                time.sleep(0.001)

    thread = threading.Thread(target=fetch_repeatedly)
    thread.start()
    try:
        yield waits
    finally:
        stop.set()
        thread.join()


def _fetch_frame(groups: Sequence[str]) -> bytes:
    wanted: list[Mapping[str, Any]] = [{"group_id": group, "topics": None} for group in groups]
    return encode_frame(OFFSET_FETCH, _FETCH_VERSION, {"groups": wanted, "require_stable": False})


def _lookup_frame(groups: Sequence[str]) -> bytes:
    return encode_frame(FIND_COORDINATOR, FIND_COORDINATOR_VERSION, {"key_type": 0, "coordinator_keys": groups})


def _median_and_max(seconds: Sequence[float]) -> str:
    return f"{statistics.median(seconds) * 1000:.1f} ms ({max(seconds) * 1000:.1f})"


if __name__ == "__main__":
    main()
