"""The observer of selected groups: it polls them, and keeps the newest polls."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping
from itertools import islice
from typing import Final

from kafka_groups.admin.api import Admin, Deadline, TimePlan
from kafka_groups.causes.evidence import Evidence
from kafka_groups.errors import AdminError, AuthenticationFailedError
from kafka_groups.groups import steps
from kafka_groups.groups.notes import Note
from kafka_groups.groups.observation.evidence import Background, collect_evidence
from kafka_groups.groups.observation.logs import MOST_LOOKUPS, LogTimes, read_log_times
from kafka_groups.groups.observation.other_groups import OtherGroups, choose_others
from kafka_groups.groups.observation.poll import Poll, poll_steps, read_poll
from kafka_groups.groups.observation.transactions import read_transactions
from kafka_groups.groups.selection import Selection, Selectors, listing_steps, select_groups
from kafka_groups.kinds import Operation
from kafka_groups.model import Failure

# A poll after one with a broker that did not respond waits no longer than this, or the interval if that is longer.
_SHORTEST_S: Final = 5.0


class Observer:
    """Polls of selected groups. The newest ones are kept.

    The groups are selected at the first poll, which also lists the other groups and reads earlier offsets of logs. A
    later poll that fails as a whole has only its failure.
    """

    def __init__(self, admin: Admin, selectors: Selectors, *, most_polls: int, interval_ms: int) -> None:
        self._admin = admin
        self._selectors = selectors
        self._interval_s = interval_ms / 1000
        self._polls: deque[Poll] = deque(maxlen=most_polls)
        self._selection: Selection | None = None
        self._background = Background(interval_ms=interval_ms)
        self._notes: dict[Note, None] = {}

    @property
    def last(self) -> Poll:
        """Return the newest poll."""
        return self._polls[-1]

    @property
    def notes(self) -> Collection[Note]:
        """Return the notes of all polls, each once."""
        return self._notes.keys()

    @property
    def is_begun(self) -> bool:
        """Return whether a poll has ended."""
        return bool(self._polls)

    @property
    def anything_selected(self) -> bool:
        """Return whether the selectors select a group; true before the first poll."""
        return self._selection is None or bool(self._selection.groups)

    @property
    def anything_listed(self) -> bool:
        """Return whether anything was listed where groups are listed to find the selected ones."""
        return self._selection is not None and self._selection.anything_listed

    def poll(self, at_ms: int, deadline: Deadline) -> Poll:
        """Poll the groups once, at a time in ms since 1970. Raises AdminError if the first poll fails as a whole."""
        if self._selection is None:
            poll = self._poll_first(at_ms, deadline)
        else:
            poll = self._poll_again(self._selection, at_ms, deadline)
        self._polls.append(poll)
        self._notes |= dict.fromkeys(poll.notes)
        return poll

    def read_transactions(self, deadline: Deadline) -> None:
        """Read the transactions that are open where the last stable offset stands still below the log end."""
        transactions = read_transactions(self._admin, [*self._polls], deadline)
        self._background = self._background._replace(transactions=transactions)

    def evidence(self) -> Mapping[str, Evidence]:
        """Return the evidence of the kept polls on each group."""
        return collect_evidence([*self._polls], self._background)

    def _poll_first(self, at_ms: int, deadline: Deadline) -> Poll:
        plan = TimePlan(
            deadline, (*listing_steps(self._selectors), steps.OTHER_LISTING, *poll_steps(), steps.LOG_TIMES)
        )
        selection = select_groups(self._admin, self._selectors, operation=Operation.DESCRIBE, plan=plan)
        others = OtherGroups()
        if selection.groups and not self._selectors.selects_all():
            others = choose_others(self._admin, selection.groups, plan)
        poll = read_poll(self._admin, selection, others.coordinators, at_ms, plan)
        log_times = LogTimes()
        if ends := dict(islice(poll.log_ends().items(), MOST_LOOKUPS)):
            log_times = read_log_times(self._admin, ends, at_ms, plan)
        with_commits = {group: at for group, at in others.coordinators.items() if group in poll.partitions}
        self._selection = selection
        self._background = self._background._replace(
            log_times=log_times,
            others=others._replace(coordinators=with_commits),
            bootstrap_server=",".join(self._admin.bootstrap_servers),
        )
        return poll._replace(notes=(*poll.notes, *others.notes()))

    def _poll_again(self, selection: Selection, at_ms: int, deadline: Deadline) -> Poll:
        plan = TimePlan(self._limit(deadline), poll_steps())
        try:
            return read_poll(self._admin, selection, self._background.others.coordinators, at_ms, plan, self.last)
        except AuthenticationFailedError:
            raise
        except AdminError as error:
            return Poll(at_ms, failures=(Failure.of(error),))

    def _limit(self, deadline: Deadline) -> Deadline:
        """Return an earlier deadline if a broker does not respond, so that each poll does not wait for it."""
        limit_s = max(_SHORTEST_S, self._interval_s)
        if not self.last.unanswering_brokers or deadline.timeout_s <= limit_s:
            return deadline
        return Deadline.after(limit_s, deadline.clock)
