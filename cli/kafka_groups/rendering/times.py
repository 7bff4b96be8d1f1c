"""Times in UTC as documents have them."""

from __future__ import annotations

from datetime import datetime


def format_time(moment: datetime, *, timespec: str = "seconds") -> str:
    """Return a time in UTC as ISO-8601 text that ends with Z."""
    return moment.isoformat(timespec=timespec).replace("+00:00", "Z")
