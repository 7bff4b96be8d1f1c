"""A check of the doctor: its subject, its status, and a detail that helps the reader."""

from __future__ import annotations

from typing import Final, NamedTuple

OK: Final = "ok"
WARNING: Final = "warning"
FAILED: Final = "failed"


class Check(NamedTuple):
    """The subject of a check, its status (ok, warning or failed), and what was found or what to do."""

    check: str
    status: str
    detail: str
