"""Words that the sentences of several causes share."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

from kafka_groups.command_lines import command_line
from kafka_groups.model import Member, TopicPartition
from kafka_groups.name_lists import first_names

_MAX_NAMES: Final = 3
_SMALL_RATE: Final = 10
_UNITS: Final = ((120, 1, "s"), (7_200, 60, "min"), (172_800, 3_600, "h"))


def name_partition(key: TopicPartition) -> str:
    """Return a partition as Kafka's logs do: `orders-3`."""
    return f"{key.topic}-{key.partition}"


def name_partitions(keys: Iterable[TopicPartition]) -> str:
    """Return the first partitions, and how many more there are."""
    return first_names(map(name_partition, sorted(keys)), _MAX_NAMES, more=" and {:,} more")


def name_member(member: Member) -> str:
    """Return a member by its client id and host."""
    return f"{member.client_id} on {member.host.removeprefix('/')}"


def name_time(at_ms: int) -> str:
    """Return the time of day in UTC, to the second: `09:40:13 UTC`."""
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%H:%M:%S UTC")


def count(number: int, noun: str) -> str:
    """Return a number with its noun: `1 record`, `1,200 records`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def name_rate(per_second: float) -> str:
    """Return a rate with its unit: `1,200 records/s`, `0.4 records/s`."""
    has_decimal = 0 < per_second < _SMALL_RATE
    return f"{per_second:.1f} records/s" if has_decimal else f"{per_second:,.0f} records/s"


def name_duration(milliseconds: float) -> str:
    """Return a duration in its largest whole unit: `25 s`, `3 min`, `2 h`, `3 days`."""
    seconds = milliseconds / 1000
    for limit, unit_s, unit in _UNITS:
        if seconds < limit:
            return f"{seconds / unit_s:.0f} {unit}"
    return f"{seconds / 86_400:,.0f} days"


def console_consumer(bootstrap_server: str, key: TopicPartition, offset: int) -> str:
    """Return the command line of Kafka's tool that prints one record."""
    return command_line(
        "kafka-console-consumer.sh",
        "--bootstrap-server",
        bootstrap_server,
        "--topic",
        key.topic,
        "--partition",
        key.partition,
        "--offset",
        offset,
        "--max-messages",
        1,
    )
