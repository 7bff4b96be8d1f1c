"""A cluster that is polled again and again: its client, its settings, and how it recovers from errors."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

from kafka_groups.admin.api import Admin
from kafka_groups.errors import AdminError, AuthenticationFailedError, SettingsError, TokenFailedError
from kafka_groups.exporter.cluster_poll import ClusterPoll, ClusterSamples, failed_poll
from kafka_groups.exporter.failure_log import FailureLog
from kafka_groups.model import Failure
from kafka_groups.settings import ConnectionSettings

# A refused login is repeated after this time, which doubles up to the longest one: brokers may lock the account.
_FIRST_RETRY_S: Final = 60.0
_LONGEST_RETRY_S: Final = 3_600.0
# Names of failures that are no errors of a request.
_UNUSABLE: Final = "SETTINGS_ERROR"
_INTERNAL: Final = "INTERNAL_ERROR"


class Client(Admin, Protocol):
    """The client of a cluster."""

    def known_cluster_id(self) -> str | None:
        """Return the id of the cluster; None before a call has reached it."""

    def close(self) -> None:
        """Close the connections."""


class Times(NamedTuple):
    """Clocks: seconds of a clock that never goes back, and seconds since 1970."""

    monotonic: Callable[[], float] = time.monotonic
    now: Callable[[], float] = time.time


class ClusterSource(NamedTuple):
    """Where a cluster is: its name in results (None for its own name or id), its settings, and its client."""

    name: str | None
    resolve: Callable[[], ConnectionSettings]
    create_client: Callable[[ConnectionSettings], Client]


class _Refusal(NamedTuple):
    """A login that was refused, when it is repeated, and after how many seconds."""

    error: AuthenticationFailedError
    until_s: float
    wait_s: float


class PolledCluster:
    """A cluster and all its polls. One thread polls; another one may renew the settings.

    `errors` counts the failures of all polls by name. `log` prints a line.
    """

    def __init__(
        self, source: ClusterSource, samples: ClusterSamples, log: Callable[[str], None], times: Times
    ) -> None:
        self.errors: Counter[str] = Counter()
        self._source = source
        self._samples = samples
        self._times = times
        self._log = log
        self._failures = FailureLog(log)
        self._has_skipped = False
        self._lock = threading.Lock()
        self._settings: ConnectionSettings | None = None
        self._client: Client | None = None
        self._is_renewed = False
        self._name = source.name
        self._refusal: _Refusal | None = None

    @property
    def name(self) -> str:
        """Return what results call the cluster; empty before it was reached, unless it has a name."""
        known = None if self._client is None else self._client.known_cluster_id()
        if self._name is None and known is not None:
            self._name = known
        return self._name or ""

    def cluster_id(self) -> str:
        """Return the id of the cluster; empty while it is not connected."""
        client = self._client
        return "" if client is None else client.known_cluster_id() or ""

    def renew(self) -> None:
        """Read the settings again; the next poll uses them. Raises SettingsError, and keeps the old ones then."""
        settings = self._source.resolve()
        with self._lock:
            self._settings = settings
            self._is_renewed = True

    def poll(self, timeout_s: float | None = None) -> ClusterPoll:
        """Poll the cluster, within a time or that of its settings. A cluster that fails is not up."""
        began = self._times.monotonic()
        poll = self._try(timeout_s)
        ended = self._times.monotonic()
        self.errors.update(failure.name for failure in poll.failures)
        self._failures.compare(poll.cluster, poll.failures)
        self._report_skipped(poll)
        return poll._replace(ended_s=self._times.now(), duration_s=ended - began)

    def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def _report_skipped(self, poll: ClusterPoll) -> None:
        """Print a line when groups begin to exceed the limit of series, and one when they no longer do."""
        if poll.is_up and bool(poll.skipped_groups) != self._has_skipped:
            self._has_skipped = bool(poll.skipped_groups)
            count = f"{poll.skipped_groups:,}" if self._has_skipped else "none any more"
            self._log(f"{poll.cluster}: groups without series because of --max-series: {count}")

    def _try(self, timeout_s: float | None) -> ClusterPoll:
        self._replace_client_if_renewed()
        if self._refusal is not None and self._times.monotonic() < self._refusal.until_s:
            return self._failed(Failure.of(self._refusal.error))
        try:
            return self._read(timeout_s)
        except AuthenticationFailedError as error:
            self._forget(error)
            return self._failed(Failure.of(error))
        except AdminError as error:
            return self._failed(Failure.of(error))
        except SettingsError as error:
            return self._failed(Failure(None, _UNUSABLE, str(error)))
        except Exception as error:  # noqa: BLE001 - one cluster must not end the others
            self.close()
            return self._failed(Failure(None, _INTERNAL, f"internal error: {type(error).__name__}: {error}"))

    def _read(self, timeout_s: float | None) -> ClusterPoll:
        client = self._open()
        deadline = client.deadline(timeout_s)
        at_ms = round(1_000 * self._times.now())
        read = self._samples.read(client, deadline, at_ms, lambda: self.name)
        self._refusal = None
        return ClusterPoll(
            self.name, read.anything_read, read.lines, read.failures, 0.0, 0.0, skipped_groups=read.skipped_groups
        )

    def _replace_client_if_renewed(self) -> None:
        """Close the client if the settings were read again since the last poll; a refused login is repeated at once."""
        with self._lock:
            is_renewed = self._is_renewed
            self._is_renewed = False
        if is_renewed:
            self.close()
            self._refusal = None

    def _open(self) -> Client:
        """Return the client, or a new one."""
        if self._client is None:
            with self._lock:
                settings = self._settings
            if settings is None:
                settings = self._source.resolve()
                with self._lock:
                    self._settings = settings
            self._name = self._name or settings.profile or settings.cluster_name
            self._client = self._source.create_client(settings)
        return self._client

    def _forget(self, error: AuthenticationFailedError) -> None:
        """Close the client of a refused login: secrets are read again before the login is repeated.

        A token that could not be fetched was refused by no broker, so the next poll fetches one.
        """
        self.close()
        with self._lock:
            self._settings = None
        if isinstance(error, TokenFailedError):
            return
        wait_s = _FIRST_RETRY_S if self._refusal is None else min(2 * self._refusal.wait_s, _LONGEST_RETRY_S)
        self._refusal = _Refusal(error, self._times.monotonic() + wait_s, wait_s)

    def _failed(self, failure: Failure) -> ClusterPoll:
        return failed_poll(self.name, failure)
