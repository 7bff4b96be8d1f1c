"""Durations as people read them."""

from __future__ import annotations

from typing import Final

_UNITS: Final = (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000))
_SECOND_MS: Final = 1_000
_TENTHS_BELOW_MS: Final = 10_000


def format_duration(ms: int) -> str:
    """Return the two largest units (3m12s, 2h5m, 1d), tenths of a second below ten seconds, milliseconds below one."""
    if ms < 0:
        return f"-{format_duration(-ms)}"
    if ms < _SECOND_MS:
        return f"{ms}ms" if ms else "0s"
    if ms < _TENTHS_BELOW_MS:
        whole, tenths = divmod(ms // 100, 10)
        return f"{whole}.{tenths}s" if tenths else f"{whole}s"
    at = next(place for place, (_, size) in enumerate(_UNITS) if ms >= size)
    texts = []
    for name, size in _UNITS[at : at + 2]:
        count, ms = divmod(ms, size)
        texts += [f"{count}{name}"] if count else []
    return "".join(texts)
