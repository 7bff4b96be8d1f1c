"""The outcomes of several clusters: waited for with a progress bar, and in the order of the profiles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Generic, NamedTuple, TypeVar

from kafka_groups.errors import SettingsError
from kafka_groups.model import Failure
from kafka_groups.options.cluster_session import INTERRUPTED_FAILURE
from kafka_groups.options.cluster_threads import Body, ClusterReader, ClusterThreads, Outcome
from kafka_groups.options.warnings import print_warnings
from kafka_groups.rendering.progress import ProgressBar
from kafka_groups.rendering.screen import Screen

T = TypeVar("T")


class ClusterOutcomes(NamedTuple, Generic[T]):
    """The outcomes of clusters in the order of the profiles, and a failure for each that a signal did not let end.

    `interrupt` is the exception of that signal; the command raises it when it has written the outcomes.
    """

    outcomes: Sequence[Outcome[T]]
    unended: Sequence[Failure]
    interrupt: BaseException | None


def gather(clusters: ClusterThreads, body: Body[T], screen: Screen) -> ClusterOutcomes[T]:
    """Run a body on all clusters, and wait for all, or for a signal.

    Raises SettingsError if the settings of no cluster can be used.
    """
    return gather_outcomes(clusters, watch_progress(clusters, clusters.run(body), screen))


def gather_outcomes(clusters: ClusterThreads, ended: Iterable[Outcome[T]]) -> ClusterOutcomes[T]:
    """Wait for the outcomes of all clusters, or for a signal.

    Raises SettingsError if the settings of no cluster can be used.
    """
    outcomes: list[Outcome[T]] = []
    interrupt: BaseException | None = None
    try:
        outcomes.extend(ended)
    except (KeyboardInterrupt, SystemExit) as error:
        interrupt = error
    raise_unusable_settings(outcomes, len(clusters.readers))
    by_name = {outcome.reader.name: outcome for outcome in outcomes}
    ordered = [by_name[reader.name] for reader in clusters.readers if reader.name in by_name]
    return ClusterOutcomes(
        ordered, interrupted_failures(clusters.readers, [each.reader for each in outcomes]), interrupt
    )


def watch_progress(clusters: ClusterThreads, outcomes: Iterable[Outcome[T]], screen: Screen) -> Iterator[Outcome[T]]:
    """Yield the outcomes; a progress bar counts the clusters, and warnings about their settings are printed."""
    progress = ProgressBar(screen)
    try:
        for done, outcome in enumerate(outcomes, start=1):
            progress("clusters", done, len(clusters.readers))
            if outcome.reader.warnings:
                progress.stop()
                print_warnings(outcome.reader.warnings)
            yield outcome
    finally:
        progress.stop()


def raise_unusable_settings(outcomes: Sequence[Outcome[T]], total: int) -> None:
    """Raise the first error if the settings of no cluster can be used: it may be that of an option."""
    unusable = [outcome.error for outcome in outcomes if isinstance(outcome.error, SettingsError)]
    if len(unusable) == total:
        raise unusable[0]


def interrupted_failures(readers: Iterable[ClusterReader], ended: Iterable[ClusterReader]) -> list[Failure]:
    """Return a failure for each cluster that had not ended when a signal came."""
    names = {reader.name for reader in ended}
    return [INTERRUPTED_FAILURE._replace(cluster=each.name) for each in readers if each.name not in names]
