"""Windows and the rules that hold for them: at least one case per rule, and one on each side of each boundary.

The cases of Burrow's own test are part of the table: core/internal/evaluator/caching_test.go of linkedin/Burrow at
commit ced55ba (Apache License 2.0), `tests` 0 to 15. A commit there has its lag, so it is also a point.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kafka_groups.verdicts import Commit, Point, Rules, Window

FOUR = Rules(intervals=4)
HALF = Rules(intervals=4, minimum_complete=0.5)
FIVE = Rules(intervals=4, allowed_lag=5)
MINUTES = 60_000


@dataclass(frozen=True)
class Case:
    """A window and the rule that holds; for a case of Burrow's also its status and, if ours differs, the reason."""

    name: str
    window: Window
    rule: str
    rules: Rules = FOUR
    burrow: str | None = None
    reason: str | None = None


def commits(*offsets_and_lags: tuple[int, int | None], every_ms: int = MINUTES) -> tuple[Commit, ...]:
    return tuple(Commit(offset, place * every_ms, lag) for place, (offset, lag) in enumerate(offsets_and_lags))


def points(*lags: int, produced: int = 1_000) -> tuple[Point, ...]:
    """Return points with these lags and `produced` records between two of them."""
    return tuple(Point(place * produced, lag, place) for place, lag in enumerate(lags))


STEADY = points(5, 5, 5, 5, 5)
GROWING = points(0, 100, 200, 300, 400)
ALLOWED, NOT_ALLOWED = points(0, 0, 5, 5, 5, produced=9), points(0, 0, 5, 5, 6, produced=9)
MOVING = ((10, 5), (20, 6), (30, 7), (40, 8))


def window(
    *offsets_and_lags: tuple[int, int | None],
    ends: tuple[int, ...] = (1_000,),
    after_ms: int = 0,
    lag: int | None = 1_000,
    at: tuple[Point, ...] = STEADY,
    is_sampled: bool = False,
) -> Window:
    made = commits(*offsets_and_lags)
    return Window(made, ends, at, (made[-1].at_ms if made else 0) + after_ms, lag, is_sampled)


SAMPLED = window(*MOVING, at=points(*range(0, 1_200, 100)), is_sampled=True)
CATCHING_UP = SAMPLED._replace(points=points(0, 0, 0, 0, 0, 0, 900, 850, 800, 700, 600, 500), current_lag=500)

