"""When a cluster is polled, with a clock that tests set."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from kafka_groups.exporter.cluster_poll import ClusterPoll
from kafka_groups.exporter.poll_schedule import Schedule, ScheduledPolls

WAIT_S = 5.0


class Polled:
    """A cluster whose polls are numbered; with `gate` they wait for it."""

    def __init__(self) -> None:
        self.now = 100.0
        self.timeouts: list[float | None] = []
        self.begun = threading.Semaphore(0)
        self.gate: threading.Semaphore | None = None

    def poll(self, timeout_s: float | None) -> ClusterPoll:
        self.timeouts.append(timeout_s)
        number = len(self.timeouts)
        self.begun.release()
        if self.gate is not None:
            assert self.gate.acquire(timeout=WAIT_S)
        samples = {"m": [b"m 1\n"]}
        return ClusterPoll(str(number), is_up=True, samples=samples, failures=(), ended_s=0.0, duration_s=0.0)


@contextmanager
def started(polled: Polled, schedule: Schedule) -> Iterator[ScheduledPolls]:
    polls = ScheduledPolls(polled.poll, schedule, lambda: polled.now)
    polls.start()
    try:
        yield polls
    finally:
        polls.stop()


def scrape(polls: ScheduledPolls, until: float | None = None) -> str | None:
    """Return the number of the poll that a scrape gets; None if there is none in time."""
    poll = polls.wait(polls.request(until), until)
    return None if poll is None else poll.cluster


def test_each_scrape_polls_by_default() -> None:
    polled = Polled()
    with started(polled, Schedule()) as polls:
        assert [scrape(polls) for _ in range(3)] == ["1", "2", "3"]


def test_a_young_poll_serves_another_scrape() -> None:
    polled = Polled()
    with started(polled, Schedule(max_age_s=10.0)) as polls:
        assert scrape(polls) == "1"
        polled.now += 9.9
        assert scrape(polls) == "1"
        polled.now += 0.1
        assert scrape(polls) == "2"


def test_nothing_is_polled_before_the_first_scrape() -> None:
    polled = Polled()
    with started(polled, Schedule(max_age_s=10.0)) as polls:
        assert not polled.begun.acquire(timeout=0.05)
        assert polls.last is None


def test_scrapes_at_the_same_time_share_a_poll() -> None:
    polled = Polled()
    polled.gate = threading.Semaphore(0)
    found: list[str | None] = []
    with started(polled, Schedule()) as polls:
        first = threading.Thread(target=lambda: found.append(scrape(polls)))
        first.start()
        assert polled.begun.acquire(timeout=WAIT_S)
        others = [threading.Thread(target=lambda: found.append(scrape(polls))) for _ in range(5)]
        numbers = [polls.request(None) for _ in range(3)]
        for other in others:
            other.start()
        polled.gate.release(len(others) + 1)
        for thread in (first, *others):
            thread.join(WAIT_S)
    assert set(numbers) == {1}
    assert len(found) == 6
    assert len(polled.timeouts) <= 2


def test_a_poll_gets_most_of_the_time_that_its_scrape_has_left() -> None:
    polled = Polled()
    with started(polled, Schedule()) as polls:
        scrape(polls, polled.now + 7.0)
        scrape(polls)
    assert polled.timeouts == [pytest.approx(5.6), None]


def test_samples_are_released_while_the_next_poll_runs_unless_a_scrape_needs_them() -> None:
    for is_needed in (False, True):
        polled = Polled()
        with started(polled, Schedule()) as polls:
            number = polls.request(None)
            late = [polls.request(None)] if is_needed else []
            assert polls.wait(number, None) is not None
            polled.gate = threading.Semaphore(0)
            assert polled.begun.acquire(timeout=WAIT_S)
            polls.request(None)
            assert polled.begun.acquire(timeout=WAIT_S)
            last = polls.last
            assert last is not None
            assert (last.is_up, bool(last.samples)) == (True, is_needed)
            for other in late:
                poll = polls.wait(other, None)
                assert poll is not None
                assert poll.samples
            polled.gate.release()


def test_a_scrape_does_not_wait_beyond_its_time() -> None:
    polled = Polled()
    polled.gate = threading.Semaphore(0)
    with started(polled, Schedule()) as polls:
        number = polls.request(polled.now + 1.0)
        assert polled.begun.acquire(timeout=WAIT_S)
        polled.now += 1.0
        assert polls.wait(number, polled.now) is None
        polled.gate.release()


def test_polls_in_the_background_need_no_scrape() -> None:
    polled = Polled()
    with started(polled, Schedule(interval_s=0.01)) as polls:
        assert polled.begun.acquire(timeout=WAIT_S)
        assert polls.wait(1, None) is not None
        polled.now += 0.01
        assert polled.begun.acquire(timeout=WAIT_S)
        assert polls.wait(2, None) is not None
        assert scrape(polls) == "2"
    assert polled.timeouts == [None, None]


def test_a_scrape_waits_for_the_first_poll_in_the_background() -> None:
    polled = Polled()
    with started(polled, Schedule(interval_s=60.0)) as polls:
        assert [scrape(polls), scrape(polls)] == ["1", "1"]


def test_a_poll_that_takes_longer_than_the_interval_is_not_caught_up() -> None:
    polled = Polled()
    polled.gate = threading.Semaphore(0)
    with started(polled, Schedule(interval_s=0.01)) as polls:
        assert polled.begun.acquire(timeout=WAIT_S)
        polled.now += 100.0
        polled.gate.release()
        assert polls.wait(1, None) is not None
        assert polled.begun.acquire(timeout=WAIT_S)
        polled.gate.release()
        assert polls.wait(2, None) is not None
        assert not polled.begun.acquire(timeout=0.1)


@pytest.mark.parametrize("schedule", [Schedule(), Schedule(interval_s=60.0)])
def test_scrapes_that_wait_end_when_the_exporter_stops(schedule: Schedule) -> None:
    polled = Polled()
    polls = ScheduledPolls(polled.poll, schedule, lambda: polled.now)
    number = polls.request(None)
    polls.stop()
    assert polls.wait(number, None) is None
