"""Measurements of lag for a request: what a session measures, and what the polls of each cluster add to it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Final

from kafka_groups.admin import Deadline
from kafka_groups.commands.known_resets import KnownResets, note_resets
from kafka_groups.commands.lag_check import LagResult
from kafka_groups.commands.lag_polls import PollsFile, open_polls
from kafka_groups.commands.lag_request import LagRequest
from kafka_groups.errors import ExportError, IncompleteResultError, PollsFileError
from kafka_groups.groups.lag.lag_row import ISOLATION_LEVELS
from kafka_groups.groups.lag.measurement import LagMeasurement, add_poll, measure_lag, summarize
from kafka_groups.groups.lag.polls import Polls
from kafka_groups.groups.lag.polls_file import PollsScope
from kafka_groups.groups.lag.reading import LagReading
from kafka_groups.kinds import Operation
from kafka_groups.options.cluster_session import ClusterSession
from kafka_groups.options.cluster_threads import Outcome
from kafka_groups.options.topics import format_topics
from kafka_groups.verdicts import Limits

_ISOLATION_LEVELS: Final = {name: level for level, name in ISOLATION_LEVELS.items()}


class ClusterPolls:
    """The polls of each cluster of a command. Groups of the same id in several clusters stay apart.

    `file` keeps them between runs; None without --polls.
    """

    def __init__(self, limits: Limits, file: PollsFile | None = None) -> None:
        self.file = file
        self._limits = limits
        self._by_session: dict[ClusterSession, Polls] = {}

    def open(self, session: ClusterSession, rank: int = 0) -> Polls:
        """Return the polls of a cluster. `rank` is its place in the command.

        Raises PollsFileError if they are damaged in the file.
        """
        if session not in self._by_session:
            find_cluster_id = partial(session.admin.cluster_id, timeout=session.deadline)
            polls = Polls() if self.file is None else self.file.open(find_cluster_id(), rank)
            polls.limits = self._limits
            polls.find_reset_run = KnownResets(find_cluster_id)
            self._by_session[session] = polls
        return self._by_session[session]

    def add(self, session: ClusterSession, measurement: LagMeasurement, at_ms: int, rank: int = 0) -> LagReading:
        """Add a measurement at a time, and return what it shows, with notes on known resets."""
        reading = add_poll(self.open(session, rank), measurement, at_ms)
        return reading._replace(notes=(*reading.notes, *note_resets(reading.resets)))

    def add_outcome(self, outcome: Outcome[LagMeasurement], at_ms: int, rank: int) -> Outcome[LagReading]:
        """Return the outcome of a cluster; its measurement, if there is one, becomes a poll.

        Polls that are damaged in the file are the error of their cluster.
        """
        session = outcome.reader.session
        if session is None or outcome.value is None:
            return Outcome(outcome.reader, None, outcome.error)
        try:
            return Outcome(outcome.reader, self.add(session, outcome.value, at_ms, rank), None)
        except PollsFileError as error:
            return Outcome(outcome.reader, None, error)


@contextmanager
def open_cluster_polls(request: LagRequest, print_messages: Callable[[Iterable[str]], None]) -> Iterator[ClusterPolls]:
    """Yield the polls of a request. The file of --polls is read now, and written when the context ends.

    Raises as `open_polls` does.
    """
    if request.polls_file is None:
        yield ClusterPolls(request.limits)
        return
    scope = PollsScope(request.isolation, format_topics(request.topics))
    with open_polls(request.polls_file, scope, print_messages=print_messages) as file:
        yield ClusterPolls(request.limits, file)


def run_with_polls(
    request: LagRequest, run: Callable[[ClusterPolls], LagResult], print_messages: Callable[[Iterable[str]], None]
) -> LagResult:
    """Run with the polls of a request. A file that cannot be written in the end is a failure of the result."""
    result: LagResult | None = None
    try:
        with open_cluster_polls(request, print_messages) as polls:
            result = run(polls)
    except (IncompleteResultError, ExportError) as error:
        if result is None:
            raise
        return result._replace(failed=error)
    return result


def measure(session: ClusterSession, request: LagRequest, deadline: Deadline) -> LagMeasurement:
    """Measure the lag of a cluster. The failures of absent groups and topics suggest the nearest ones."""
    measurement = measure_lag(
        session.admin,
        request.selectors,
        isolation_level=_ISOLATION_LEVELS[request.isolation],
        with_time=request.output.with_time,
        with_retention=request.output.with_time and request.has_polls,
        topics=request.topics,
        deadline=deadline,
    )
    failures = session.suggest_groups(measurement.failures, request.selectors, Operation.LIST_OFFSETS)
    # Only the first poll of a watch may cost a listing of topics.
    if request.topics and failures and session.polls <= 1:
        from kafka_groups.groups.suggestions import suggest_topics

        failures = suggest_topics(session.admin, failures, session.deadline)
    return measurement._replace(failures=failures)


def read_once(session: ClusterSession, request: LagRequest) -> LagReading:
    """Return the lag of a cluster without polls."""
    return summarize(measure(session, request, session.deadline), request.output.key)


def now_ms() -> int:
    """Return the time in ms since 1970."""
    return time.time_ns() // 1_000_000
