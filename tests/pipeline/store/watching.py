"""A reader that looks again and again while something changes."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from kafka_groups.pipeline.store import Storage
from tests.pipeline.store.commits import seen

# Without a pause, the reader takes most of the processor from what it watches, and sees each state many times.
_PAUSE_S: Final = 0.005


@dataclass
class Looks:
    """How often it looked, and what it saw that was not expected."""

    number: int = 0
    wrong: list[Counter[int]] = field(default_factory=list)


@contextmanager
def watched(storage: Storage, expected: Iterable[int]) -> Iterator[Looks]:
    """Yield the reads of a thread that expects each offset once; a read of a deleted file does not count."""
    looks, over, wanted = Looks(), threading.Event(), Counter(expected)

    def look() -> None:
        while not over.is_set():
            try:
                found = seen(storage)
            except FileNotFoundError:
                continue
            looks.number += 1
            if found != wanted:
                looks.wrong.append(found)
            over.wait(_PAUSE_S)

    reader = threading.Thread(target=look)
    reader.start()
    try:
        yield looks
    finally:
        over.set()
        reader.join()
