"""Waiting, never past a deadline."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from kafka_groups.model import GroupDescription
from tests.live.groups.asking import admin_of

LONGEST_S: Final = 40.0
_PAUSE_S = 0.05


def wait_until(is_so: Callable[[], bool], what: Callable[[], str], *, longest_s: float = LONGEST_S) -> None:
    """Return when it is so; TimeoutError says what was there instead."""
    deadline = time.monotonic() + longest_s
    while not is_so():
        if time.monotonic() > deadline:
            raise TimeoutError(what())
        time.sleep(_PAUSE_S)


def await_group(bootstrap: str, group: str, is_so: Callable[[GroupDescription], bool]) -> GroupDescription:
    """Return the group's description once it is so."""
    seen: list[GroupDescription | None] = [None]

    def look() -> bool:
        seen[0] = admin.describe_consumer_groups([group]).succeeded.get(group)
        return seen[0] is not None and is_so(seen[0])

    with admin_of(bootstrap) as admin:
        wait_until(look, lambda: f"group {group!r} is not as wanted but {seen[0]}")
    assert seen[0] is not None
    return seen[0]


def await_state(bootstrap: str, group: str, state: str, *, members: int) -> GroupDescription:
    """Return the group's description once it has that state and that many members."""
    return await_group(bootstrap, group, lambda found: (found.state, len(found.members)) == (state, members))
