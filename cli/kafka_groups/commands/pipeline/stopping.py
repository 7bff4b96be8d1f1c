"""Ctrl-C and SIGTERM: what can stop by itself is asked to, everything else is unwound."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

_TERMINATED: Final = 128 + signal.SIGTERM


class Asked:
    """Whether a signal has asked for the end."""

    def __init__(self) -> None:
        self._number: int | None = None

    def __call__(self) -> bool:
        """Whether one came."""
        return self._number is not None

    def by(self, number: int, _frame: FrameType | None) -> None:
        """Take in a signal. Who asks twice does not want to wait: the second one unwinds."""
        if self._number is not None:
            _raise(number)
        self._number = number

    def end(self) -> None:
        """KeyboardInterrupt or SystemExit, as the signal is; nothing if none came."""
        if self._number is not None:
            _raise(self._number)


@contextmanager
def sigterm_unwinds() -> Iterator[None]:
    """Inside, SIGTERM unwinds like Ctrl-C does, so that sessions and connections are closed."""
    with _handled({signal.SIGTERM: lambda number, _: _raise(number)}):
        yield


@contextmanager
def asks_to_stop() -> Iterator[Asked]:
    """Inside, the first signal is only noted: work that looks for it stops where it is whole, and tells what it did."""
    asked = Asked()
    with _handled(dict.fromkeys((signal.SIGINT, signal.SIGTERM), asked.by)):
        try:
            yield asked
        except Exception:
            # A service manager ends the JVM at the same time; what fails then was asked for.
            asked.end()
            raise


def keep_ctrl_c() -> Callable[[], None]:
    """What gives Ctrl-C back the meaning that it has now, whoever takes it meanwhile."""
    if threading.current_thread() is not threading.main_thread():
        return lambda: None
    now = signal.getsignal(signal.SIGINT)

    def give_back() -> None:
        signal.signal(signal.SIGINT, now)

    return give_back


@contextmanager
def _handled(handlers: Mapping[signal.Signals, Callable[[int, FrameType | None], Any]]) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in handlers}
    try:
        for number, handler in handlers.items():
            # What is started with nohup, or behind a shell's back, ignores some and shall go on doing so.
            if before[number] is not signal.SIG_IGN:
                signal.signal(number, handler)
        yield
    finally:
        for number, was in before.items():
            signal.signal(number, was)


def _raise(number: int) -> None:
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    sys.exit(_TERMINATED)
