"""The requests of `sample` and `backfill`: versions, and whether groups, commits and log ends are returned."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from kafka_groups.admin import GroupAdmin
from kafka_groups.errors import AdminError, SettingsError
from kafka_groups.model import GroupListing, Results
from kafka_groups.pipeline.doctor import FAILED, OK, WARNING, Check

if TYPE_CHECKING:
    from kafka_groups.settings import ConnectionSettings

_METADATA: Final = "metadata.version"
# Of other kinds of group, `sample` reads only what the list returns.
_TYPES: Final = ("Classic", "Consumer", None)
_PROTOCOLS: Final = ("consumer", "")


def examine_asking(settings: Callable[[], ConnectionSettings]) -> list[Check]:
    """Return checks, each request within the settings' timeout; `settings` may raise SettingsError. Raises nothing."""
    try:
        with GroupAdmin(settings()) as admin:
            checks = [_versions(admin)]
            listed = admin.list_groups()
            return [*checks, _list(listed), *_describe(admin, listed.succeeded), _log_ends(admin)]
    except SettingsError as error:
        return [Check("sample", WARNING, f"sample and backfill cannot connect to these brokers: {error}")]
    except AdminError as error:
        return [Check("sample", FAILED, str(error))]


def _versions(admin: GroupAdmin) -> Check:
    """Check the highest metadata.version of each broker, and the features that the cluster uses, maybe older ones."""
    name = "versions of the brokers"
    responses = admin.describe_features()
    if not responses.succeeded:
        return Check(name, WARNING, _first(responses))
    known = [features.supported.get(_METADATA) for features in responses.succeeded.values()]
    levels = sorted({level for level in known if level is not None})
    if not levels or None in known:
        some = "some brokers have" if levels else "the brokers have"
        return Check(name, WARNING, f"{some} no {_METADATA}: Kafka before 3.0, or with ZooKeeper")
    detail = f"the brokers support {_METADATA} {' and '.join(map(str, levels))}"
    if finalized := next(iter(responses.succeeded.values())).finalized:
        uses = ", ".join(f"{feature} {level}" for feature, level in sorted(finalized.items()))
        detail = f"{detail}; the cluster uses {uses}"
    return Check(name, WARNING, f"{detail}; {_first(responses)}") if responses.failed else Check(name, OK, detail)


def _list(listed: Results[str, GroupListing]) -> Check:
    if listed.failed:
        return Check("list groups", FAILED, _first(listed))
    if not listed.succeeded:
        return Check("list groups", WARNING, "no group was listed: there is none, or this user has DESCRIBE on none")
    count = len(listed.succeeded)
    return Check("list groups", OK, f"{count:,} group{'' if count == 1 else 's'} on which this user has DESCRIBE")


def _describe(admin: GroupAdmin, found: Mapping[str, GroupListing]) -> list[Check]:
    """Check the state and commits of the first group that has both."""
    for name, group in found.items():
        if group.type in _TYPES and group.protocol_type in _PROTOCOLS:
            responses: tuple[Results[Any, Any], ...] = (
                admin.describe_consumer_groups([name]),
                admin.list_consumer_group_offsets({name: None}),
            )
            if refused := [f"{name}: {_first(response)}" for response in responses if response.failed]:
                return [Check("describe groups", FAILED, refused[0])]
            return [Check("describe groups", OK, f"state, members and commits of {name} were read")]
    return []


def _log_ends(admin: GroupAdmin) -> Check:
    """Check where one topic ends, and how many there are."""
    name = "log end offsets"
    topics = [topic for topic in admin.list_topics().succeeded.values() if not topic.internal and topic.partitions]
    if not topics:
        return Check(name, WARNING, "no topic was listed: there is none, or this user has DESCRIBE on none")
    ends = admin.list_offsets([(topics[0].name, topics[0].partitions[0])])
    if ends.failed:
        return Check(name, FAILED, _first(ends))
    count = f"{len(topics):,} topic{'' if len(topics) == 1 else 's'}"
    return Check(name, OK, f"{count} on which this user has DESCRIBE; the log end offset of {topics[0].name} was read")


def _first(responses: Results[Any, Any]) -> str:
    return next(iter(responses.failed.values())).message
