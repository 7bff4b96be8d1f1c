"""Pauses between polls: signals end them, and they leave nothing behind."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

from kafka_groups.options.signals import pause


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