OWN = (
    Case("nothing is committed", window(lag=None), "no_commits"),
    Case("the log end is unknown", window(*MOVING, lag=None, at=GROWING, after_ms=99 * MINUTES), "lag_unknown"),
    Case("the log end is unknown, and the offset fell", window((10, 5), (5, 9), lag=None), "lag_unknown"),
    Case("no lag now, whatever was before", window((10, 5), (10, 5), (10, 5), (10, 5), lag=0), "no_lag"),
    Case("a negative lag is none", window(*MOVING, lag=-3, at=GROWING), "no_lag"),
    Case("no lag, and one commit", window((10, None), lag=0, at=()), "no_lag"),
    Case("one record of lag is lag", window(*MOVING, lag=1), "keeping_up"),
    Case("lag as high as allowed", window(*MOVING, lag=5), "no_lag", FIVE),
    Case("lag higher than allowed", window((1, 6), (1, 6), lag=6), "stalled", FIVE),
    Case("a window that is less than half full", window((10, 5), at=GROWING), "incomplete", HALF),
    Case("a window that is half full", window((10, 5), (20, 6), at=GROWING), "falling_behind", HALF),
    # stopped
    Case("no commit for as long as the window", window(*MOVING, after_ms=3 * MINUTES), "keeping_up"),
    Case("no commit for longer than the window", window(*MOVING, after_ms=3 * MINUTES + 1), "stopped"),
    Case("one commit, just now", window((10, 5), at=()), "incomplete"),
    Case("one commit, ten minutes ago", window((10, None), after_ms=10 * MINUTES, at=()), "incomplete"),
    Case("one commit, longer than ten minutes ago", window((10, None), after_ms=10 * MINUTES + 1, at=()), "stopped"),
    Case(
        "three commits of four, and none for longer than the window",
        window((10, 5), (20, 6), (30, 7), after_ms=3 * MINUTES),
        "keeping_up",
    ),
    Case(
        "three commits of four, and none for ten minutes",
        window((10, 5), (20, 6), (30, 7), after_ms=10 * MINUTES + 1),
        "stopped",
    ),
    Case(
        "two commits of four in twenty minutes, and none for fifteen",
        Window(commits((10, 5), (20, 6), every_ms=20 * MINUTES), (1_000,), STEADY, 35 * MINUTES, 980),
        "keeping_up",
    ),
    Case(
        "silent, but a stored log end was reached", window(*MOVING, ends=(40, 900), after_ms=9 * MINUTES), "keeping_up"
    ),
    Case("silent, one record short of all log ends", window(*MOVING, ends=(41, 900), after_ms=9 * MINUTES), "stopped"),
    Case("silent, and no log end stored", window(*MOVING, ends=(), after_ms=9 * MINUTES), "keeping_up"),
    Case("stopped comes before rewound", window((40, 5), (10, 6), after_ms=19 * MINUTES), "stopped"),
    # rewound
    Case("an offset that fell", window((10, 5), (40, 0), (20, 9), (30, 9)), "rewound"),
    Case("rewound to one below where it was", window((10, 5), (40, 5), (20, 9), (39, 9)), "rewound"),
    Case("two equal offsets, and one that fell", window((10, 5), (10, 5), (5, 9)), "rewound"),
    Case("rewound and back where it was", window((10, 5), (40, 0), (20, 9), (40, 9)), "keeping_up"),
    Case("rewound twice: the first fall decides", window((10, 0), (5, 1), (20, 1), (15, 1)), "keeping_up"),
    Case("rewound although lag was none", window((40, 0), (20, 0), (30, 0), (35, 0)), "rewound"),
    Case("rewound, and no lag is known", window((40, None), (20, None), at=()), "rewound"),
    # stalled
    Case("commits that do not move", window((10, 5), (10, 4), (10, 5), (10, 6)), "stalled"),
    Case("two commits that do not move", window((10, 5), (10, 5), at=()), "stalled"),
    Case("not moving, but lag was none once", window((10, 5), (10, 0), (10, 5), (10, 6)), "keeping_up"),
    Case("not moving, lag once as high as allowed", window((1, 6), (1, 5), (1, 7), (1, 7)), "keeping_up", FIVE),
    Case("not moving, one lag is unknown", window((10, None), (10, 5), (10, 5), at=()), "lag_unknown"),
    Case("moved once, at the end", window((10, 5), (10, 5), (10, 5), (11, 5)), "keeping_up"),
    Case("stalled comes before falling behind", window((10, 5), (10, 6), at=GROWING), "stalled"),
    # falling_behind; commits of four lags that all rise are no evidence
    Case("lag grows as fast as 5 % of production", window(*MOVING, at=points(0, 0, 0, 150, 150)), "keeping_up"),
    Case("lag grows by one record more", window(*MOVING, at=points(0, 0, 0, 150, 151)), "falling_behind"),
    Case("lag grows, but from the lags of commits only", window(*MOVING, at=points(0, 0, 0, 0, 0)), "keeping_up"),
    Case("lag that stays", window(*MOVING, at=points(9, 9, 9, 9, 9)), "keeping_up"),
    Case("lag falls", window(*MOVING, at=points(400, 300, 200, 100, 0)), "keeping_up"),
    Case("nothing is produced, and lag stays", window(*MOVING, at=points(9, 9, 9, 9, 9, produced=0)), "keeping_up"),
    Case("the log ends fall, and lag stays", window(*MOVING, at=points(9, 9, 9, 9, 9, produced=-20)), "keeping_up"),
    Case("lag now as high as from the middle on", window(*MOVING, lag=200, at=GROWING), "falling_behind"),
    Case("lag now lower than from the middle on", window(*MOVING, lag=199, at=GROWING), "keeping_up"),
    Case("lag grows, and is as high as allowed", window(*MOVING, lag=6, at=ALLOWED), "keeping_up", FIVE),
    Case("lag grows, and is higher than allowed", window(*MOVING, lag=6, at=NOT_ALLOWED), "falling_behind", FIVE),
    Case("a late commit in the middle", window(*MOVING, lag=300, at=points(0, 0, 900, 250, 300)), "falling_behind"),
    Case("a burst, and the group catches up", window(*MOVING, lag=700, at=points(0, 0, 900, 850, 800)), "keeping_up"),
    Case("an earlier point does not matter", window(*MOVING, at=(*points(5_000), *GROWING)), "falling_behind"),
    Case("four points", window(*MOVING, at=GROWING[1:]), "lag_unknown"),
    Case("twelve samples", SAMPLED, "falling_behind"),
    Case("samples of a burst, and the group catches up", CATCHING_UP, "keeping_up"),
    Case("eleven samples", SAMPLED._replace(points=SAMPLED.points[1:]), "lag_unknown"),
    Case("lag now as high as at the seventh sample", SAMPLED._replace(current_lag=600), "falling_behind"),
    Case("lag now below that of the seventh sample", SAMPLED._replace(current_lag=599), "keeping_up"),
)  # fmt: skip


