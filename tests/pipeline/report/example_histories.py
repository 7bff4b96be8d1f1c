"""Histories to draw: small ones made by hand, and a day of several groups in which everything happens."""

from __future__ import annotations

import math
from typing import Any, Final

from kafka_groups.pipeline.report.history import Finding, GroupHistory, History, LagPoint, Rebalance
from kafka_groups.pipeline.report.member_tasks import Client, GroupTasks, MemberTasks, TaskChange

MINUTE: Final = 60_000
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR
# 2026-11-20T00:00Z
FROM: Final = 1_795_132_800_000
TO: Final = FROM + DAY
HOSTILE: Final = "</script><script>alert(1)</script>\"'><img src=x onerror=alert(2)>"

NAMES: Final = ("billing", "注文-処理", "عربي", "payments.settlement.eu-1.reconciler-with-a-long-name", "[red]x[/red]")


def rebalance(started_ms: int = FROM + HOUR, duration_ms: int | None = 3_200, **given: Any) -> Rebalance:
    """Return a rebalance, by default with a known duration."""
    known: dict[str, Any] = {
        "started_ms": started_ms,
        "ended_ms": None if duration_ms is None else started_ms + duration_ms,
        "duration_ms": duration_ms,
        "duration_quality": "open" if duration_ms is None else "exact",
        "generation": 7,
        "joined": 2,
        "left": 1,
    }
    return Rebalance(**(known | given))


def group(name: str = "orders", **given: Any) -> GroupHistory:
    """Return a group of which nothing is known but its name and what is given."""
    known: dict[str, Any] = {
        "cluster_id": "c-1",
        "group": name,
        "state": None,
        "member_count": None,
        "verdict": None,
        "rule": None,
        "evaluated_ms": None,
        "deleted_ms": None,
        "deleted_is_bound": False,
        "lag": None,
        "verdict_since_ms": None,
        "lag_quality": "unknown" if given.get("lag") is None else "exact",
        "time_lag_ms": None,
        "time_lag_quality": "unknown",
        "consume_rate": None,
        "produce_rate": None,
        "catch_up_ms": None,
        "lagging_since_ms": None,
        "lagging_since_is_bound": False,
        "points": (),
        "rebalances": (),
    }
    return GroupHistory(**(known | given))


def history(*groups: GroupHistory, **given: Any) -> History:
    """Return a day of these groups."""
    known: dict[str, Any] = {
        "made_ms": TO + 5 * MINUTE,
        "from_ms": FROM,
        "to_ms": TO,
        "evaluated_ms": None,
        "clusters": ("c-1",),
        "groups": groups,
        "selected": groups,
        "unknown": (),
        "findings": (),
        "gaps": (),
        "missing": (),
    }
    return History(**(known | given))


def points(*lags: int | None, time_lags: tuple[int | None, ...] | None = None) -> tuple[LagPoint, ...]:
    """Return this number of points spread over the day, the first at its beginning."""
    times = time_lags or (None,) * len(lags)
    return tuple(
        LagPoint(FROM + DAY * at // len(lags), lag, time)
        for at, (lag, time) in enumerate(zip(lags, times, strict=True))
    )


def waves(many: int, *, top: int, phase: float = 0, growth: float = 0) -> tuple[LagPoint, ...]:
    """Return points of a lag that rises and falls, with its time lag, and an hour without samples."""
    given = []
    for at in range(many):
        part = at / many
        lag = int(top * (growth * part**2 + (1 - growth) * max(0.0, math.sin(9 * part + phase)) ** 3))
        is_gap = 0.55 < part < 0.6
        given.append(LagPoint(FROM + DAY * at // many, None if is_gap else lag, None if is_gap else lag * 37))
    return tuple(given)


MARKS: Final = (
    rebalance(FROM + 3 * HOUR, 3_200, generation=41),
    rebalance(FROM + 9 * HOUR, 31 * MINUTE, generation=42, duration_quality="bound", joined=0, left=2),
    rebalance(FROM + 22 * HOUR, None, generation=43, joined=1, left=0),
)
FINDINGS: Final = (
    Finding(
        kind="retention_risk",
        cluster_id="c-1",
        group="billing",
        topic="invoices",
        message="partition 3 is 5h from the end of its topic's retention (7d), at a time lag of 6d19h",
    ),
    Finding(kind="idle_group", cluster_id="c-1", group=HOSTILE, topic=None, message="no commit for 19h7m"),
    Finding(
        kind="unread_topic",
        cluster_id="c-1",
        group=None,
        topic="<b>clicks</b>",
        message="no group has committed on any of its 12 partitions",
    ),
)


def eventful(*, many: int = 8, dots: int = 1_000) -> History:
    """Return groups of every verdict, one with markup in its name, with findings, gaps and missing data."""
    quiet = group(
        "audit",
        state="Stable",
        member_count=1,
        verdict="OK",
        lag=0,
        points=points(0, 0, None, 2, None, 0, 0, 1),
        tasks=_streams_tasks(),
    )
    return history(
        *(_stopped(dots), *(_lagging(at, dots) for at in range(many - 2)), quiet),
        clusters=("c-1",),
        selected=(quiet,) * (many + 62),
        findings=FINDINGS,
        gaps=("partition 3 of __consumer_offsets: 120 offsets from 4,200 on were compacted before they were read",),
        missing=("no end offsets were sampled before 2026-11-20T02:00Z, so lag before that is unknown",),
    )


def _streams_tasks() -> GroupTasks:
    """Return the tasks of a member with a long id, and a change of them."""
    tasks = frozenset(("active", "0", number) for number in range(40))
    member = MemberTasks("x" * 80, Client("c-1"), tasks, FROM, since_is_bound=True, last_row_ms=FROM)
    change = TaskChange(FROM + HOUR, "x" * 80, Client("c-1"), tasks, frozenset())
    return GroupTasks((member,), (change,), has_roles=True)


def _stopped(dots: int) -> GroupHistory:
    """Return the group with the worst verdict."""
    return group(
        HOSTILE,
        state="Empty",
        member_count=0,
        verdict="STOP",
        rule="stopped",
        lag=1_234_567,
        time_lag_ms=19 * HOUR + 7 * MINUTE,
        time_lag_quality="lower_bound",
        consume_rate=0.0,
        produce_rate=310.4,
        lagging_since_ms=FROM + 5 * HOUR,
        points=waves(dots, top=1_234_567, growth=1),
        rebalances=MARKS,
    )


def _lagging(at: int, dots: int) -> GroupHistory:
    """Return the next groups, of all other verdicts in turn."""
    return group(
        NAMES[at % 5] + (f"-{at}" if at > 4 else ""),
        state="Stable",
        member_count=3,
        verdict=("STALL", "WARN", "OK", "REWIND", "OK")[at % 5],
        rule=("stalled", "falling_behind", None, "rewound", None)[at % 5],
        lag=40_000 // (at + 1),
        time_lag_ms=1_480_000 // (at + 1),
        time_lag_quality="interpolated",
        consume_rate=120.0 + at,
        produce_rate=118.4,
        catch_up_ms=(at + 1) * 11 * MINUTE,
        lagging_since_ms=FROM + (at % 20) * HOUR,
        points=waves(dots, top=40_000 // (at + 1), phase=at),
        rebalances=MARKS[: at % 4],
    )
