"""The option --topic, and the partitions that it names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import click

from kafka_groups.numerals import BLANKS, hint_of_integer
from kafka_groups.options import offer
from kafka_groups.options.parameters import NAME, F

_MAX_PARTITION: Final = 2**31 - 1


def topic_option(help_text: str = "This topic, or these partitions of it. Repeatable.") -> Callable[[F], F]:
    """Add --topic, which arrives as `topics`; `parse_topics` returns its partitions."""
    return click.option(
        "--topic",
        "topics",
        metavar="T[:P,…]",
        type=NAME,
        multiple=True,
        shell_complete=offer("topics_or_partitions"),
        help=help_text,
    )


def parse_topics(texts: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """Return the partitions of `orders:0,1` by topic, ascending; none for a topic that is named as a whole.

    Raises UsageError for a text of another form.
    """
    topics: dict[str, set[int] | None] = {}
    for text in texts:
        topic, colon, numbers = text.partition(":")
        if not topic or ":" in numbers:
            msg = f"--topic {text!r} cannot be parsed; write a topic, or a topic and partitions as orders:0,1"
            raise click.UsageError(msg)
        if not colon:
            # The whole topic includes the partitions that other options name.
            topics[topic] = None
            continue
        partitions = _parse_partitions(text, numbers)
        if (named := topics.setdefault(topic, set())) is not None:
            named.update(partitions)
    return {topic: tuple(sorted(partitions or ())) for topic, partitions in topics.items()}


def format_topics(topics: Mapping[str, Sequence[int]]) -> list[str]:
    """Return the texts that `parse_topics` reads, one for each topic, sorted."""
    return [
        f"{topic}:{','.join(map(str, partitions))}" if partitions else topic
        for topic, partitions in sorted(topics.items())
    ]


def _parse_partitions(text: str, numbers: str) -> list[int]:
    parts = [part.strip(BLANKS) for part in numbers.split(",") if part.strip(BLANKS)]
    invalid = [part for part in parts if not _is_partition(part)]
    if invalid or not parts:
        problem = f"{invalid[0]!r} is not a partition" if invalid else "no partition is named after the colon"
        hint = (hint_of_integer(invalid[0]) if invalid else "") or "; write partitions as orders:0,1"
        msg = f"--topic {text!r}: {problem}{hint}"
        raise click.UsageError(msg)
    return [int(part) for part in parts]


def _is_partition(text: str) -> bool:
    # Python refuses to convert thousands of digits.
    return text.isascii() and text.isdigit() and len(text) <= len(str(_MAX_PARTITION)) and int(text) <= _MAX_PARTITION
