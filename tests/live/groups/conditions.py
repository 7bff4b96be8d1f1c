"""Conditions that a test waits for, each with a deadline."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from kafka_groups.model import GroupDescription
from tests.live.groups.clients import open_admin

TIMEOUT_S: Final = 40.0
_PAUSE_S = 0.05


def wait_until(is_met: Callable[[], bool], describe: Callable[[], str], *, timeout_s: float = TIMEOUT_S) -> None:
    """Return when the condition is met; raise TimeoutError with a description of what was found instead."""
    deadline = time.monotonic() + timeout_s
    while not is_met():
        if time.monotonic() > deadline:
            raise TimeoutError(describe())
        time.sleep(_PAUSE_S)


def await_group(bootstrap: str, group: str, is_met: Callable[[GroupDescription], bool]) -> GroupDescription:
    """Return the group's description once it meets the condition."""
    latest: list[GroupDescription | None] = [None]

    def check() -> bool:
        latest[0] = admin.describe_groups([group]).succeeded.get(group)
        return latest[0] is not None and is_met(latest[0])

    with open_admin(bootstrap) as admin:
        wait_until(check, lambda: f"group {group!r} does not meet the condition: {latest[0]}")
    assert latest[0] is not None
    return latest[0]


def await_state(bootstrap: str, group: str, state: str, *, members: int) -> GroupDescription:
    """Return the group's description once it has that state and that many members."""
    return await_group(bootstrap, group, lambda found: (found.state, len(found.members)) == (state, members))
