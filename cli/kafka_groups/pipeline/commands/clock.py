"""The time at which a command runs."""

from __future__ import annotations

import time
from datetime import UTC, datetime


def now_ms() -> int:
    """Return the current time in milliseconds since 1970, UTC."""
    return time.time_ns() // 1_000_000


def timestamp() -> str:
    """Return the current time (UTC), for the beginning of a line of an endless run."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
