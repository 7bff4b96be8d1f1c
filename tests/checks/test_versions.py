"""Texts on versions of brokers: releases, missing APIs, kinds of group that a broker does not have, features."""

from __future__ import annotations

from kafka_groups.checks.versions import (
    describe_absent_kinds,
    describe_features,
    describe_levels,
    describe_missing,
    describe_release,
    missing_apis,
)
from kafka_groups.protocol.features import Features
from kafka_groups.protocol.messages import (
    ALL,
    CONSUMER_GROUP_DESCRIBE,
    DELETE_GROUPS,
    DESCRIBE_CLUSTER,
    LIST_GROUPS,
    SHARE_GROUP_DESCRIBE,
    STREAMS_GROUP_DESCRIBE,
)
from tests.checks.evidence import EVERY_API


def levels(**supported: int) -> Features:
    return Features(supported={name.replace("_", "."): level for name, level in supported.items()}, finalized={})


def test_a_broker_with_every_api_lacks_none() -> None:
    assert missing_apis(EVERY_API) == []
    assert describe_missing([]) == []
    assert describe_absent_kinds([]) is None


def test_an_api_that_commands_need_names_them_and_the_release() -> None:
    versions = {key: offered for key, offered in EVERY_API.items() if key != DELETE_GROUPS.key}
    assert missing_apis(versions) == [DELETE_GROUPS]
    assert describe_missing(missing_apis(versions)) == ["no DeleteGroups (Kafka 1.1), which delete needs"]


def test_versions_without_a_common_one_are_missing() -> None:
    future = LIST_GROUPS.highest + 1
    assert missing_apis({**EVERY_API, LIST_GROUPS.key: (future, future)}) == [LIST_GROUPS]


def test_an_older_broker_has_no_groups_of_new_kinds_and_lacks_nothing_for_them() -> None:
    absent = (CONSUMER_GROUP_DESCRIBE, SHARE_GROUP_DESCRIBE, STREAMS_GROUP_DESCRIBE, DESCRIBE_CLUSTER)
    missing = missing_apis({api.key: (api.lowest, api.highest) for api in ALL if api not in absent})
    assert describe_missing(missing) == []
    assert describe_absent_kinds(missing) == "no KIP-848, share or streams groups"


def test_a_broker_may_lack_groups_of_one_kind() -> None:
    assert describe_absent_kinds([STREAMS_GROUP_DESCRIBE]) == "no streams groups"


def test_the_release_follows_from_the_highest_metadata_version() -> None:
    assert describe_release(levels(metadata_version=30)) == "Kafka 4.3"
    assert describe_release(levels(metadata_version=1)) == "Kafka 3.0"
    assert describe_release(levels(metadata_version=99)) == "newer than Kafka 4.4"
    assert (
        describe_release(levels()) == describe_release(None) == "unknown release (before Kafka 3.0, or with ZooKeeper)"
    )


def test_a_feature_that_is_supported_and_not_in_use_has_level_0() -> None:
    found = Features(supported={"share.version": 1, "group.version": 1}, finalized={"group.version": 1})
    assert describe_features(found) == "in use: group.version 1, share.version 0"
    assert describe_features(levels()) is None


def test_levels_of_all_brokers_are_compared() -> None:
    assert describe_levels([levels(metadata_version=21), levels(metadata_version=22)]) == (
        True,
        "the brokers support metadata.version 21 (3.9-IV0) and 22 (4.0-IV0)",
    )
    assert describe_levels([levels(metadata_version=21), levels()])[0] is False
