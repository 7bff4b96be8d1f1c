"""Parts of the sentences that builds, reports and commands print."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable
from typing import Final

from kafka_groups.name_lists import first_names

_MAX_NAMES: Final = 5


def capitalize_first(sentence: str) -> str:
    """Return the sentence with a capital letter at its start; the other letters stay as they are."""
    return sentence[:1].upper() + sentence[1:]


def name_cluster(sentence: str, cluster_id: str, clusters: Collection[str]) -> str:
    """Return the sentence with the cluster's id in front if there are several clusters, else with a capital letter."""
    return f"Cluster {cluster_id}: {sentence}" if len(clusters) > 1 else capitalize_first(sentence)


def format_minute(time_ms: int) -> str:
    """Return a time in milliseconds since 1970 like 2026-11-20T10:03Z."""
    return time.strftime("%Y-%m-%dT%H:%MZ", time.gmtime(time_ms // 1_000))


def list_names(names: Iterable[str]) -> str:
    """Return the first five names, joined by commas, with an ellipsis if there are more."""
    return first_names(names, _MAX_NAMES)
