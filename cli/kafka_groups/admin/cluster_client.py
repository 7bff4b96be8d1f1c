"""The base of the Admin client: connections, deadlines, runs of drivers, and the reading of records."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Final, Self, TypeVar

from kafka_groups.admin.api import Deadline, IsolationLevel, RecordPosition, RecordTime, Timeout
from kafka_groups.admin.api_handler import ApiHandler
from kafka_groups.admin.driver import ApiDriver
from kafka_groups.admin.event_loop import Drivers, run_until_complete
from kafka_groups.admin.lookup import CoordinatorStrategy, LocationCache
from kafka_groups.admin.network.connection_pool import ANY_BROKER, BrokerPool
from kafka_groups.errors import ConnectionFailedError
from kafka_groups.model import Broker, Failure, Results
from kafka_groups.progress import Progress
from kafka_groups.settings import ConnectionSettings, KerberosCredentials, settings_from

if TYPE_CHECKING:
    from kafka_groups.admin.network.connection_evidence import ClusterEvidence

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
# Listings that follow each other closely belong together; a later one is the next poll of a caller.
_METADATA_MAX_AGE_S: Final = 1.0
_SHARE_OF_LOOKUP: Final = 0.5


class ClusterClient:
    """A client of one cluster, without operations of handlers. Later calls use the connections of earlier ones."""

    def __init__(
        self,
        settings: Mapping[str, str | float] | ConnectionSettings,
        *,
        progress: Progress | None = None,
        clock: Callable[[], float] = time.monotonic,
        pool: BrokerPool | None = None,
    ) -> None:
        self._settings = settings_from(settings) if isinstance(settings, Mapping) else settings
        self._progress = progress
        self._clock = clock
        self._pool = pool or BrokerPool(self._settings, clock=clock)
        self._refreshed_at: float | None = None
        self._checked_cluster_id: str | None = None
        self._is_closed = False
        self._known = LocationCache()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections. Later calls raise ConnectionFailedError."""
        self._is_closed = True
        self._pool.close()

    @property
    def requests_sent(self) -> Counter[tuple[str, int]]:
        """Return the number of requests sent until now by (API name, version), including the set-up of connections."""
        return self._pool.sent

    def deadline(self, timeout: Timeout | None = None) -> Deadline:
        """Return a deadline that calls share: `timeout` seconds from now, by default those of the settings (30)."""
        if isinstance(timeout, Deadline):
            return timeout
        return Deadline.after(self._settings.timeout_s if timeout is None else timeout, self._clock)

    def brokers(self, *, timeout: Timeout | None = None) -> Mapping[int, Broker]:
        """Return the brokers of the cluster, by id."""
        self._connect(timeout)
        return self._pool.brokers

    def cluster_id(self, *, timeout: Timeout | None = None) -> str:
        """Return the id of the cluster.

        Some brokers return none (Azure Event Hubs). Then it is a substitute that begins with `cluster.name=`, if that
        is set, or else with `bootstrap.servers=`.
        """
        self._connect(timeout)
        return self._pool.cluster_id or self._settings.substitute_cluster_id()

    def known_cluster_id(self) -> str | None:
        """Return the id of the cluster as `cluster_id` does, without a request; None before a call has reached it."""
        if self._refreshed_at is None:
            return self._checked_cluster_id
        return self._pool.cluster_id or self._settings.substitute_cluster_id()

    def check_connections(self, *, timeout: Timeout | None = None) -> ClusterEvidence:
        """Connect to every bootstrap server and broker; return what became known on the way, and which step failed.

        The connections are not those of the operations, and are closed at the end. An address that fails is part of the
        result. Raises SettingsError for a file of TLS that cannot be used.
        """
        if self._is_closed:
            raise ConnectionFailedError("the client is closed")
        evidence = self._pool.check_connections(self.deadline(timeout).at)
        self._checked_cluster_id = evidence.cluster_id()
        return evidence

    @property
    def bootstrap_servers(self) -> tuple[str, ...]:
        """Return the bootstrap servers of the settings, as host:port."""
        return tuple(map(str, self._settings.bootstrap))

    def require_record_times(self) -> None:
        """Raise MissingFeatureError if `list_record_times` cannot connect with these settings. Nothing is sent."""
        if isinstance(self._settings.credentials, KerberosCredentials):
            from kafka_groups.admin.librdkafka import require_features
            from kafka_groups.settings.librdkafka import client_properties

            require_features(client_properties(self._settings))

    def list_record_times(
        self,
        positions: Iterable[tuple[str, int, int]],
        *,
        isolation_level: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
        timeout: Timeout | None = None,
    ) -> Results[RecordPosition, RecordTime | None]:
        """Read the first record at or after each (topic, partition, offset); None if there is none.

        One librdkafka consumer reads them, with connections of its own; it joins no group and commits nothing. With
        READ_COMMITTED aborted records are skipped, and nothing is read beyond the last stable offset. Needs READ on the
        topics. Raises SettingsError for settings that librdkafka does not support, and MissingFeatureError if its build
        does not support them.
        """
        from kafka_groups.admin.record_times import read_record_times
        from kafka_groups.settings.librdkafka import client_properties

        self.require_record_times()
        report = self._progress
        return read_record_times(
            client_properties(self._settings),
            [RecordPosition(*position) for position in positions],
            isolation_level=isolation_level,
            deadline=self._connect(timeout),
            progress=lambda done, total: report("reading records", done, total) if report else None,
        )

    def _connect(self, timeout: Timeout | None) -> Deadline:
        """Reach the cluster if no call did so before, and return the deadline of this call."""
        if self._is_closed:
            raise ConnectionFailedError("the client is closed")
        deadline = self.deadline(timeout)
        if self._refreshed_at is None:
            self._pool.open(deadline.end)
            self._refreshed_at = self._clock()
        return deadline

    def _refresh(self, deadline: Deadline) -> None:
        """Update the brokers, which come and go: each of them lists its own groups. AdminError if none responds."""
        assert self._refreshed_at is not None
        if self._clock() - self._refreshed_at >= _METADATA_MAX_AGE_S:
            self._pool.refresh(deadline.at)
            self._refreshed_at = self._clock()

    def _locate(self, groups: Iterable[str], deadline: Deadline) -> Mapping[str, Failure]:
        """Find the coordinators of groups, in one lookup for those not yet known; return what failed."""
        wanted = [*groups]
        unknown = dict.fromkeys((group for group in wanted if group not in self._known.coordinators), ANY_BROKER)
        # A group whose lookup hangs leaves time to the requests of the others.
        share = deadline.share(_SHARE_OF_LOOKUP)
        if len(unknown) < len(wanted):
            share = share._replace(end=share.at)
        driver = self._request("finding coordinators", CoordinatorStrategy(), unknown, unknown, share)
        self._known.coordinators.update(driver.completed)
        return driver.failed

    def _request(
        self,
        operation: str,
        handler: ApiHandler[K, V],
        keys: Iterable[K],
        known: Mapping[K, int],
        deadline: Deadline,
        *,
        lookup: ApiHandler[K, int] | None = None,
    ) -> ApiDriver[K, V]:
        driver = ApiDriver(keys, handler=handler, lookup=lookup, known=known)
        self._run(operation, [driver], deadline)
        return driver

    def _run(
        self, operation: str, drivers: Drivers, deadline: Deadline, *, follow_up: Callable[[], Drivers] = tuple
    ) -> None:
        report = self._progress
        run_until_complete(
            self._pool,
            drivers,
            deadline=deadline,
            clock=self._clock,
            follow_up=follow_up,
            progress=None if report is None else lambda done, total: report(operation, done, total),
        )
