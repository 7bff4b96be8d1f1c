"""Tables on stdout, for comparisons in which the order of groups and rows does not count (Java's is a hash table's)."""

from __future__ import annotations

from collections.abc import Iterable

Blocks = list[tuple[str, list[str]]]


def sorted_blocks(text: str) -> Blocks:
    """Return the header and the sorted rows of each table, with the tables sorted."""
    tables = [table.split("\n") for table in text.strip("\n").split("\n\n")]
    return sorted((header, sorted(rows)) for header, *rows in tables)


def sorted_words(text: str, *, columns: int | None = None) -> list[list[str]]:
    """Return the first words of each line, with the lines sorted."""
    return sorted(line.split()[:columns] for line in text.splitlines() if line.strip())


def sorted_notes(text: str) -> list[str]:
    """Return the lines of stderr, sorted."""
    return sorted(line for line in text.splitlines() if line.strip())


def group_options(groups: Iterable[str]) -> list[str]:
    """Return `--group` for each group, as Kafka's tool takes them."""
    return [word for group in groups for word in ("--group", group)]
