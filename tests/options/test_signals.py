"""Signals: they end pauses between polls, and are deferred by work that must reach a consistent state."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator

import pytest

from kafka_groups.options.signals import defer_signals, pause


def test_a_pause_takes_its_time() -> None:
    started = time.monotonic()
    pause(0.05)
    assert time.monotonic() - started >= 0.05
    assert signal.set_wakeup_fd(-1) == -1


def test_a_signal_ends_a_pause() -> None:
    sender = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    started = time.monotonic()
    sender.start()
    with pytest.raises(KeyboardInterrupt):
        pause(30)
    sender.join()
    assert time.monotonic() - started < 20
    assert signal.set_wakeup_fd(-1) == -1


def test_another_thread_pauses_too() -> None:
    started = time.monotonic()
    thread = threading.Thread(target=pause, args=(0.05,))
    thread.start()
    thread.join()
    assert time.monotonic() - started >= 0.05


SIGNALS = pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])


@pytest.fixture
def received(number: signal.Signals) -> Iterator[list[int]]:
    """Yield the signals that the handler from before the work got."""
    found: list[int] = []
    before = signal.signal(number, lambda number, _: found.append(number))
    yield found
    signal.signal(number, before)


@SIGNALS
def test_work_that_is_not_interruptible_ends_before_its_signals_take_effect_once(
    number: signal.Signals, received: list[int]
) -> None:
    with defer_signals(is_interruptible=False):
        signal.raise_signal(number)
        signal.raise_signal(number)
        assert received == []
    assert received == [number]


@SIGNALS
def test_a_failure_of_such_work_is_no_reason_to_lose_its_signal(number: signal.Signals, received: list[int]) -> None:
    def work() -> None:
        with defer_signals(is_interruptible=False):
            signal.raise_signal(number)
            raise ValueError("failed")

    with pytest.raises(ValueError, match="failed"):
        work()
    assert received == [number]


@SIGNALS
def test_other_work_learns_of_the_first_signal_and_is_ended_by_the_second(
    number: signal.Signals, received: list[int]
) -> None:
    def work() -> None:
        with defer_signals() as request:
            signal.raise_signal(number)
            assert request.is_received()
            signal.raise_signal(number)

    with pytest.raises((KeyboardInterrupt, SystemExit)):
        work()
    assert received == []
