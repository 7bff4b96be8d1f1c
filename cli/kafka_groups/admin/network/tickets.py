"""Kerberos tickets for the connections of one pool: each one needs a ticket for the service on its host."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from kafka_groups.admin.network.authentication_step import SHARE_OF_TIMEOUT, AuthenticationStep, StepWords
from kafka_groups.admin.network.sasl.kerberos import SecurityContext, acquire_user, load_library, start_context
from kafka_groups.errors import TicketFailedError
from kafka_groups.settings.limits import Limit

if TYPE_CHECKING:
    from kafka_groups.settings import KerberosCredentials

_WORDS: Final = StepWords("the KDC", "Kerberos ticket", "; check the network, and the address of the KDC in krb5.conf")
_numbers = itertools.count()


class Tickets:
    """The first steps of the connections of a pool, each in a thread: only there the library contacts the KDC.

    `timeout_s` is the timeout of a command. `load` returns the library.
    """

    def __init__(
        self,
        credentials: KerberosCredentials,
        *,
        timeout_s: float,
        wakeup: Callable[[], None],
        clock: Callable[[], float] = time.monotonic,
        load: Callable[[], Any] = load_library,
    ) -> None:
        self._credentials = credentials
        self._timeout_s = timeout_s
        self._wakeup = wakeup
        self._clock = clock
        self._load = load
        # All connections share what a keytab gets, and the library renews it there.
        self._cache = f"MEMORY:kafka-groups-{os.getpid()}-{next(_numbers)}"
        self._lock = Lock()

    def request(self, host: str) -> AuthenticationStep[SecurityContext]:
        """Return the step that gets the ticket for the service on a host."""
        limit = Limit.after(self._timeout_s * SHARE_OF_TIMEOUT, self._clock)
        run = partial(self._start_context, host)
        return AuthenticationStep(run, limit, self._wakeup, words=_WORDS, failure=TicketFailedError)

    def discard(self) -> None:
        """Do nothing: each connection gets a context of its own."""

    def close(self) -> None:
        """Do nothing: the library cannot be interrupted, and its threads end with the process."""

    def _start_context(self, host: str, _limit: Limit) -> SecurityContext:
        library = self._load()
        # One connection gets the ticket of a keytab, and the others then find it in the cache.
        with self._lock:
            user = acquire_user(library, self._credentials, cache=self._cache)
        return start_context(library, user, self._credentials, host)
