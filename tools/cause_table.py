"""The table of causes in docs/why.md, from the causes of the package."""

from __future__ import annotations

from itertools import dropwhile
from typing import Final

from kafka_groups.causes.catalogue import CAUSES
from kafka_groups.causes.cause import Cause, Due

PAGE: Final = "docs/why.md"
_HEAD: Final = "| cause | meaning | kind | seen | needs |\n|---|---|---|---|---|\n"
_SEEN: Final = {Due.LIVE: "in polls", Due.HISTORY: "in a history"}


def with_table(text: str) -> str:
    """Return the text of the page with the current table in place of the one that it has."""
    before, head, rest = text.partition(_HEAD)
    if not head:
        msg = f"{PAGE} has no table that begins with {_HEAD!r}"
        raise ValueError(msg)
    after = dropwhile(lambda line: line.startswith("|"), rest.splitlines(keepends=True))
    return "".join([before, head, *map(_row, CAUSES), *after])


def _row(cause: Cause) -> str:
    needs = ", ".join(need.replace("_", " ") for need in cause.needs)
    return f"| `{cause.name}` | {cause.title} | {cause.kind} | {_SEEN[cause.due]} | {needs} |\n"
