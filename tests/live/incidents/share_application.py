"""A member of a share group that accepts the records it reads, at a rate.

`python share_application.py BOOTSTRAP GROUP TOPIC [--option VALUE …]`; it runs until it is ended.
"""

from __future__ import annotations

import argparse
import time

from confluent_kafka import ShareConsumer


def main() -> None:
    """Read until the process is ended, or hang with the first records that were delivered."""
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
        "log_level": 0,
    }
    consumer = ShareConsumer(settings)
    consumer.subscribe([options.topic])
    while True:
        records = len(list(consumer.poll(0.2)))
        if records and options.hang:
            time.sleep(1e6)
        time.sleep(records / options.rate)


if __name__ == "__main__":
    main()
