"""`kafka-groups pipeline sample` of several clusters: read at the same time, and written one after the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Final

from kafka_groups.errors import AuthenticationFailedError, SettingsError, TokenFailedError
from kafka_groups.model import Failure
from kafka_groups.options.cluster_outcomes import interrupted_failures, raise_unusable_settings, watch_progress
from kafka_groups.options.cluster_repetition import run_repeatedly
from kafka_groups.options.cluster_session import ClusterSession, failure_of
from kafka_groups.options.cluster_threads import ClusterReader, ClusterThreads, Outcome, open_clusters
from kafka_groups.options.connection import Connection
from kafka_groups.options.warnings import print_warnings
from kafka_groups.pipeline.commands.clock import now_ms, timestamp
from kafka_groups.pipeline.commands.command_run import Run
from kafka_groups.pipeline.commands.documents import Summary
from kafka_groups.rendering.clusters import Cluster
from kafka_groups.rendering.stderr import print_failures

if TYPE_CHECKING:
    from kafka_groups.pipeline.facts.sample import SampleReading, SampleResult
    from kafka_groups.pipeline.store import Storage

Body = Callable[[ClusterSession], "SampleReading"]
_NOT_REPEATED: Final = "; this run samples the cluster no more: correct the profile, and start it again"


def sample_clusters(run: Run, connection: Connection, storage: Storage, interval_s: float | None) -> None:
    """Sample the clusters of several profiles once, or at an interval until interrupted.

    A cluster that fails is a failure beside the samples of the others. Raises StorageError, SettingsError if the
    settings of no cluster can be used, and IncompleteResultError if anything failed.
    """
    run.screen = run.screen._replace(names_clusters=True)
    with open_clusters(connection, run.screen) as clusters:
        samples = ClusterSamples(run, clusters, storage)
        run.summarize = samples.summarize
        try:
            if interval_s is None:
                _sample_once(samples, run)
            else:
                _sample_repeatedly(samples, run, interval_s)
        except (KeyboardInterrupt, SystemExit):
            samples.add_interrupted()
            run.report(samples.summarize(), samples.failures())
            print_failures(run.screen, samples.failures())
            raise
        run.finish(samples.summarize(), samples.failures())


class ClusterSamples:
    """The samples that were written: their number, their rows by cluster, and the last failures of each cluster."""

    def __init__(self, run: Run, clusters: ClusterThreads, storage: Storage) -> None:
        self._run = run
        self._storage = storage
        self.clusters = clusters
        self.count = 0
        self._rows: dict[Cluster, Counter[str]] = {}
        self._failures: dict[ClusterReader, tuple[Failure, ...]] = {}
        self._unusable: dict[ClusterReader, Outcome[SampleReading]] = {}
        self._readers: dict[str, ClusterReader] = {}
        self._ended: set[ClusterReader] = set()

    def add(self, outcome: Outcome[SampleReading]) -> str | None:
        """Write what was read of a cluster; return a line on it, None for a cluster that another profile samples.

        Raises StorageError, and SettingsError if the settings of no cluster can be used.
        """
        reader = outcome.reader
        if outcome.value is None:
            assert outcome.error is not None
            return self._add_failure(outcome)
        first = self._readers.setdefault(outcome.value.cluster_id, reader)
        if first is not reader:
            # Samples of users with different rights would look like groups that are deleted and created.
            self._ended.add(reader)
            names = f"'{first.name}' and '{reader.name}'"
            cluster_id = outcome.value.cluster_id
            self._run.print_note(f"The profiles {names} are one cluster, {cluster_id}; '{first.name}' samples it.")
            return None
        return self._write(reader, outcome.value)

    def is_ended(self, reader: ClusterReader) -> bool:
        """Return whether the cluster needs no further sample."""
        return reader in self._ended

    def failures(self) -> list[Failure]:
        """Return the last failures of each cluster, in the order of the profiles."""
        return [failure for reader in self.clusters.readers for failure in self._failures.get(reader, ())]

    def add_interrupted(self) -> None:
        """Add a failure for each cluster that a signal did not let end."""
        seen = {*self._failures, *self._readers.values(), *self._ended}
        for failure in interrupted_failures(self.clusters.readers, seen):
            reader = next(each for each in self.clusters.readers if each.name == failure.cluster)
            self._failures[reader] = (failure,)

    def summarize(self) -> Summary:
        """Return the summary of the samples that were written until now."""
        total = Counter[str]()
        for rows in self._rows.values():
            total.update(rows)
        names = [reader.name for reader in self.clusters.readers]
        ordered = sorted(self._rows.items(), key=lambda each: names.index(each[0].name))
        return Summary(
            rows=dict(total),
            rows_by_cluster=dict(ordered),
            has_several=True,
            numbers={"samples": self.count},
            seconds=self._run.seconds(),
        )

    def _write(self, reader: ClusterReader, reading: SampleReading) -> str:
        from kafka_groups.pipeline.facts.sample import write_sample

        result: SampleResult = write_sample(self._storage, reading)
        self.count += 1
        self._rows.setdefault(Cluster(reader.name, result.cluster_id), Counter()).update(result.rows)
        failures = tuple(failure._replace(cluster=reader.name) for failure in result.failures)
        if failures:
            self._failures[reader] = failures
        return f"{reader.name}: {describe_sample(result)}"

    def _add_failure(self, outcome: Outcome[SampleReading]) -> str:
        reader, _, error = outcome
        assert error is not None
        if isinstance(error, SettingsError):
            self._ended.add(reader)
            self._unusable[reader] = outcome
            raise_unusable_settings([*self._unusable.values()], len(self.clusters.readers))
        elif isinstance(error, AuthenticationFailedError):
            # A history must continue after a while in which logins could not be checked, or no token was fetched.
            if reader in self._readers.values() or isinstance(error, TokenFailedError):
                reader.allow_login()
            else:
                self._ended.add(reader)
        self._failures[reader] = (failure_of(error)._replace(cluster=reader.name),)
        return f"{reader.name}: Error: {error}{_NOT_REPEATED if reader in self._ended else ''}"


def describe_sample(result: SampleResult) -> str:
    """Return the number of rows that a sample wrote, and its first failure."""
    failures = result.failures
    failures_text = f"; {len(failures):,} failed, the first: {failures[0].message}" if failures else ""
    return f"{sum(result.rows.values()):,} rows{failures_text}"


def _read(session: ClusterSession) -> SampleReading:
    from kafka_groups.pipeline.facts.sample import read_sample

    return read_sample(session.admin, now_ms=now_ms)


def _sample_once(samples: ClusterSamples, run: Run) -> None:
    outcomes = watch_progress(samples.clusters, samples.clusters.run(_read), run.screen)
    for outcome in _hold_duplicates(samples.clusters.readers, outcomes):
        samples.add(outcome)


def _hold_duplicates(
    readers: Sequence[ClusterReader], outcomes: Iterable[Outcome[SampleReading]]
) -> Iterator[Outcome[SampleReading]]:
    """Yield each outcome as soon as no earlier profile that still runs can be the same cluster.

    Otherwise each run would sample a cluster of two profiles by the one that ends first, with the rights of its user.
    """
    ranks = {reader: rank for rank, reader in enumerate(readers)}
    running = {*readers}
    held: list[Outcome[SampleReading]] = []
    for outcome in outcomes:
        running.remove(outcome.reader)
        held.append(outcome)
        for candidate in sorted(held, key=lambda each: ranks[each.reader]):
            earlier = (reader for reader in running if ranks[reader] < ranks[candidate.reader])
            if not any(_may_be_cluster(reader, candidate) for reader in earlier):
                held.remove(candidate)
                yield candidate


def _may_be_cluster(reader: ClusterReader, outcome: Outcome[SampleReading]) -> bool:
    return outcome.value is not None and reader.cluster().id in {None, outcome.value.cluster_id}


def _sample_repeatedly(samples: ClusterSamples, run: Run, interval_s: float) -> None:
    """Sample until interrupted, or until no cluster can be sampled, with a line for each sample."""
    # At a signal the threads stop before their clients are closed; an exception alone does not end a generator.
    repeated = run_repeatedly(samples.clusters.readers, _read, interval_s, samples.is_ended)
    with closing(repeated) as outcomes:
        for outcome in outcomes:
            print_warnings(outcome.reader.warnings)
            line = samples.add(outcome)
            if line is not None:
                run.print_note(f"{timestamp()} {line}")
