"""The states of the keys of an Admin operation, and the one table of their transitions.

    LOOKUP_PENDING ----SEND----> LOOKUP_IN_FLIGHT ----GATHER----> GATHERED
      ^   |    ^                   |           |                     |
      |   |    '-RETRY, WITHDRAW---'         LOCATE               LOCATE
      |   |                                    v                     |
    UNMAP '------------LOCATE--------> REQUEST_PENDING <-------------'
      |                                  |           ^
      |                                 SEND         |
      |                                  v           |
      '---------------------- REQUEST_IN_FLIGHT -----'-RETRY, WITHDRAW, CONTINUE
                                         |
                                      COMPLETE
                                         v
                                     COMPLETED

A key begins in LOOKUP_PENDING. In each of the five states before COMPLETED it may end as FAILED or, if a change of it
may have been made, as OUTCOME_UNKNOWN. Three rules hold:

1. Every change of a state is a line of the table. An event that the table lacks for a state is an error.
2. The table knows no broker, no request and no clock: the driver decides which event a response is for a key.
3. The first outcome counts. No event leads out of COMPLETED, FAILED and OUTCOME_UNKNOWN.

A response is late for a key that is no longer in flight at its broker, because the response to a repeat was faster.
A result is a result even then, and completes the key; everything else that is late is ignored.
Two facts about a key outlast its state, so they stand beside it in `key_records.Setbacks`: others do not wait for a
key whose response is late, and a key whose change may have been made never fails with certainty.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum, auto
from typing import Final


class State(StrEnum):
    """Where a key is on the way to its outcome."""

    LOOKUP_PENDING = auto()
    """Its broker is not known, and is to be looked up at a certain time."""
    LOOKUP_IN_FLIGHT = auto()
    """A lookup of its broker has no response yet."""
    GATHERED = auto()
    """Its broker was found, and it waits for the lookups of others, to be requested together with them."""
    REQUEST_PENDING = auto()
    """It is to be requested at its broker at a certain time."""
    REQUEST_IN_FLIGHT = auto()
    """A request at its broker has no response yet."""
    COMPLETED = auto()
    """It has a result."""
    FAILED = auto()
    """It has an error. If it was to be changed, it was not."""
    OUTCOME_UNKNOWN = auto()
    """A change of it was sent, and nobody knows whether it was made: only reading shows that."""


class Event(StrEnum):
    """What happens to a key."""

    SEND = auto()
    """The time of its lookup or request has come."""
    WITHDRAW = auto()
    """Its lookup or request was given up before it was sent."""
    GATHER = auto()
    """A lookup returned its broker, and others that it waits for are in flight."""
    LOCATE = auto()
    """Its broker is known: from the beginning, from a lookup, or since the lookups that it waited for ended."""
    CONTINUE = auto()
    """A response requires another request at the same broker, at once."""
    RETRY = auto()
    """A response, or a lost connection, requires the same lookup or request after a backoff."""
    UNMAP = auto()
    """Its broker does not handle it any more, or cannot be reached: it is looked up after a backoff."""
    COMPLETE = auto()
    """A response has its result."""
    FAIL = auto()
    """A response, or what came in place of it, is an error that ends it."""
    EXPIRE = auto()
    """The deadline has passed."""
    LOSE = auto()
    """It fails, or the deadline has passed, and a change of it may have been made."""
    LATE_RESULT = auto()
    """A late response has its result."""
    LATE_ERROR = auto()
    """A late response, or what came in place of it, has no result of it."""


TRANSITIONS: Final[Mapping[tuple[State, Event], State]] = {
    (State.LOOKUP_PENDING, Event.SEND): State.LOOKUP_IN_FLIGHT,
    (State.LOOKUP_PENDING, Event.LOCATE): State.REQUEST_PENDING,
    (State.LOOKUP_PENDING, Event.EXPIRE): State.FAILED,
    (State.LOOKUP_PENDING, Event.LOSE): State.OUTCOME_UNKNOWN,
    (State.LOOKUP_PENDING, Event.LATE_RESULT): State.COMPLETED,
    (State.LOOKUP_PENDING, Event.LATE_ERROR): State.LOOKUP_PENDING,
    # Lookups only read, so only a change that was sent before can be lost here.
    (State.LOOKUP_IN_FLIGHT, Event.WITHDRAW): State.LOOKUP_PENDING,
    (State.LOOKUP_IN_FLIGHT, Event.GATHER): State.GATHERED,
    (State.LOOKUP_IN_FLIGHT, Event.LOCATE): State.REQUEST_PENDING,
    (State.LOOKUP_IN_FLIGHT, Event.RETRY): State.LOOKUP_PENDING,
    (State.LOOKUP_IN_FLIGHT, Event.FAIL): State.FAILED,
    (State.LOOKUP_IN_FLIGHT, Event.EXPIRE): State.FAILED,
    (State.LOOKUP_IN_FLIGHT, Event.LOSE): State.OUTCOME_UNKNOWN,
    (State.LOOKUP_IN_FLIGHT, Event.LATE_RESULT): State.COMPLETED,
    (State.LOOKUP_IN_FLIGHT, Event.LATE_ERROR): State.LOOKUP_IN_FLIGHT,
    # It waits only for lookups that are in flight in time: neither for late ones nor for retries.
    (State.GATHERED, Event.LOCATE): State.REQUEST_PENDING,
    (State.GATHERED, Event.EXPIRE): State.FAILED,
    (State.GATHERED, Event.LOSE): State.OUTCOME_UNKNOWN,
    (State.GATHERED, Event.LATE_RESULT): State.COMPLETED,
    (State.GATHERED, Event.LATE_ERROR): State.GATHERED,
    # Before it is sent, only the deadline or a late result ends it.
    (State.REQUEST_PENDING, Event.SEND): State.REQUEST_IN_FLIGHT,
    (State.REQUEST_PENDING, Event.EXPIRE): State.FAILED,
    (State.REQUEST_PENDING, Event.LOSE): State.OUTCOME_UNKNOWN,
    (State.REQUEST_PENDING, Event.LATE_RESULT): State.COMPLETED,
    (State.REQUEST_PENDING, Event.LATE_ERROR): State.REQUEST_PENDING,
    # A change is pending again only if it was not sent, or if a response requires it. Otherwise it is lost.
    (State.REQUEST_IN_FLIGHT, Event.WITHDRAW): State.REQUEST_PENDING,
    (State.REQUEST_IN_FLIGHT, Event.CONTINUE): State.REQUEST_PENDING,
    (State.REQUEST_IN_FLIGHT, Event.RETRY): State.REQUEST_PENDING,
    (State.REQUEST_IN_FLIGHT, Event.UNMAP): State.LOOKUP_PENDING,
    (State.REQUEST_IN_FLIGHT, Event.COMPLETE): State.COMPLETED,
    (State.REQUEST_IN_FLIGHT, Event.FAIL): State.FAILED,
    (State.REQUEST_IN_FLIGHT, Event.EXPIRE): State.FAILED,
    (State.REQUEST_IN_FLIGHT, Event.LOSE): State.OUTCOME_UNKNOWN,
    (State.REQUEST_IN_FLIGHT, Event.LATE_RESULT): State.COMPLETED,
    (State.REQUEST_IN_FLIGHT, Event.LATE_ERROR): State.REQUEST_IN_FLIGHT,
    # A key that is gathered or pending may get a late result, or the deadline passes: then nothing is sent.
    (State.COMPLETED, Event.LOCATE): State.COMPLETED,
    (State.COMPLETED, Event.SEND): State.COMPLETED,
    (State.COMPLETED, Event.LATE_RESULT): State.COMPLETED,
    (State.COMPLETED, Event.LATE_ERROR): State.COMPLETED,
    (State.FAILED, Event.SEND): State.FAILED,
    (State.FAILED, Event.LATE_RESULT): State.FAILED,
    (State.FAILED, Event.LATE_ERROR): State.FAILED,
    (State.OUTCOME_UNKNOWN, Event.SEND): State.OUTCOME_UNKNOWN,
    (State.OUTCOME_UNKNOWN, Event.LATE_RESULT): State.OUTCOME_UNKNOWN,
    (State.OUTCOME_UNKNOWN, Event.LATE_ERROR): State.OUTCOME_UNKNOWN,
}

OUTCOMES: Final = frozenset({State.COMPLETED, State.FAILED, State.OUTCOME_UNKNOWN})
