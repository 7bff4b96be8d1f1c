"""Names of the levels of the feature metadata.version, by which a broker shows its release."""

from __future__ import annotations

from typing import Final

# The versions of MetadataVersion.java of Kafka 4.4.0 until its latest production version, by level: 1, 2, …
_VERSIONS: Final = (
    "3.0-IV1",
    "3.1-IV0",
    "3.2-IV0",
    "3.3-IV0",
    "3.3-IV1",
    "3.3-IV2",
    "3.3-IV3",
    "3.4-IV0",
    "3.5-IV0",
    "3.5-IV1",
    "3.5-IV2",
    "3.6-IV0",
    "3.6-IV1",
    "3.6-IV2",
    "3.7-IV0",
    "3.7-IV1",
    "3.7-IV2",
    "3.7-IV3",
    "3.7-IV4",
    "3.8-IV0",
    "3.9-IV0",
    "4.0-IV0",
    "4.0-IV1",
    "4.0-IV2",
    "4.0-IV3",
    "4.1-IV0",
    "4.1-IV1",
    "4.2-IV0",
    "4.2-IV1",
    "4.3-IV0",
    "4.4-IV0",
    "4.4-IV1",
    "4.4-IV2",
)
# The newest release of the table.
NEWEST_RELEASE: Final = _VERSIONS[-1].partition("-")[0]


def describe_level(level: int) -> str:
    """Return a level of metadata.version with the name that Kafka gives it: release and internal version.

    A level that Kafka gave to a later release has a note instead; a level below 1 has neither.
    """
    if level < 1:
        return str(level)
    if level > len(_VERSIONS):
        return f"{level} (newer than this version knows)"
    return f"{level} ({_VERSIONS[level - 1]})"


def release_of(level: int) -> str | None:
    """Return the release of a level, such as 4.3; None for one that no release of the table has."""
    return _VERSIONS[level - 1].partition("-")[0] if 1 <= level <= len(_VERSIONS) else None
