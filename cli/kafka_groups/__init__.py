"""Consumer groups of Apache Kafka: many groups in one request, a result or an error for each.

    from kafka_groups import GroupAdmin, list_lag

    with GroupAdmin({"bootstrap.servers": "localhost:9092"}) as admin:
        for group, lag in list_lag(admin, ["billing", "checkout"]).succeeded.items():
            print(group, lag.total)

`GroupAdmin` has the operations of Kafka's Admin client on groups. Each returns `Results`: what succeeded and
what failed, by item. Names are imported from this package when they are used, so that importing it costs little.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from kafka_groups.admin import (
        Admin,
        Deadline,
        Features,
        GroupAdmin,
        IsolationLevel,
        MemberIdentity,
        OffsetAndTimestamp,
        OffsetSpec,
        PartitionTime,
        ProducerState,
        Timeout,
        Topic,
    )
    from kafka_groups.errors import (
        AdminError,
        AuthenticationFailedError,
        BrokerError,
        ConfigProviderError,
        ConnectionFailedError,
        InvalidRequestError,
        KafkaGroupsError,
        MalformedResponseError,
        MissingFromResponseError,
        NameNotResolvedError,
        OutcomeUnknownError,
        SettingsError,
        TimeoutExceededError,
        TlsFailedError,
        UnsupportedVersionError,
    )
    from kafka_groups.groups.lag.group_lag import GroupLag, list_lag
    from kafka_groups.model import (
        Assignment,
        Broker,
        CommittedOffset,
        Failure,
        GroupDescription,
        GroupListing,
        GroupOffsets,
        Member,
        OffsetRow,
        Results,
        TopicPartition,
    )

__version__ = "0.1.0"
# The day of this version, which man pages show.
__date__ = "2026-11-23"

__all__ = [
    "Admin",
    "AdminError",
    "Assignment",
    "AuthenticationFailedError",
    "Broker",
    "BrokerError",
    "CommittedOffset",
    "ConfigProviderError",
    "ConnectionFailedError",
    "Deadline",
    "Failure",
    "Features",
    "GroupAdmin",
    "GroupDescription",
    "GroupLag",
    "GroupListing",
    "GroupOffsets",
    "InvalidRequestError",
    "IsolationLevel",
    "KafkaGroupsError",
    "MalformedResponseError",
    "Member",
    "MemberIdentity",
    "MissingFromResponseError",
    "NameNotResolvedError",
    "OffsetAndTimestamp",
    "OffsetRow",
    "OffsetSpec",
    "OutcomeUnknownError",
    "PartitionTime",
    "ProducerState",
    "Results",
    "SettingsError",
    "Timeout",
    "TimeoutExceededError",
    "TlsFailedError",
    "Topic",
    "TopicPartition",
    "UnsupportedVersionError",
    "list_lag",
]

# The modules that have these names, in the order of their weight.
_MODULES: Final = ("model", "errors", "admin", "groups.lag.group_lag")


def __dir__() -> list[str]:
    return __all__


# To a type checker, this function would mean that every name exists.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name in __all__:
            for module in _MODULES:
                holder = import_module(f"{__name__}.{module}")
                if hasattr(holder, name):
                    return getattr(holder, name)
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
