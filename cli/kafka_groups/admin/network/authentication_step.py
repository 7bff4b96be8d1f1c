"""A step of an authentication that may take long, in a thread, so that the event loop goes on meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar

from kafka_groups.errors import AuthenticationFailedError
from kafka_groups.settings.limits import Limit

T = TypeVar("T")
# The share of a command's timeout that a step may take, so that its own error is reported, and not the deadline.
SHARE_OF_TIMEOUT: Final = 0.9


class StepWords(NamedTuple):
    """The words of a step's messages: what it waits for, and from whom. `advice` ends the error of a timeout."""

    source: str
    result: str
    advice: str = ""


class AuthenticationStep(Generic[T]):
    """One step, such as the fetch of a token or of a Kerberos ticket, which `run` takes until a limit.

    Its thread calls `wakeup` at its end. It is a daemon: a name lookup, or a server that is silent, may take minutes.
    Errors have the type `failure`.
    """

    def __init__(
        self,
        run: Callable[[Limit], T],
        limit: Limit,
        wakeup: Callable[[], None],
        *,
        words: StepWords,
        failure: type[AuthenticationFailedError],
    ) -> None:
        self._run_until = run
        self._limit = limit
        self._wakeup = wakeup
        self._words = words
        self._failure = failure
        self._started = limit.clock()
        self._result: T | None = None
        self._error: AuthenticationFailedError | None = None
        self._thread = threading.Thread(target=self._run, name=f"get {words.result}", daemon=True)
        self._thread.start()

    @property
    def until(self) -> float:
        """The point in time of the limit's clock at which the step has failed."""
        return self._limit.until

    def has_failed(self) -> bool:
        """Return whether there will be no result."""
        return self._error is not None or (self._result is None and self._limit.is_over())

    def result(self) -> T | None:
        """Return the result, None while there is none yet. Raises AuthenticationFailedError if there will be none."""
        if self._error is not None:
            # Each caller gets an error of its own: they are raised in several connections.
            raise type(self._error)(str(self._error))
        if self._result is None and self._limit.is_over():
            raise self.timeout_error()
        return self._result

    def timeout_error(self) -> AuthenticationFailedError:
        """Return the error of a step without a result, which its owner may raise before the limit."""
        source, result, advice = self._words
        seconds = max(0.1, round(min(self._limit.clock(), self._limit.until) - self._started, 1))
        return self._failure(f"{source} took too long: it returned no {result} within {seconds:g} s{advice}")

    def describe(self) -> str:
        """Return what the step waits for, as the end of a sentence."""
        return f"waits for a {self._words.result} from {self._words.source}"

    def cancel(self, longest_join_s: float = 0.0) -> None:
        """End the step, and wait for its thread for a number of seconds: it may kill the processes that it started."""
        self._limit.cancel()
        if longest_join_s and self._thread is not threading.current_thread():
            self._thread.join(longest_join_s)

    def _run(self) -> None:
        try:
            self._result = self._run_until(self._limit)
        except AuthenticationFailedError as error:
            self._error = error if isinstance(error, self._failure) else self._failure(str(error))
        except Exception as error:  # noqa: BLE001 # In this thread nobody else would report it.
            self._error = self._failure(f"{self._words.source} failed: {type(error).__name__}")
        self._wakeup()


class StepSource(Protocol):
    """What begins the long step of each authentication of a pool's connections."""

    def request(self, host: str) -> AuthenticationStep[Any]:
        """Return the step of a connection to a host, which may be shared, and may have ended."""
        ...

    def discard(self) -> None:
        """Forget a result that connections share: a broker has refused it."""
        ...

    def close(self) -> None:
        """End the steps that are running."""
        ...
