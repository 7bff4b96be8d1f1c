"""The clusters of an exporter: polls of all of them for a scrape, and the renewal of their settings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

from kafka_groups.errors import AdminError, SettingsError
from kafka_groups.exporter.cluster_poll import ClusterPoll, failed_poll
from kafka_groups.exporter.poll_schedule import Schedule, ScheduledPolls
from kafka_groups.exporter.polled_cluster import PolledCluster, Times
from kafka_groups.exporter.scrape import ScrapedCluster
from kafka_groups.model import Failure

_LATE: Final = Failure(None, "TIMEOUT", "the poll did not end before the timeout of the scrape")


class Service:
    """All clusters. Their polls run at the same time, each in a thread of its own."""

    def __init__(
        self, clusters: Sequence[PolledCluster], schedule: Schedule, log: Callable[[str], None], times: Times
    ) -> None:
        self._clusters = clusters
        self._polls = [ScheduledPolls(cluster.poll, schedule, times.monotonic) for cluster in clusters]
        self._log = log
        self._times = times
        self._late_polls = [Counter[str]() for _ in clusters]
        self._reload_errors = [0 for _ in clusters]

    def start(self) -> None:
        """Start the threads that poll."""
        for polls in self._polls:
            polls.start()

    def stop(self) -> None:
        """Start no poll any more. One that runs ends with the process."""
        for polls in self._polls:
            polls.stop()

    def scrape(self, timeout_s: float | None) -> list[ScrapedCluster]:
        """Return a poll of each cluster that is young enough.

        A cluster whose poll does not end within the time is not up: it has no old values.
        """
        until = None if timeout_s is None else self._times.monotonic() + timeout_s
        numbers = [polls.request(until) for polls in self._polls]
        found = [polls.wait(number, until) for polls, number in zip(self._polls, numbers, strict=True)]
        return [self._scraped(index, poll) for index, poll in enumerate(found)]

    def is_ready(self) -> bool:
        """Return whether the last poll of a cluster read anything; clusters that were not polled yet are polled."""
        polls = [each.last for each in self._polls]
        if None in polls:
            return any(cluster.poll.is_up for cluster in self.scrape(None))
        return any(poll is not None and poll.is_up for poll in polls)

    def renew(self) -> None:
        """Read the settings of all clusters again; those that cannot be used are reported, and the old ones stay."""
        for index, cluster in enumerate(self._clusters):
            try:
                cluster.renew()
            except (SettingsError, AdminError) as error:
                self._reload_errors[index] += 1
                lead = f"{cluster.name}: " if cluster.name else ""
                self._log(f"{lead}Error: the settings were not read again, and the old ones stay: {error}")
            else:
                self._log(f"{cluster.name or 'the cluster'}: the settings were read again")

    def _scraped(self, index: int, poll: ClusterPoll | None) -> ScrapedCluster:
        cluster = self._clusters[index]
        late = self._late_polls[index]
        if poll is None:
            late[_LATE.name] += 1
            poll = failed_poll(cluster.name, _LATE, self._times.now())
        return ScrapedCluster(poll, cluster.errors + late, self._reload_errors[index])
