"""Producers of all incidents of a run: one thread that writes records to partitions at rates that may change."""

from __future__ import annotations

import threading
import time
from typing import Final

from confluent_kafka import KafkaException, Producer

_TICK_S: Final = 0.1


class Traffic:
    """Writes records to partitions, each at its rate in records a second."""

    def __init__(self, bootstrap: str) -> None:
        self._producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 20, "log_level": 0})
        self._rates: dict[tuple[str, int], float] = {}
        self._lock = threading.Lock()
        self._is_ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def set_rate(self, topic: str, partition: int, rate: float) -> None:
        """Write records to a partition at a rate from now on; 0 ends it."""
        with self._lock:
            self._rates[topic, partition] = rate

    def end(self, topics: str) -> None:
        """Write no more to topics whose names begin so."""
        with self._lock:
            self._rates = {key: rate for key, rate in self._rates.items() if not key[0].startswith(topics)}

    def write(self, topic: str, partition: int, records: int, *, age_s: float = 0.0) -> None:
        """Write records at once, with timestamps in the past."""
        at_ms = round(1000 * (time.time() - age_s))
        for number in range(records):
            self._produce(topic, partition, number, at_ms)
        self._producer.flush(30)

    def close(self) -> None:
        """Stop writing."""
        self._is_ended.set()
        self._thread.join()
        self._producer.flush(5)

    def _run(self) -> None:
        due: dict[tuple[str, int], float] = {}
        at = time.monotonic()
        while not self._is_ended.wait(_TICK_S):
            now = time.monotonic()
            with self._lock:
                rates = dict(self._rates)
            for (topic, partition), rate in rates.items():
                due[topic, partition] = due.get((topic, partition), 0.0) + rate * (now - at)
                while due[topic, partition] >= 1:
                    due[topic, partition] -= 1
                    self._produce(topic, partition, 0, round(1000 * time.time()))
            at = now
            self._producer.poll(0)

    def _produce(self, topic: str, partition: int, number: int, at_ms: int) -> None:
        try:
            self._producer.produce(topic, f"record {number}".encode(), partition=partition, timestamp=at_ms)
        except BufferError:
            self._producer.poll(1)
        except KafkaException:
            # The topic was deleted, or the producer does not know a new partition yet.
            self._producer.list_topics(topic, timeout=5)
