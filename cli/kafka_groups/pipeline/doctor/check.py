"""One check of the doctor: its subject, its result, and the detail that a reader needs."""

from __future__ import annotations

from typing import Final, NamedTuple

OK: Final = "ok"
WARNING: Final = "warning"
FAILED: Final = "failed"


class Check(NamedTuple):
    """What was looked at, how it is (ok, warning, failed), and what was found or helps."""

    check: str
    status: str
    detail: str
