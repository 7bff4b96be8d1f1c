"""How long one request holds a broker, by its size: what the product's bounds on a request are chosen by.

    python -m tests.bench.holding [--groups N]

A client asks a broker one question about many groups, while another client asks the same broker for the
offsets of one group again and again: what the second one waits is what the size of the first one costs
others. Quietest on an idle machine.
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

from .cluster import tell, three_brokers
from .fill import PARTITIONS, group_name
from .report import machine, table
from .wire import FIND_COORDINATOR_VERSION, Line, by_coordinator, frame_of

_FETCH_VERSION: Final = 8
_FETCH_SIZES: Final = (1, 100, 500, 1_000, 2_000, 5_000, 10_000, 20_000)
_LOOK_UP_SIZES: Final = (1, 1_000, 5_000, 10_000, 20_000, 65_000)
_TIMES: Final = 9
_PAUSE_S: Final = 0.2
_HEADER: Final = (
    "in one request",
    "it takes, median (max)",
    "longest wait of another client meanwhile, median (max)",
    "all groups, one request after the other",
)
_Frames = Callable[[Sequence[str]], bytes]


@dataclass(frozen=True, kw_only=True)
class Waits:
    """What another client waited for its answers, each with the time it was asked at."""

    asked: list[tuple[float, float]] = field(default_factory=list)

    def longest(self, start: float, end: float) -> float:
        """The longest wait that falls together with this span, in seconds."""
        return max((took for at, took in self.asked if at < end and at + took > start), default=0.0)


def main() -> None:
    """Fill, measure, print."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.holding", description=__doc__)
    parser.add_argument("--groups", type=int, default=65_000, help="groups in the cluster (default: %(default)s)")
    options = parser.parse_args()
    with three_brokers(tell) as (filling, _):
        filling.reach(options.groups)
        sys.stdout.write(machine() + "\n\n")
        hold(filling.bootstrap, options.groups)


def hold(bootstrap: str, groups: int) -> None:
    """Print both tables."""
    names = [group_name(number) for number in range(groups)]
    coordinator, own = max(by_coordinator(bootstrap, names).items(), key=lambda item: len(item[1]))
    probe = own[0]
    title = f"OffsetFetch, {PARTITIONS} partitions a group, {len(own):,} groups on the coordinator"
    _print(title, _measure_all(coordinator, own, probe, _FETCH_SIZES, _fetch_frame))
    _print("FindCoordinator", _measure_all(coordinator, names, probe, _LOOK_UP_SIZES, _look_up_frame))


def _print(title: str, rows: Sequence[Sequence[str]]) -> None:
    sys.stdout.write("\n".join([f"### {title}", "", *table(rows), "", ""]))
    sys.stdout.flush()


def _measure_all(
    broker: str, names: Sequence[str], probe: str, sizes: Sequence[int], frame: _Frames
) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [_HEADER]
    for size in sizes:
        if size > len(names):
            break
        tell(f"{size:,} in one request")
        rows.append(_measure(broker, names, probe, size, frame))
    return rows


def _measure(broker: str, names: Sequence[str], probe: str, size: int, frame: _Frames) -> tuple[str, ...]:
    one = frame(names[:size])
    parts = [frame(names[at : at + size]) for at in range(0, len(names), size)] if size > 1 else []
    with Line(broker) as line:
        line.exchange(one)
        with _other_client(broker, probe) as waits:
            spans = [_timed(line, one) for _ in range(_TIMES)]
        whole = time.perf_counter()
        for part in parts:
            line.exchange(part)
        whole = time.perf_counter() - whole
    return (
        f"{size:,}",
        _median_and_max([end - start for start, end in spans]),
        _median_and_max([waits.longest(start, end) for start, end in spans]),
        f"{whole:.2f} s" if parts else "-",
    )


def _timed(line: Line, frame: bytes) -> tuple[float, float]:
    time.sleep(_PAUSE_S)
    start = time.perf_counter()
    line.exchange(frame)
    return start, time.perf_counter()


@contextmanager
def _other_client(broker: str, group: str) -> Iterator[Waits]:
    waits = Waits()
    stop = threading.Event()
    frame = _fetch_frame([group])

    def ask() -> None:
        with Line(broker) as line:
            while not stop.is_set():
                start = time.perf_counter()
                line.exchange(frame)
                waits.asked.append((start, time.perf_counter() - start))
                # Often enough to meet a request that takes a few milliseconds, too seldom to be load.
                time.sleep(0.001)

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield waits
    finally:
        stop.set()
        thread.join()


def _fetch_frame(groups: Sequence[str]) -> bytes:
    wanted: list[Mapping[str, Any]] = [{"group_id": group, "topics": None} for group in groups]
    return frame_of(OFFSET_FETCH, _FETCH_VERSION, {"groups": wanted, "require_stable": False})


def _look_up_frame(groups: Sequence[str]) -> bytes:
    return frame_of(FIND_COORDINATOR, FIND_COORDINATOR_VERSION, {"key_type": 0, "coordinator_keys": groups})


def _median_and_max(seconds: Sequence[float]) -> str:
    return f"{statistics.median(seconds) * 1000:.1f} ms ({max(seconds) * 1000:.1f})"


if __name__ == "__main__":
    main()
