"""A member of a share group that accepts the records it reads, at a rate.

`python share_application.py BOOTSTRAP GROUP TOPIC [--option VALUE …]`; it runs until it is ended.
"""

from __future__ import annotations

import argparse
import signal
import time
from types import FrameType

from confluent_kafka import ShareConsumer


def main() -> None:
    """Read until the process is asked to leave the group, or hang with the first records that were delivered."""
    parser = argparse.ArgumentParser()
    parser.add_argument("bootstrap")
    parser.add_argument("group")
    parser.add_argument("topic")
    parser.add_argument("--client-id", default="app")
    parser.add_argument("--rate", type=float, default=1e6, help="records a second")
    parser.add_argument("--hang", action="store_true", help="keep the first records, and acknowledge nothing")
    options = parser.parse_args()
    settings = {
        "bootstrap.servers": options.bootstrap,
        "group.id": options.group,
        "client.id": options.client_id,
        "max.poll.records": 20,
        "log_level": 0,
    }
    consumer = ShareConsumer(settings)
    consumer.subscribe([options.topic])
    is_asked_to_leave = False

    def ask_to_leave(_number: int, _frame: FrameType | None) -> None:
        nonlocal is_asked_to_leave
        is_asked_to_leave = True

    signal.signal(signal.SIGTERM, ask_to_leave)
    while not is_asked_to_leave:
        records = len(list(consumer.poll(0.2)))
        if records and options.hang:
            time.sleep(1e6)
        time.sleep(records / options.rate)
    consumer.close()


if __name__ == "__main__":
    main()
