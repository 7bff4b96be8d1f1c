"""The run of `kafka-groups why`: polls, judgements, and what is written of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from time import monotonic
from typing import Final, NamedTuple

from kafka_groups.causes.diagnosis import explain
from kafka_groups.commands.lag_check import UNCHECKED_NOTES
from kafka_groups.commands.why_options import Schedule
from kafka_groups.errors import IncompleteResultError
from kafka_groups.groups.observation.observer import Observer
from kafka_groups.groups.selection import Selectors
from kafka_groups.kinds import Operation
from kafka_groups.model import Failure
from kafka_groups.options.cluster_session import ClusterSession
from kafka_groups.options.signals import pause
from kafka_groups.rendering.columns import Entry
from kafka_groups.rendering.schemas import INTERRUPTED
from kafka_groups.rendering.screen import Screen
from kafka_groups.rendering.stderr import print_failures
from kafka_groups.rendering.times import format_time
from kafka_groups.rendering.views.judgement import Judgement, judgement_of
from kafka_groups.rendering.views.why import FINDINGS, finding_entry, text_entry
from kafka_groups.rendering.views.why_text import why_lines
from kafka_groups.rendering.writers import Writer, open_writer
from kafka_groups.rendering.writers.text import TextWriter

_POLLS: Final = "polls"


class Run(NamedTuple):
    """What a run of `why` is for. `words_of` returns the words that connect to the cluster of a session."""

    selectors: Selectors
    schedule: Schedule
    output_format: str
    words_of: Callable[[ClusterSession], Sequence[str]]

    def make_writer(self, screen: Screen) -> Writer:
        """Return the writer of the format."""
        if self.output_format == "table":
            return TextWriter(screen, why_lines)
        return open_writer(screen, self.output_format, command="why", view=FINDINGS, columns=FINDINGS.table())

    def entry_of(self, judgement: Judgement) -> Entry:
        """Return a group as the format has it."""
        return text_entry(judgement) if self.output_format == "table" else finding_entry(judgement)


class JudgedRun(NamedTuple):
    """The judgements that were written, and the error that the command ends with if something failed."""

    judgements: Sequence[Judgement]
    failed: IncompleteResultError | None = None


def judge_once(session: ClusterSession, run: Run, *, has_condition: bool) -> JudgedRun:
    """Poll, write the judgements, and return them.

    A signal ends the polls early: what they show is written, and its exception raised again.
    """
    observer = _observe(session, run)
    interrupt: BaseException | None = None
    done = 0
    try:
        for done in _poll(session, observer, run.schedule):
            _report(session, done, run.schedule.samples)
        observer.read_transactions(session.deadline.renew())
    except (KeyboardInterrupt, SystemExit) as error:
        if not observer.is_begun:
            raise
        interrupt = error
    judgements = _judge(session, observer, run)
    failures = [*_failures(session, observer, run)]
    if interrupt is not None:
        failures.append(_interrupted(done, run.schedule.samples))
    is_unchecked = has_condition and not judgements
    session.add_notes((*observer.notes, *(UNCHECKED_NOTES if is_unchecked and not failures else ())))
    try:
        session.write(
            map(run.entry_of, judgements),
            total=len(judgements),
            failures=failures,
            anything_succeeded=bool(judgements) or (not observer.anything_selected and observer.anything_listed),
            is_unchecked=is_unchecked,
        )
    except IncompleteResultError as error:
        if interrupt is not None:
            raise interrupt from None
        return JudgedRun(judgements, error)
    return JudgedRun(judgements)


def watch(session: ClusterSession, run: Run) -> None:
    """Poll until a signal ends it, and write a judgement after each interval of the watch."""
    observer = _observe(session, run)
    watch_polls = run.schedule.watch_polls or 1
    session.disable_progress()
    endless = run.schedule._replace(samples=0)
    for done in _poll(session, observer, endless):
        session.add_notes(observer.notes)
        if done > 1 and (done - 1) % watch_polls == 0:
            observer.read_transactions(session.deadline.renew())
            _write_judgement(session, observer, run)


def _write_judgement(session: ClusterSession, observer: Observer, run: Run) -> None:
    screen = session.screen
    if run.output_format == "table":
        screen.out.write(f"\n{format_time(datetime.now(UTC))}\n")
    for judgement in _judge(session, observer, run):
        session.writer.add(run.entry_of(judgement)._replace(cluster=session.cluster()))
    screen.out.flush()
    print_failures(screen, _failures(session, observer, run))


def _observe(session: ClusterSession, run: Run) -> Observer:
    schedule = run.schedule
    return Observer(session.admin, run.selectors, most_polls=schedule.samples, interval_ms=schedule.interval_ms)


def _poll(session: ClusterSession, observer: Observer, schedule: Schedule) -> Iterator[int]:
    """Yield the number of each poll that ended; without `samples` there is no last one.

    Polls begin at fixed times, and one that took longer than the interval is followed at once. If the first one finds
    no group, it is the last one.
    """
    started = monotonic()
    done = 0
    while not schedule.samples or done < schedule.samples:
        if done:
            pause(max(0.0, started + done * schedule.interval_s - monotonic()))
        session.begin_poll()
        observer.poll(time.time_ns() // 1_000_000, session.deadline.renew())
        done += 1
        yield done
        if done == 1 and not observer.last.groups:
            return


def _report(session: ClusterSession, done: int, total: int) -> None:
    if session.progress is not None:
        session.progress(_POLLS, done, total)


def _judge(session: ClusterSession, observer: Observer, run: Run) -> list[Judgement]:
    words = run.words_of(session)
    return [judgement_of(explain(evidence), words) for evidence in observer.evidence().values()]


def _failures(session: ClusterSession, observer: Observer, run: Run) -> Sequence[Failure]:
    return session.suggest_groups(observer.last.failures, run.selectors, Operation.DESCRIBE)


def _interrupted(done: int, total: int) -> Failure:
    text = f"the command was interrupted after {done} of {total} polls, and only these are judged"
    return Failure(code=None, name=INTERRUPTED, message=text)
