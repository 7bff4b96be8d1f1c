"""`kafka-groups lag --watch` of several clusters, which are polled at the same time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from kafka_groups.commands.lag_check import LagResult
from kafka_groups.commands.lag_display import WatchTable, open_display
from kafka_groups.commands.lag_measurement import ClusterPolls, measure
from kafka_groups.commands.lag_request import LagRequest, note_isolation
from kafka_groups.commands.lag_rows import failing_cluster_groups, failures_of, name_cluster
from kafka_groups.commands.lag_trouble import find_trouble
from kafka_groups.commands.lag_watch import ClusterPoll, WatchOptions, watch_lag
from kafka_groups.errors import IncompleteResultError
from kafka_groups.exit_codes import ResultStatus
from kafka_groups.groups.lag.measurement import LagMeasurement
from kafka_groups.groups.lag.reading import LagReading
from kafka_groups.model import Failure
from kafka_groups.options.cluster_outcomes import raise_unusable_settings
from kafka_groups.options.cluster_session import ClusterSession
from kafka_groups.options.cluster_threads import ClusterThreads, Outcome
from kafka_groups.options.several_clusters import note_shared_ids
from kafka_groups.options.warnings import print_warnings
from kafka_groups.rendering.screen import Screen, print_note
from kafka_groups.rendering.stderr import print_failures
from kafka_groups.rendering.writers import Writer


class ClustersPoll:
    """The poll of several clusters. Threads measure, and the main thread adds the polls of each cluster.

    `failures` are those of a poll that ends the watch.
    """

    def __init__(self, clusters: ClusterThreads, request: LagRequest, polls: ClusterPolls) -> None:
        self.failures: Sequence[Failure] = ()
        self._clusters = clusters
        self._request = request
        self._polls = polls
        self._is_first = True

    def __call__(self, at_ms: int) -> Iterator[ClusterPoll]:
        """Yield the poll of each cluster when it ends; a cluster that fails is tried again by the next poll.

        Raises IncompleteResultError if every cluster fails in the first poll, or if all logins are refused, and
        SettingsError if the settings of no cluster can be used.
        """
        outcomes: list[Outcome[LagReading]] = []
        for measured in self._clusters.run(self._measure):
            reader = measured.reader
            print_warnings(reader.warnings)
            rank = self._clusters.readers.index(reader)
            outcome = self._polls.add_outcome(measured, at_ms, rank=rank)
            outcomes.append(outcome)
            failure = failures_of(outcome)[0] if outcome.value is None else None
            reading = None if outcome.value is None else name_cluster(outcome.value, reader.cluster().name)
            yield ClusterPoll(reader.cluster(), reading, failure, rank)
        raise_unusable_settings(outcomes, len(self._clusters.readers))
        is_any_read = any(outcome.value is not None for outcome in outcomes)
        if (self._is_first and not is_any_read) or all(reader.is_refused for reader in self._clusters.readers):
            self.failures = [failure for outcome in outcomes for failure in failures_of(outcome)]
            raise IncompleteResultError(ResultStatus.FAILED)
        self._is_first = False

    def _measure(self, session: ClusterSession) -> LagMeasurement:
        session.begin_poll()
        return measure(session, self._request, session.deadline.renew())


def watch_clusters(
    clusters: ClusterThreads,
    request: LagRequest,
    options: WatchOptions,
    screen: Screen,
    writer: Writer,
    polls: ClusterPolls,
) -> LagResult:
    """Watch, and return the result of the last poll. All polls are printed by then."""
    for note in note_isolation(request):
        print_note(screen, note.text)
    output = request.output
    poll = ClustersPoll(clusters, request, polls)
    table = WatchTable(output.columns, request.top)
    try:
        with open_display(screen, writer, table, output.output_format) as display:
            last = watch_lag(
                options,
                poll,
                display,
                screen=screen,
                file=polls.file,
                find_notes=partial(note_shared_ids, clusters),
                note_rows=partial(find_trouble, request, screen),
            )
    except IncompleteResultError:
        print_failures(screen, poll.failures)
        raise
    for note in last.unchecked_notes(request.condition):
        print_note(screen, note.text)
    return last.result(request.condition, failing_cluster_groups(request.condition, last.rows))
