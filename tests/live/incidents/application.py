"""An application that reads a topic as the options say: slowly, in batches, until it hangs, or not past a record.

`python application.py BOOTSTRAP GROUP TOPIC [--option VALUE …]`; it runs until it is ended.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import time
from types import FrameType
from typing import Final

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition

_TICK_S: Final = 0.05


def main() -> None:
    """Read until the process is ended, or until an option ends it."""
    options = _parse()
    consumer = Consumer(_settings(options))
    consumer.subscribe(options.topics.split(","))
    is_asked_to_leave = False

    def ask_to_leave(_number: int, _frame: FrameType | None) -> None:
        nonlocal is_asked_to_leave
        is_asked_to_leave = True

    signal.signal(signal.SIGTERM, ask_to_leave)
    started = time.monotonic()
    budget = 0.0
    failing: set[tuple[str | None, int | None]] = set()
    at = started
    while not is_asked_to_leave:
        now = time.monotonic()
        budget = min(budget + options.rate * (now - at), options.rate)
        at = now
        if options.crash_after and now - started > options.crash_after:
            os._exit(1)
        if options.hang_after and now - started > options.hang_after:
            time.sleep(options.hang_for)
            started = time.monotonic()
        if options.batch_period and (now - started) % options.batch_period > options.batch_length:
            consumer.consume(0, timeout=_TICK_S)
            _pause(consumer, is_paused=True)
            continue
        if options.batch_period:
            _pause(consumer, is_paused=False)
        for message in consumer.consume(max(0, min(500, int(budget))), timeout=_TICK_S):
            if message.error():
                continue
            budget -= 1
            key = (message.topic(), message.partition())
            if key in failing or _is_poison(message, options.poison):
                # The application fails on this record, and waits before it tries again; others go on.
                failing.add(key)
                _hold(consumer, message)
                continue
            consumer.store_offsets(message)
    consumer.close()


def _settings(options: argparse.Namespace) -> dict[str, str | int | float | bool]:
    settings: dict[str, str | int | float | bool] = {
        "bootstrap.servers": options.bootstrap,
        "group.id": options.group,
        "client.id": options.client_id,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": not options.no_commits,
        "enable.auto.offset.store": False,
        "auto.commit.interval.ms": round(1000 * options.commit_interval),
        "isolation.level": options.isolation,
        "fetch.wait.max.ms": 50,
        "queued.min.messages": 100,
        "log_level": 0,
    }
    if options.instance_id:
        settings["group.instance.id"] = options.instance_id
    if options.protocol == "consumer":
        return {**settings, "group.protocol": "consumer"}
    return {
        **settings,
        "session.timeout.ms": round(1000 * options.session_timeout),
        "heartbeat.interval.ms": 500,
        "max.poll.interval.ms": round(1000 * options.max_poll_interval),
        "partition.assignment.strategy": options.assignor,
    }


def _pause(consumer: Consumer, *, is_paused: bool) -> None:
    assigned = consumer.assignment()
    if assigned:
        (consumer.pause if is_paused else consumer.resume)(assigned)


def _is_poison(message: Message, poison: str) -> bool:
    return f"{message.topic()}:{message.partition()}:{message.offset()}" in poison.split(",")


def _hold(consumer: Consumer, message: Message) -> None:
    """Read no more of a partition."""
    topic, partition = message.topic(), message.partition()
    assert topic is not None
    assert partition is not None
    with contextlib.suppress(KafkaException):  # the partition was revoked meanwhile
        consumer.pause([TopicPartition(topic, partition)])


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("bootstrap")
    parser.add_argument("group")
    parser.add_argument("topics")
    parser.add_argument("--client-id", default="app")
    parser.add_argument("--instance-id", default="")
    parser.add_argument("--protocol", default="classic", choices=("classic", "consumer"))
    parser.add_argument("--assignor", default="range")
    parser.add_argument("--isolation", default="read_uncommitted")
    parser.add_argument("--rate", type=float, default=1e6, help="records a second, of all partitions")
    parser.add_argument("--commit-interval", type=float, default=1.0, help="seconds")
    parser.add_argument("--max-poll-interval", type=float, default=300.0, help="seconds")
    parser.add_argument("--session-timeout", type=float, default=6.0, help="seconds")
    parser.add_argument("--no-commits", action="store_true")
    parser.add_argument("--poison", default="", help="TOPIC:PARTITION:OFFSET,…: the application fails on these records")
    parser.add_argument("--batch-period", type=float, default=0.0, help="seconds between the begins of two batches")
    parser.add_argument("--batch-length", type=float, default=1.0, help="seconds of reading in each period")
    parser.add_argument("--hang-after", type=float, default=0.0, help="seconds of reading before the application hangs")
    parser.add_argument("--hang-for", type=float, default=1e6, help="seconds")
    parser.add_argument("--crash-after", type=float, default=0.0, help="seconds until the process dies")
    return parser.parse_args()


if __name__ == "__main__":
    main()