def burrow(  # noqa: PLR0913  (what a test of Burrow's has)
    number: int,
    status: str,
    rule: str,
    offsets_and_lags: Sequence[tuple[int, int | None]],
    *,
    lag: int,
    ends: tuple[int, ...],
    times: Sequence[int] = (100_000, 200_000, 300_000, 400_000, 500_000),
    now_s: int = 600,
    allowed_lag: int = 0,
    reason: str | None = None,
) -> Case:
    made = [Commit(offset, at_ms, left) for (offset, left), at_ms in zip(offsets_and_lags, times, strict=True)]
    at = [Point(each.offset + each.lag, each.lag, each.at_ms) for each in made if each.lag is not None]
    rules = Rules(intervals=len(made), allowed_lag=allowed_lag)
    return Case(f"Burrow's test {number}", Window(made, ends, at, now_s * 1_000, lag), rule, rules, status, reason)


THOUSANDS = (1_000, 2_000, 3_000, 4_000, 5_000)
CAUGHT_UP = list(zip(THOUSANDS, (0, 50, 100, 150, 200), strict=True))
BEHIND = list(zip(THOUSANDS, (50, 100, 150, 200, 250), strict=True))
UNMOVED = [(1_000, lag) for lag in (100, 150, 200, 250, 300)]
RECOVERED = [(1_000, 100), (2_000, 150), (3_000, 200), (2_000, 1_250), (4_000, 300)]
EVERY_SECOND = [(792_748_079 + place, 0) for place in range(15)]
SECONDS = (
    1_512_224_618_356, 1_512_224_619_362, 1_512_224_620_366, 1_512_224_621_367, 1_512_224_622_370,
    1_512_224_623_373, 1_512_224_624_378, 1_512_224_625_379, 1_512_224_626_383, 1_512_224_627_383,
    1_512_224_628_383, 1_512_224_629_388, 1_512_224_630_391, 1_512_224_631_394, 1_512_224_632_397,
)  # fmt: skip
WITH_UNKNOWN = [each for known in CAUGHT_UP for each in (known, (known[0] + 500, None))]
AFTER_A_REWIND = (
    "the lag rose from 100 to 300 while 3,200 records were produced, that is by more than 5 %; "
    "that it fell once between two commits says nothing about its trend"
)

BURROW = (
    burrow(0, "OK", "keeping_up", CAUGHT_UP, lag=200, ends=(5_200,)),
    burrow(1, "OK", "keeping_up", CAUGHT_UP, lag=200, ends=(5_200,), now_s=900),
    burrow(2, "STOP", "stopped", CAUGHT_UP, lag=200, ends=(5_200,), now_s=1_000),
    burrow(3, "STOP", "stopped", BEHIND, lag=250, ends=(5_250,), now_s=1_000),
    burrow(
        4, "OK", "falling_behind", [(1_000, lag) for lag in (0, 50, 100, 150, 200)], lag=200, ends=(1_200,),
        reason="nothing that is produced is read: that there was no lag at first ends STALL, not WARN",
    ),
    burrow(5, "STALL", "stalled", UNMOVED, lag=300, ends=(1_300,)),
    burrow(6, "STALL", "stalled", [(1_000, 100)] * 5, lag=100, ends=(1_100,)),
    burrow(7, "OK", "falling_behind", RECOVERED, lag=300, ends=(4_300,), reason=AFTER_A_REWIND),
    burrow(8, "OK", "no_lag", BEHIND, lag=0, ends=(5_250,), now_s=1_000),
    burrow(
        9, "STOP", "stopped", EVERY_SECOND, times=SECONDS, lag=931, now_s=1_512_224_650,
        ends=(792_749_024, 792_749_000, 792_748_800, 792_748_600, 792_748_500),
    ),
    burrow(
        10, "OK", "keeping_up", EVERY_SECOND, times=SECONDS, lag=1, now_s=1_512_224_650,
        ends=(792_748_094, 792_748_093, 792_748_093, 792_748_093),
    ),
    burrow(11, "OK", "keeping_up", WITH_UNKNOWN, times=range(100_000, 600_000, 50_000), lag=200, ends=(5_700,)),
    burrow(
        12, "OK", "no_lag", [(1_000, 2), (2_000, 1), (2_000, 1)], times=(100_000, 200_000, 300_000), lag=1,
        ends=(2_001,), now_s=550, allowed_lag=1,
    ),
    burrow(13, "STALL", "stalled", UNMOVED, lag=300, ends=(1_300,), allowed_lag=99),
    burrow(14, "OK", "falling_behind", RECOVERED, lag=300, ends=(4_300,), allowed_lag=99, reason=AFTER_A_REWIND),
    burrow(
        15, "REWIND", "rewound", [(1_000, 100), (2_000, 150), (3_000, 200), (2_000, 1_250), (2_500, 300)],
        lag=300, ends=(4_300,),
    ),
)  # fmt: skip

CASES = (*OWN, *BURROW)
