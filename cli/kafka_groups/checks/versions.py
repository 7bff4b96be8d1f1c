"""The versions of a broker: APIs that it lacks, its release, and the features of the cluster."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from kafka_groups.checks.metadata_versions import NEWEST_RELEASE, describe_level, release_of
from kafka_groups.protocol.features import Features
from kafka_groups.protocol.messages import (
    ALL,
    API_VERSIONS,
    DESCRIBE_CLUSTER,
    DESCRIBE_PRODUCERS,
    SASL_AUTHENTICATE,
    SASL_HANDSHAKE,
    Api,
)

METADATA_VERSION: Final = "metadata.version"
# The features that decide which kinds of group a cluster has.
GROUP_FEATURES: Final = ("group.version", "share.version", "streams.version")
# A broker without these has no groups of a kind, so nothing is missing.
_OF_KINDS: Final[Mapping[str, str]] = {
    "ConsumerGroupDescribe": "KIP-848",
    "ShareGroupDescribe": "share",
    "DescribeShareGroupOffsets": "share",
    "AlterShareGroupOffsets": "share",
    "DeleteShareGroupOffsets": "share",
    "StreamsGroupDescribe": "streams",
}
# What does not work without an API.
_USES: Final[Mapping[str, str]] = {
    "DeleteGroups": "delete",
    "DescribeConfigs": "retention of topics",
    "DescribeGroups": "describe",
    "FindCoordinator": "all commands on groups",
    "LeaveGroup": "remove-members",
    "ListGroups": "list",
    "ListOffsets": "lag",
    "Metadata": "all commands",
    "OffsetCommit": "reset and undo",
    "OffsetDelete": "delete-offsets",
    "OffsetFetch": "offsets and lag",
}
# The connection itself needs the first three; DescribeCluster has an older API in its place, and no command needs
# DescribeProducers: it makes what is known of an open transaction certain.
_NOT_NAMED: Final = frozenset(
    api.name for api in (API_VERSIONS, SASL_HANDSHAKE, SASL_AUTHENTICATE, DESCRIBE_CLUSTER, DESCRIBE_PRODUCERS)
)


def missing_apis(versions: Mapping[int, tuple[int, int]]) -> list[Api]:
    """Return the APIs of this tool for which the broker has no version that the tool supports."""
    return [api for api in ALL if api.name not in _NOT_NAMED and not _is_common(api, versions.get(api.key))]


def describe_missing(apis: Iterable[Api]) -> list[str]:
    """Return a text for each missing API that some command needs, with the release that has it."""
    texts = []
    for api in apis:
        if api.name not in _OF_KINDS:
            release = f" (Kafka {api.first_release})" if api.first_release else ""
            texts.append(f"no {api.name}{release}, which {_USES.get(api.name, 'some commands')} needs")
    return texts


def describe_absent_kinds(apis: Iterable[Api]) -> str | None:
    """Return the kinds of group that a broker without these APIs does not have; None if it has all."""
    names = {api.name for api in apis}
    kinds = list(dict.fromkeys(kind for name, kind in _OF_KINDS.items() if name in names))
    *others, last = kinds or ("",)
    named = f"{', '.join(others)} or {last}" if others else last
    return f"no {named} groups" if kinds else None


def describe_release(features: Features | None) -> str:
    """Return the release of a broker by the highest metadata.version that it supports."""
    level = None if features is None else features.supported.get(METADATA_VERSION)
    release = None if level is None else release_of(level)
    if release is not None:
        return f"Kafka {release}"
    return (
        f"newer than Kafka {NEWEST_RELEASE}"
        if level is not None
        else "unknown release (before Kafka 3.0, or with ZooKeeper)"
    )


def describe_features(features: Features) -> str | None:
    """Return the levels in use that decide which groups there are; one that is not in use is 0. None without any."""
    if not features.supported and not features.finalized:
        return None
    known = [name for name in GROUP_FEATURES if name in features.supported or name in features.finalized]
    levels = [f"{name} {features.finalized.get(name, 0)}" for name in known]
    if METADATA_VERSION in features.finalized:
        levels.append(f"{METADATA_VERSION} {describe_level(features.finalized[METADATA_VERSION])}")
    return f"in use: {', '.join(levels)}" if levels else None


def describe_levels(brokers: Collection[Features]) -> tuple[bool, str]:
    """Return whether all brokers have a metadata.version, and the levels of the brokers and of the cluster.

    After an upgrade, the levels in use are older until the features are upgraded, too.
    """
    supported = [features.supported.get(METADATA_VERSION) for features in brokers]
    levels = sorted({level for level in supported if level is not None})
    if not levels or None in supported:
        brokers_have = "some brokers have" if levels else "the brokers have"
        return False, f"{brokers_have} no {METADATA_VERSION}: Kafka before 3.0, or with ZooKeeper"
    detail = f"the brokers support {METADATA_VERSION} {' and '.join(map(describe_level, levels))}"
    # All brokers return the same levels, which belong to the cluster.
    in_use = next(iter(brokers)).finalized
    if in_use:
        spelled = [
            f"{feature} {describe_level(level) if feature == METADATA_VERSION else level}"
            for feature, level in sorted(in_use.items())
        ]
        detail = f"{detail}; the cluster uses {', '.join(spelled)}"
    return True, detail


def _is_common(api: Api, offered: tuple[int, int] | None) -> bool:
    return offered is not None and max(offered[0], api.lowest) <= min(offered[1], api.highest)
