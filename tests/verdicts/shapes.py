"""Shapes of healthy streams, and the faults that change one. Times are in seconds since the start of the stream."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from kafka_groups.pipeline.frames.arrays import Floats

Random: TypeAlias = np.random.Generator
# The multiple of the rate that is produced in each second, of a stream with this number.
Produce: TypeAlias = Callable[[Floats, int, Random], Floats]


HOUR_S: Final = 3_600


def _evenly(seconds: Floats, _number: int, _chance: Random) -> Floats:
    return np.ones(len(seconds))


def _waves(seconds: Floats, number: int, _chance: Random) -> Floats:
    period_s = (300, 3_600)[number % 2]
    return 1 + 0.1 * np.sin(2 * np.pi * seconds / period_s)


def _daily_waves(seconds: Floats, _number: int, chance: Random) -> Floats:
    waves: Floats = 1 + 0.3 * np.sin(2 * np.pi * (seconds / 86_400 + chance.uniform()))
    return waves


def _bursts(seconds: Floats, _number: int, _chance: Random) -> Floats:
    return np.where(seconds % 70 == 0, 70.0, 0.0)


def _hourly_job(seconds: Floats, number: int, _chance: Random) -> Floats:
    """Return what an hourly job produces alone, and for odd numbers beside a constant rate."""
    return np.where(seconds % 3_600 < 300, 12.0, 0.0 if number % 2 == 0 else 1.0)


@dataclass(frozen=True)
class Shape:
    """How records are produced and read: rates are multiples of the stream's rate, unless `rate` replaces it.

    In each period the group does not read for `pause_s`. Then its members stay, or leave after a commit. Records of a
    random shape arrive by a Poisson process.
    """

    name: str
    produce: Produce = _evenly
    capacity: float = 2.0
    period_s: float = 0
    pause_s: float = 0
    is_leaving: bool = False
    is_random: bool = False
    rate: float | None = None

    @property
    def is_batch(self) -> bool:
        """Return whether the group reads for the shorter part of each period."""
        return 2 * self.pause_s > self.period_s


SHAPES: Final = {
    shape.name: shape
    for shape in (
        Shape("constant"),
        Shape("waves of 10 %", _waves, 1.5, 3_600),
        Shape("daily waves of 30 %", _daily_waves, 1.5),
        Shape("Poisson", capacity=1.3, is_random=True),
        Shape("bursts each 70 s", _bursts, period_s=70),
        Shape("batch of 1 min", capacity=40, period_s=60, pause_s=40),
        Shape("batch of 5 min", capacity=40, period_s=300, pause_s=280),
        Shape("batch of 15 min", capacity=40, period_s=900, pause_s=840),
        Shape("batch of 1 min, leaving", capacity=40, period_s=60, pause_s=40, is_leaving=True),
        Shape("batch of 5 min, leaving", capacity=40, period_s=300, pause_s=280, is_leaving=True),
        Shape("batch of 15 min, leaving", capacity=40, period_s=900, pause_s=840, is_leaving=True),
        Shape("30 s pause each 3 min", capacity=2.5, period_s=180, pause_s=30),
        Shape("60 s pause each 3 min", capacity=2.5, period_s=180, pause_s=60),
        Shape("30 s pause each 20 min", capacity=2.5, period_s=1_200, pause_s=30),
        Shape("3 min pause each hour", capacity=2.5, period_s=3_600, pause_s=180),
        Shape("0.01 records/s", capacity=100, period_s=100, is_random=True, rate=0.01),
        Shape("0.05 records/s", capacity=100, period_s=20, is_random=True, rate=0.05),
        Shape("0.2 records/s", capacity=100, period_s=5, is_random=True, rate=0.2),
        Shape("hourly producer", _hourly_job, 3, 3_600),
        Shape("hourly reader", capacity=40, period_s=3_600, pause_s=3_300),
        Shape("hourly reader, leaving", capacity=40, period_s=3_600, pause_s=3_300, is_leaving=True),
        Shape("absent for 60 s each 10 min", period_s=600, pause_s=60, is_leaving=True),
    )
}


@dataclass(frozen=True, kw_only=True)
class Fault:
    """What goes wrong from `at_s` on.

    - `slow`: the group reads by this share less than is produced; 1 stops it. `is_committing`: it goes on to commit.
    - `is_leaving`: members leave after a last commit.
    - `back_s`: the position goes back by the records of this time. `is_reset`: an administrator resets the offset,
      while the members are absent for twice `absent_s`.
    - `rules` are those that find the fault.
    """

    name: str
    at_s: float = 0
    slow: float = 0
    is_committing: bool = True
    is_leaving: bool = False
    back_s: float = 0
    is_reset: bool = False
    absent_s: float = 0
    rules: tuple[str, ...] = ("falling_behind", "slow_leak")


_STOP: Final = ("stopped", "stopped_unseen")
FAULTS: Final = {
    fault.name: fault
    for fault in (
        Fault(name="stopped with members", at_s=4 * HOUR_S, slow=1, is_committing=False, rules=_STOP),
        Fault(
            name="stopped without members",
            at_s=4 * HOUR_S,
            slow=1,
            is_committing=False,
            is_leaving=True,
            rules=_STOP,
        ),
        Fault(name="stalled", at_s=4 * HOUR_S, slow=1, rules=("stalled",)),
        Fault(name="slow by 10 %", slow=0.1),
        Fault(name="slow by 5 %", slow=0.05),
        Fault(name="slow by 1 %", slow=0.01),
        Fault(name="slow by 10 % after 4 h", at_s=4 * HOUR_S, slow=0.1),
        Fault(name="seek of a member", at_s=4 * HOUR_S, back_s=HOUR_S, rules=("rewound",)),
        Fault(
            name="reset without members",
            at_s=4 * HOUR_S,
            back_s=HOUR_S,
            is_reset=True,
            absent_s=700,
            rules=("rewound",),
        ),
    )
}
