"""`--topic T[:P,…]` as Kafka's tools write it."""

from __future__ import annotations

from collections.abc import Sequence

import click


def parse_topics(texts: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """Partitions by topic, ascending; none for a topic that is named whole. UsageError names what is wrong."""
    topics: dict[str, set[int] | None] = {}
    for text in texts:
        topic, colon, listed = text.partition(":")
        if not topic or ":" in listed:
            msg = f"--topic {text!r}: write a topic, or a topic and partitions as orders:0,1"
            raise click.UsageError(msg)
        if not colon:
            # Named whole once is named whole, whatever else is said of it.
            topics[topic] = None
        elif topics.get(topic, set()) is not None:
            topics.setdefault(topic, set()).update(_partitions(text, listed))  # type: ignore[union-attr]
    return {topic: tuple(sorted(partitions or ())) for topic, partitions in topics.items()}


def _partitions(text: str, listed: str) -> list[int]:
    parts = [part.strip() for part in listed.split(",") if part.strip()]
    odd = [part for part in parts if not (part.isascii() and part.isdigit() and int(part) < 2**31)]
    if odd or not parts:
        told = f"{odd[0]!r} is not a partition" if odd else "no partition is named after the colon"
        msg = f"--topic {text!r}: {told}"
        raise click.UsageError(msg)
    return [int(part) for part in parts]
