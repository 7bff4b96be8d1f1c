"""Several context managers entered at the same time."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import TypeVar

T = TypeVar("T")


@contextmanager
def enter_concurrently(**contexts: AbstractContextManager[T]) -> Iterator[dict[str, T]]:
    """Enter all contexts, and yield their values by name; exit every entered one, also if another one failed."""
    with ExitStack() as stack, ThreadPoolExecutor(len(contexts)) as pool:

        def enter(context: AbstractContextManager[T]) -> T:
            value = context.__enter__()
            stack.push(context)
            return value

        futures = {name: pool.submit(enter, context) for name, context in contexts.items()}
        yield {name: future.result() for name, future in futures.items()}
