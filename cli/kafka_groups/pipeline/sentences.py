"""Pieces of the sentences that runs say of what they found or lack."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from typing import Final

_MOST_NAMED: Final = 5


def of_cluster(sentence: str, cluster: str, clusters: Collection[str]) -> str:
    """Return the sentence, with the cluster that it is about where there are several."""
    return f"Cluster {cluster}: {sentence}" if len(clusters) > 1 else capital(sentence)


def capital(sentence: str) -> str:
    """Return a sentence that stands alone."""
    return sentence[:1].upper() + sentence[1:]


def spell(ms: int) -> str:
    """Return the time like 2026-11-20T10:03Z."""
    return time.strftime("%Y-%m-%dT%H:%MZ", time.gmtime(ms // 1_000))


def few(names: Sequence[str]) -> str:
    """Return the first five, with a sign if there are more: sentences are not for lists."""
    return ", ".join(names[:_MOST_NAMED]) + (", …" if len(names) > _MOST_NAMED else "")
