"""Handlers of SIGINT (Ctrl-C), SIGTERM and SIGHUP (a closed terminal).

They are for commands that leave something behind if they end at once.
"""

from __future__ import annotations

import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any

from kafka_groups.exit_codes import ExitCode

# Windows has no SIGHUP.
_TERMINATING = (signal.SIGTERM, signal.SIGHUP) if sys.platform != "win32" else (signal.SIGTERM,)


class StopRequest:
    """A request to stop, which a signal makes. Without `is_interruptible`, a second signal changes nothing."""

    def __init__(self, *, is_interruptible: bool = True) -> None:
        self._is_interruptible = is_interruptible
        self._number: int | None = None

    def is_received(self) -> bool:
        """Return whether a signal was received."""
        return self._number is not None

    def handle(self, number: int, _frame: FrameType | None) -> None:
        """Remember the first signal; raise its exception on the second one, because the user does not want to wait."""
        if self._number is None:
            self._number = number
        elif self._is_interruptible:
            _raise(number)

    def raise_if_received(self) -> None:
        """Raise KeyboardInterrupt or SystemExit if a signal was received."""
        if self._number is not None:
            _raise(self._number)

    def repeat(self) -> None:
        """Raise the signal again if one was received, for the handler that is installed now."""
        if self._number is not None:
            signal.raise_signal(self._number)


@contextmanager
def raise_on_sigterm() -> Iterator[None]:
    """Raise SystemExit on SIGTERM or SIGHUP inside the context, so that all is closed as on Ctrl-C."""
    with _installed(dict.fromkeys(_TERMINATING, lambda number, _: _raise(number))):
        yield


@contextmanager
def defer_signals(*, is_interruptible: bool = True) -> Iterator[StopRequest]:
    """Remember the first signal inside the context instead of raising its exception.

    Work that checks the StopRequest can then stop at a consistent state and report what it did. Work that is not
    interruptible, such as the start of a process and the write of its ID, ends first; then the signal takes effect.
    """
    request = StopRequest(is_interruptible=is_interruptible)
    try:
        with _installed(dict.fromkeys((signal.SIGINT, *_TERMINATING), request.handle)):
            yield request
    except Exception:
        # A service manager ends the JVM at the same time; a failure after a signal is a consequence of it.
        if is_interruptible:
            request.raise_if_received()
        raise
    finally:
        if not is_interruptible:
            request.repeat()


def pause(seconds: float) -> None:
    """Sleep, unless a signal with a handler arrives: it ends the pause also if it comes just before `time.sleep` would.

    Python runs handlers between its instructions, so a sleep that begins after the signal would take its whole time.
    """
    if threading.current_thread() is not threading.main_thread():
        time.sleep(seconds)
        return
    receiver, sender = socket.socketpair()
    with receiver, sender:
        sender.settimeout(0)
        previous = signal.set_wakeup_fd(sender.fileno(), warn_on_full_buffer=False)
        try:
            select.select([receiver], [], [], seconds)
        finally:
            signal.set_wakeup_fd(previous)


def save_sigint_handler() -> Callable[[], None]:
    """Return a function that restores the current handler of SIGINT."""
    if threading.current_thread() is not threading.main_thread():
        return lambda: None
    current = signal.getsignal(signal.SIGINT)

    def restore() -> None:
        signal.signal(signal.SIGINT, current)

    return restore


@contextmanager
def _installed(handlers: Mapping[signal.Signals, Callable[[int, FrameType | None], Any]]) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = {number: signal.getsignal(number) for number in handlers}
    try:
        for number, handler in handlers.items():
            # A process that nohup or a shell in the background starts ignores some signals, and must go on doing so.
            if previous[number] is not signal.SIG_IGN:
                signal.signal(number, handler)
        yield
    finally:
        for number, handler_before in previous.items():
            signal.signal(number, handler_before)


def _raise(number: int) -> None:
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    sys.exit(ExitCode.TERMINATED)
