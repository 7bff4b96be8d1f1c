"""Checks of the connections to all brokers, which are those of `kafka-groups check`, and of the brokers' versions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple

from kafka_groups.admin import GroupAdmin
from kafka_groups.checks.check import Status
from kafka_groups.checks.connections import check_connections
from kafka_groups.checks.versions import describe_levels
from kafka_groups.errors import AdminError, SettingsError
from kafka_groups.pipeline.doctor.check import FAILED, OK, WARNING, Check
from kafka_groups.protocol.features import Features

if TYPE_CHECKING:
    from kafka_groups.admin import ClusterEvidence
    from kafka_groups.settings import ConnectionSettings

# The doctor has other checks in their place, of all brokers together.
_OF_ALL_BROKERS: Final = frozenset({"versions", "cluster"})


class ConnectionChecks(NamedTuple):
    """Checks of connections, and whether a bootstrap server was reached, or may be."""

    checks: list[Check]
    is_reached: bool


def check_all_connections(connection_settings: Callable[[], ConnectionSettings], now_s: float) -> ConnectionChecks:
    """Connect to every server and broker, within the timeout of the settings; `now_s` is in seconds since 1970.

    `connection_settings` returns the settings or raises SettingsError: then nothing is checked here, because librdkafka
    may support them. Nothing is raised.
    """
    try:
        with GroupAdmin(connection_settings()) as admin:
            evidence = admin.check_connections()
    except SettingsError:
        return ConnectionChecks([], is_reached=True)
    except AdminError as error:
        return ConnectionChecks([Check("brokers", FAILED, str(error))], is_reached=False)
    checks = [
        Check(f"{check.check} of {check.subject}", check.status.value, check.detail)
        for check in check_connections(evidence, now_s)
        if check.status is not Status.SKIPPED and not (check.check in _OF_ALL_BROKERS and check.status is Status.OK)
    ]
    if evidence.is_reached():
        checks.append(_check_versions(evidence))
    else:
        checks.append(Check("brokers", FAILED, "no bootstrap server was reached"))
    return ConnectionChecks(checks, evidence.is_reached())


def _check_versions(evidence: ClusterEvidence) -> Check:
    """Return the highest metadata.version that each broker supports, and the levels of features that are in use."""
    reached = [connection for connection in evidence.connections.values() if connection.is_reached]
    unknown = Features(supported={}, finalized={})
    are_known, detail = describe_levels([connection.features or unknown for connection in reached])
    return Check("versions of the brokers", OK if are_known else WARNING, detail)
