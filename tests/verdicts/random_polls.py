"""Random polls of a group on a partition, which lead to every rule that polls can show, and their scalar verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from kafka_groups.groups.lag.progress import Observation, Progress, evidence_of, observe
from kafka_groups.verdicts import RULES, VERDICT_OF, Limits, Rule, judge

_START_MS = 1_790_000_000_000


def random_polls(chance: Random) -> list[Observation]:
    """Return polls of a group that mostly reads, or of one that stops, seeks, loses records and has no members."""
    return _steady_polls(chance) if chance.random() < 0.4 else _disturbed_polls(chance)


def _steady_polls(chance: Random) -> list[Observation]:
    slow = chance.choice((0, 0.02, 0.1, 1))
    members = chance.choice((None, 0, 3))
    poll_ms = chance.choice((1_000, 5_000, 60_000, 300_000))
    at_ms, offset, end = _START_MS + chance.randrange(10**9), 100, 100
    polls = []
    for _ in range(chance.choice((60, 200, 500))):
        at_ms += int(chance.choice((60_000, poll_ms)) * chance.uniform(0.8, 1.2))
        end += chance.randrange(90, 110)
        if chance.random() < 0.9:
            offset = min(end, offset + int(100 * (1 - slow)))
        polls.append(Observation(offset, end, at_ms, 0, members))
    return polls


def _disturbed_polls(chance: Random) -> list[Observation]:
    slow = chance.choice((0, 0.02, 0.1, 1))
    members = chance.choice((None, 0, 3))
    poll_ms = chance.choice((1_000, 5_000, 60_000, 300_000))
    at_ms, offset, end, start = _START_MS + chance.randrange(10**9), 100, 100, 0
    polls = []
    for _ in range(chance.choice((3, 30, 200))):
        is_gap = chance.random() < 0.02
        at_ms += poll_ms * chance.randrange(1, 200) if is_gap else int(poll_ms * chance.uniform(0.5, 1.5))
        end += chance.choice((0, chance.randrange(50)))
        event = chance.random()
        if event < 0.02:
            offset = max(0, offset - chance.randrange(200))
        elif event < 0.03:
            offset = end + 5
        elif event < 0.7:
            offset = max(offset, int(offset + (end - offset) * (1 - slow)))
        if chance.random() < 0.05:
            members = chance.choice((None, 0, 0, 2))
        if chance.random() < 0.01:
            start = min(end, offset + chance.randrange(20))
        polls.append(Observation(offset, end, at_ms, start if start > offset else 0, members))
    return polls


def judge_polls(polls: Sequence[Observation], limits: Limits, rules: Sequence[Rule] = RULES) -> list[tuple[str, int]]:
    """Return the rule at each poll, and since when its verdict has been given, in ms, poll after poll."""
    progress: Progress | None = None
    previous, verdict, since_ms = polls[0], "", 0
    judged = []
    for seen in polls:
        progress = observe(progress, previous, seen, limits)
        previous = seen
        rule = judge(evidence_of(progress, seen), limits, rules)
        if VERDICT_OF[rule] != verdict:
            verdict, since_ms = VERDICT_OF[rule], seen.at_ms
        judged.append((rule, since_ms))
    return judged
