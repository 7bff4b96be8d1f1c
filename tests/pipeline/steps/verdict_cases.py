"""Windows and what they are called: at least one a rule, and one on each side of each boundary.

The pure rules and the Spark step are both held to this table.
"""

from __future__ import annotations

from dataclasses import dataclass

from kafka_groups.pipeline.steps.burrow_rules import Commit, Window
from kafka_groups.verdicts import Rules

FOUR = Rules(intervals=4)


@dataclass(frozen=True)
class Case:
    name: str
    window: Window
    status: str
    rule: str
    rules: Rules = FOUR


def commits(*offsets_and_lags: tuple[int, int | None], every_ms: int = 60_000) -> tuple[Commit, ...]:
    return tuple(Commit(offset, place * every_ms, lag) for place, (offset, lag) in enumerate(offsets_and_lags))


def window(
    *offsets_and_lags: tuple[int, int | None],
    ends: tuple[int, ...] = (1_000,),
    after_ms: int = 0,
    lag: int | None = 10,
) -> Window:
    made = commits(*offsets_and_lags)
    return Window(made, ends, (made[-1].at_ms if made else 0) + after_ms, lag)


BEHIND = ((10, 5), (20, 6), (30, 7), (40, 8))
MINUTES = 60_000
HALF = Rules(intervals=4, minimum_complete=0.5)
FIVE = Rules(intervals=4, allowed_lag=5)

CASES = (
    Case("no lag now, whatever was before", window((10, 5), (10, 5), (10, 5), (10, 5), lag=0), "OK", "no_lag"),
    Case("a negative lag is none", window(*BEHIND, lag=-3), "OK", "no_lag"),
    Case("one record of lag is lag", window(*BEHIND, lag=1), "WARN", "falling_behind"),
    Case("lag as high as allowed", window(*BEHIND, lag=5), "OK", "no_lag", FIVE),
    Case("lag higher than allowed", window((1, 6), (2, 7), (3, 8), (4, 9), lag=6), "WARN", "falling_behind", FIVE),
    Case("an unknown lag is not none", window(*BEHIND, lag=None), "WARN", "falling_behind"),
    Case("a window that is less than half full", window((10, 5), lag=9), "OK", "incomplete", HALF),
    Case("a window that is half full", window((10, 5), (20, 6), lag=9), "WARN", "falling_behind", HALF),
    Case("no commit for as long as the window", window(*BEHIND, after_ms=3 * MINUTES), "WARN", "falling_behind"),
    Case("no commit for longer than the window", window(*BEHIND, after_ms=3 * MINUTES + 1), "STOP", "stopped"),
    Case("one commit, just now", window((10, 5)), "STALL", "stalled"),
    Case("one commit, a millisecond ago", window((10, 5), after_ms=1), "STOP", "stopped"),
    Case(
        "silent, but a stored log end was reached",
        window((10, 5), (20, 6), (30, 0), (40, 0), ends=(40, 900), after_ms=9 * MINUTES),
        "OK",
        "keeping_up",
    ),
    Case(
        "silent, and one record short of all stored log ends",
        window((10, 5), (20, 6), (30, 0), (40, 0), ends=(41, 900), after_ms=9 * MINUTES),
        "STOP",
        "stopped",
    ),
    Case("silent, and no log end stored", window(*BEHIND, ends=(), after_ms=9 * MINUTES), "STOP", "stopped"),
    Case("stopped comes before rewound", window((40, 5), (10, 6), after_ms=9 * MINUTES), "STOP", "stopped"),
    Case("an offset that fell", window((10, 5), (40, 0), (20, 9), (30, 9)), "REWIND", "rewound"),
    Case("rewound to one below where it was", window((10, 5), (40, 5), (20, 9), (39, 9)), "REWIND", "rewound"),
    Case("rewound and back where it was", window((10, 5), (40, 0), (20, 9), (40, 9)), "OK", "keeping_up"),
    Case(
        "rewound twice: the first fall decides",
        window((10, 0), (5, 1), (20, 1), (15, 1), ends=(99,)),
        "OK",
        "keeping_up",
    ),
    Case("rewound although lag was none", window((40, 0), (20, 0), (30, 0), (35, 0)), "REWIND", "rewound"),
    Case("commits that do not move", window((10, 5), (10, 4), (10, 5), (10, 6)), "STALL", "stalled"),
    Case("not moving, but lag was none once", window((10, 5), (10, 0), (10, 5), (10, 6)), "OK", "keeping_up"),
    Case("not moving, lag once as high as allowed", window((1, 6), (1, 5), (1, 7), (1, 7)), "OK", "keeping_up", FIVE),
    Case("not moving, lag above what is allowed", window((1, 6), (1, 6), (1, 7), (1, 7)), "STALL", "stalled", FIVE),
    Case("moved once, at the end", window((10, 5), (10, 5), (10, 5), (11, 5)), "WARN", "falling_behind"),
    Case("lag that stays", window((10, 5), (20, 5), (30, 5), (40, 5)), "WARN", "falling_behind"),
    Case("lag that falls once", window((10, 5), (20, 6), (30, 5), (40, 6)), "OK", "keeping_up"),
    Case("lag that was none once", window((10, 5), (20, 6), (30, 0), (40, 6)), "OK", "keeping_up"),
    Case("unknown lags are skipped", window((10, 5), (20, None), (30, 6), (40, None)), "WARN", "falling_behind"),
    Case("lag fell over an unknown one", window((10, 6), (20, None), (30, 5), (40, 7)), "OK", "keeping_up"),
    Case("no lag is known of any commit", window((10, None), (20, None), (30, None)), "WARN", "falling_behind"),
    Case("no lag known, and not moving", window((10, None), (10, None), (10, None)), "STALL", "stalled"),
)
