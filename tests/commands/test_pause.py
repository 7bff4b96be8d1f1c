"""Pauses between polls: signals end them, and they leave nothing behind."""

from __future__ import annotations

import os
import random
import signal
import threading
import time

import pytest

from kafka_groups.commands.signals import pause


def test_a_pause_takes_its_time() -> None:
    started = time.monotonic()
    pause(0.05)
    assert time.monotonic() - started >= 0.05
    assert signal.set_wakeup_fd(-1) == -1


def _pause_after(sender: threading.Timer) -> None:
    sender.start()
    pause(30)


def test_a_signal_at_any_moment_ends_a_pause() -> None:
    chance = random.Random(7)
    started = time.monotonic()
    for _ in range(100):
        sender = threading.Timer(chance.uniform(0, 0.001), os.kill, (os.getpid(), signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            _pause_after(sender)
        sender.join()
    assert time.monotonic() - started < 20
    assert signal.set_wakeup_fd(-1) == -1


def test_another_thread_pauses_too() -> None:
    started = time.monotonic()
    thread = threading.Thread(target=pause, args=(0.05,))
    thread.start()
    thread.join()
    assert time.monotonic() - started >= 0.05
