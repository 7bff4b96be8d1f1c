"""Verdicts on groups: one table of rules, for the polls of `lag` and for the pipeline's history.

RULES is the table. A rule compares evidence on one partition at one time; the first rule that holds gives the verdict.
`judge` interprets it for polls, `pipeline/build/kernels/verdicts.py` for all rows of a day. A comparison with an
unknown number does not hold. docs/verdicts.md explains the rules, docs/design/verdicts.md the choice of the numbers.

A *move* is an observation of another committed offset than the one before. A group *waits* from its last move, or from
the last observation without lag if that is later. A *floor* is the lowest lag of a period.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, NamedTuple

# From the best to the worst. A group has the verdict of its worst partition.
VERDICTS: Final = ("OK", "UNKNOWN", "WARN", "STALL", "REWIND", "STOP")

MINUTE_MS: Final = 60_000
HOUR_MS: Final = 60 * MINUTE_MS
SHORT_PERIOD_MS: Final = 5 * MINUTE_MS  # floors are kept for five minutes, and for the hours of a day
LONG_PERIOD_MS: Final = HOUR_MS
# The lengths of the thirds of a window in which falling_behind and slow_leak compare three floors.
SHORT_THIRDS_MS: Final = (10 * MINUTE_MS, 20 * MINUTE_MS, 40 * MINUTE_MS)
LONG_THIRDS_MS: Final = (2 * HOUR_MS, 4 * HOUR_MS, 8 * HOUR_MS)
START_MOVES: Final = 3  # the rate of deletion follows from this number of moves of the log start
# The second longest wait is usual: one outage is not, and two waits make a period.
WAITS: Final = 2
# After this time a wait counts half, so that an outage is forgotten.
WAIT_HALF_LIFE_MS: Final = 12 * HOUR_MS
# Waits are compared by strength, an integer: a unit more is a wait twice as long, or one a half-life later.
STRENGTH_UNIT: Final = 1 << 20

UNKNOWN: Final = "is unknown"
KNOWN: Final = "is known"
OPERATORS: Final[Mapping[str, Callable[[Any, Any], Any]]] = MappingProxyType(
    {">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le, "==": operator.eq}
)


@dataclass(frozen=True, slots=True)
class Limits:
    """What a user may choose: a lag in records that is still OK, and the time until a wait is STOP, in ms.

    `retention_alert_ms` is how near a record may come to its deletion before the group has read it. Raises ValueError
    for negative numbers.
    """

    allowed_lag: int = 0
    stop_after_ms: int = 2 * MINUTE_MS
    retention_alert_ms: int = 24 * HOUR_MS

    def __post_init__(self) -> None:
        """Refuse negative limits."""
        if min(self.allowed_lag, self.stop_after_ms, self.retention_alert_ms) < 0:
            msg = f"{self} has a negative number"
            raise ValueError(msg)


class Growth(NamedTuple):
    """How the lag grew over a window of three thirds: their floors, and what was produced between the floors.

    `grown_early` is the second floor minus the first one, `grown_late` the third minus the second, `grown` their sum.
    `produced` is the growth of the log end from the first floor to the third. `records_per_poll` is what was produced,
    on average, between two observations, or in one usual wait if that is shorter: an observation shows a commit late by
    at most this time. `records_per_poll_share` is the same times the share of a third that a usual wait takes: fewer
    waits in a third make its floor less certain. `chance_records` is the square root of `produced`. `previous_floor` is
    the floor of the last third without the current period. All are in records. `third_ms` is the length of a third.
    """

    grown: float
    grown_early: float
    grown_late: float
    produced: float
    records_per_poll: float
    records_per_poll_share: float
    chance_records: float
    previous_floor: float
    third_ms: float


class Evidence(NamedTuple):
    """The evidence on a partition at an observation. Numbers are None where they are unknown; times are in ms.

    - `lag`: records that the group can still read; `lost_records`: those that were deleted before it read them.
    - `retention_ms`: of the topic; `retention_left_ms`: how long it still keeps the record at the commit.
    - `start_moves`: the last moves of the log start, at most three, which only history knows; from three moves follow
      `loss_ms`: until it reaches the commit, at the earliest; `kept_ms`: how long the log keeps a record;
      `unread_at_deletion`: records that the log had at the last move, and that are not read yet.
    - `members`: of the group; `empty_ms`: since when observations have seen none of them.
    - `offset_changes`: how often observations saw another committed offset than the one before.
    - `waiting_ms`: how long the group has waited; `silent_ms`: the same, where a commit at the same offset is no wait.
    - `usual_wait_ms`: the second longest wait that ended, or the only one; each counts half after twelve hours.
    - `repeated_commits`: commits at the same offset since the last change. Only history knows commits.
    - `to_reach`: by how much the commit is below an earlier one.
    - `unread_at_last_change`: records that the observation before the last change saw, and that change left unread.
    - `growths`: the growth of the lag by the length of a third; a missing length is unknown.
    """

    lag: int | None
    members: int | None
    offset_changes: int
    waiting_ms: int
    silent_ms: int
    usual_wait_ms: int
    empty_ms: int | None = None
    repeated_commits: int | None = None
    to_reach: int = 0
    lost_records: int | None = None
    retention_ms: int | None = None
    retention_left_ms: int | None = None
    start_moves: int | None = None
    loss_ms: float | None = None
    kept_ms: float | None = None
    unread_at_deletion: int | None = None
    unread_at_last_change: int | None = None
    growths: Mapping[int, Growth] = MappingProxyType({})


class Comparison(NamedTuple):
    """A comparison of evidence with other evidence, a limit or a number times a factor; KNOWN and UNKNOWN need none."""

    name: str
    operator: str
    other: str | float = ""
    factor: float = 1.0


class Rule(NamedTuple):
    """A rule and its verdict: it holds if all comparisons do, in one of its windows if it has thirds (ms)."""

    name: str
    verdict: str
    comparisons: tuple[Comparison, ...]
    thirds_ms: tuple[int, ...] = ()

    def needs(self) -> tuple[str, ...]:
        """Return the names of the evidence that has to be known, in the order of the table."""
        return tuple(dict.fromkeys(each.name for each in self.comparisons if each.operator != UNKNOWN))


_LAGS: Final = Comparison("lag", ">", "allowed_lag")
_IS_SILENT_ENOUGH: Final = Comparison("silent_ms", ">=", "stop_after_ms")
_IS_SILENT: Final = (_IS_SILENT_ENOUGH, Comparison("silent_ms", ">", "usual_wait_ms", 1.5))
_IS_WAITING: Final = (
    Comparison("waiting_ms", ">=", "stop_after_ms"),
    Comparison("waiting_ms", ">", "usual_wait_ms", 1.5),
)
_GROWS_EVENLY: Final = (
    _LAGS,
    Comparison("third_ms", ">=", "usual_wait_ms", 1.5),
    Comparison("grown", ">", "records_per_poll", 0.75),
    Comparison("grown", ">", "records_per_poll_share", 3.0),
    Comparison("grown", ">", "chance_records", 3.0),
    Comparison("grown_early", ">", "grown", 0.2),
    Comparison("grown_late", ">", "grown", 0.2),
    Comparison("lag", ">=", "previous_floor"),
)
RULES: Final[tuple[Rule, ...]] = (
    Rule("lag_unknown", "UNKNOWN", (Comparison("lag", UNKNOWN),)),
    Rule(
        "stopped",
        "STOP",
        (_LAGS, Comparison("members", "==", 0), Comparison("empty_ms", ">=", "stop_after_ms"), *_IS_SILENT),
    ),
    Rule("stopped", "STOP", (_LAGS, Comparison("offset_changes", ">=", 2), *_IS_SILENT)),
    Rule(
        "stopped_unseen",
        "STOP",
        (_LAGS, Comparison("offset_changes", "<", 2), Comparison("silent_ms", ">=", 15 * MINUTE_MS), _IS_SILENT_ENOUGH),
    ),
    Rule("rewound", "REWIND", (_LAGS, Comparison("to_reach", ">", 0))),
    Rule("stalled", "STALL", (_LAGS, Comparison("repeated_commits", ">=", 3), *_IS_WAITING)),
    Rule("losing_data", "WARN", (Comparison("lost_records", ">", 0),)),
    Rule(
        "losing_data",
        "WARN",
        (
            _LAGS,
            Comparison("retention_left_ms", "<=", "retention_alert_ms"),
            Comparison("retention_left_ms", "<=", "retention_ms", 0.2),
        ),
    ),
    Rule(
        "losing_data",
        "WARN",
        (
            _LAGS,
            Comparison("start_moves", ">=", START_MOVES),
            Comparison("unread_at_deletion", ">", 0),
            Comparison("loss_ms", "<=", "retention_alert_ms"),
            Comparison("loss_ms", "<=", "kept_ms", 0.2),
        ),
    ),
    Rule("no_lag", "OK", (Comparison("lag", "<=", "allowed_lag"),)),
    Rule("falling_behind", "WARN", (*_GROWS_EVENLY, Comparison("grown", ">", "produced", 0.025)), SHORT_THIRDS_MS),
    Rule("slow_leak", "WARN", (*_GROWS_EVENLY, Comparison("grown", ">", "produced", 0.005)), LONG_THIRDS_MS),
    Rule("batch", "OK", (Comparison("offset_changes", ">=", 3), Comparison("silent_ms", ">=", "stop_after_ms"))),
    Rule("keeping_up", "OK", (Comparison("unread_at_last_change", "<=", "allowed_lag"),)),
    Rule("keeping_up", "OK", (Comparison("grown", KNOWN),), SHORT_THIRDS_MS[:1]),
    Rule("incomplete", "UNKNOWN", ()),
)
# The rules of groups that no comparison judges.
NO_COMMITS: Final = "no_commits"
OUT_OF_ORDER: Final = "out_of_order"
# What each rule means, in words.
MEANINGS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "lag_unknown": "the lag is not known",
        "stopped": "the group has lag, and has not moved for longer than --stop-after and than it usually waits",
        "stopped_unseen": "the group has lag, and has not been seen to move twice, for 15 minutes or more",
        "rewound": "a commit is below an earlier one, and the group has not reached that offset again",
        "stalled": "the group commits the same offset again and again, and has lag all the time",
        "losing_data": "records were deleted before the group read them, or will be soon",
        "no_lag": "the group has read everything, or has no more lag than --allowed-lag",
        "falling_behind": "the group reads less than is written: its lowest lags have grown for half an hour or longer",
        "slow_leak": "the group reads slightly less than is written: its lowest lags have grown for hours",
        "batch": "the group waits, as it usually does between its runs",
        "keeping_up": "the group has lag, but does not fall behind",
        "incomplete": "there are too few observations to judge the group",
        NO_COMMITS: "the group has no commit",
        OUT_OF_ORDER: "a share group delivers records out of order, so that no offset shows how far it is",
    }
)


def _rank_rules() -> dict[str, str]:
    """Return the verdict of each rule, from the best to the worst.

    Of one verdict the first rule in the table is the worst. Of OK it is the best: the group has no lag.
    """
    names = dict.fromkeys(rule.name for rule in RULES)
    verdicts = dict.fromkeys((NO_COMMITS, OUT_OF_ORDER), "UNKNOWN") | {
        rule.name: rule.verdict for rule in reversed(RULES)
    }
    best = [name for name in names if verdicts[name] == VERDICTS[0]]
    others = [name for name in verdicts if name not in best]
    ranked = [*best, *sorted(others, key=lambda name: VERDICTS.index(verdicts[name]))]
    return {name: verdicts[name] for name in ranked}


# The verdict of each rule, from the best rule to the worst.
VERDICT_OF: Final[Mapping[str, str]] = MappingProxyType(_rank_rules())
_RANK: Final = {name: rank for rank, name in enumerate(VERDICT_OF)}


class Verdict(NamedTuple):
    """A verdict, the rule that gave it, and since when it has been given, in ms since 1970 (None: not known)."""

    verdict: str
    rule: str
    since_ms: int | None = None


def judge(evidence: Evidence, limits: Limits, rules: Sequence[Rule] = RULES) -> str:
    """Return the name of the first rule that holds on a partition."""
    known = {
        **evidence._asdict(),
        "allowed_lag": limits.allowed_lag,
        "stop_after_ms": limits.stop_after_ms,
        "retention_alert_ms": limits.retention_alert_ms,
    }
    return next(rule.name for rule in rules if _holds(rule, known, evidence.growths))


def judge_group(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the worst verdict of a partition: OK since the last one is, any other one since the first one has it."""
    found = tuple(verdicts)
    if not found:
        return Verdict(VERDICT_OF[NO_COMMITS], NO_COMMITS)
    worst = max(found, key=lambda each: _RANK[each.rule])
    since = [each.since_ms for each in found if each.verdict == worst.verdict and each.since_ms is not None]
    choose = max if worst.verdict == VERDICTS[0] else min
    return worst._replace(since_ms=choose(since, default=None))


def _holds(rule: Rule, known: Mapping[str, Any], growths: Mapping[int, Growth]) -> bool:
    """Return whether a rule holds: all comparisons, for rules with thirds with one growth of these lengths."""
    if not rule.thirds_ms:
        return _hold_all(rule.comparisons, known)
    of_rule = [growths[third] for third in rule.thirds_ms if third in growths]
    return any(_hold_all(rule.comparisons, {**known, **growth._asdict()}) for growth in of_rule)


def _hold_all(comparisons: Sequence[Comparison], known: Mapping[str, Any]) -> bool:
    """Return whether all comparisons hold; one with an unknown number does not."""
    # A poll of a large cluster calls this a million times, so that it is one loop, without a call for each comparison.
    for name, sign, other, factor in comparisons:
        value = known.get(name)
        if sign in (KNOWN, UNKNOWN):
            if (value is None) == (sign == KNOWN):
                return False
            continue
        limit = known[other] if isinstance(other, str) else other
        if value is None or limit is None or not OPERATORS[sign](value, limit * factor):
            return False
    return True
