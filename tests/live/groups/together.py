"""Several groups held at the same time, brought about at the same time."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import TypeVar

T = TypeVar("T")


@contextmanager
def together(**holders: AbstractContextManager[T]) -> Iterator[dict[str, T]]:
    """Hold all of them, by the names given; whichever came about ends, also if another one did not."""
    with ExitStack() as all_of_them, ThreadPoolExecutor(len(holders)) as pool:

        def enter(holder: AbstractContextManager[T]) -> T:
            entered = holder.__enter__()
            all_of_them.push(holder)
            return entered

        entering = {name: pool.submit(enter, holder) for name, holder in holders.items()}
        yield {name: future.result() for name, future in entering.items()}
