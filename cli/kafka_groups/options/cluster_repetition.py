"""Several clusters that are read again and again, each at an interval of its own."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from threading import Event, Thread
from typing import Any, TypeVar

from kafka_groups.options.cluster_threads import TICK_S, Body, ClusterReader, Outcome, wait_for_outcome

T = TypeVar("T")


def run_repeatedly(
    readers: Sequence[ClusterReader], body: Body[T], interval_s: float, is_ended: Callable[[ClusterReader], bool]
) -> Generator[Outcome[T], None, None]:
    """Run a body on each cluster at this interval in a thread of its own, so that a slow one delays no other.

    A cluster that `is_ended` is left out from then on. Raises the first error that is no failure of a cluster. The
    threads end with the process, or at the end of this generator.
    """
    # A thread that has an outcome waits until those before it are taken.
    outcomes = queue.Queue[Any](maxsize=1)
    stop = Event()

    def run(reader: ClusterReader) -> None:
        next_start_s = time.monotonic()
        try:
            while not (stop.is_set() or is_ended(reader)):
                _put(outcomes, reader.read(body), stop)
                # A late run does not delay those after it.
                next_start_s = max(next_start_s + interval_s, time.monotonic() - interval_s)
                stop.wait(max(0.0, next_start_s - time.monotonic()))
        except BaseException as error:  # noqa: BLE001 - the main thread raises it
            _put(outcomes, error, stop)
        else:
            _put(outcomes, None, stop)
        finally:
            reader.close()

    for reader in readers:
        Thread(target=run, args=(reader,), name=f"cluster {reader.name}", daemon=True).start()
    running = len(readers)
    try:
        while running:
            outcome = wait_for_outcome(outcomes)
            if outcome is None:
                running -= 1
            else:
                yield outcome
    finally:
        stop.set()


def _put(outcomes: queue.Queue[Any], item: object, stop: Event) -> None:
    while not stop.is_set():
        with suppress(queue.Full):
            outcomes.put(item, timeout=TICK_S)
            return
