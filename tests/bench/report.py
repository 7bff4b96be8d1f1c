"""The report: a table a scenario, and for every target whether it was reached. Pure but for `machine`."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from itertools import starmap
from typing import Final

from kafka_groups import sandbox

from .contenders import CONFLUENT, KAFKAS, OURS
from .measure import Measured
from .scenarios import DESCRIBE, LIST, Outcome

_HEADER: Final = ("", "requests", "wall time, median (min to max)", "runs", "peak memory", "times ours")


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What came of a target."""

    target: str
    measured: str
    is_reached: bool


@dataclass(frozen=True, kw_only=True)
class Target:
    """Something that this tool must reach in one scenario."""

    text: str
    question: str
    groups: int
    delayed: bool
    judge: Callable[[Outcome], tuple[bool, str]]

    def verdict(self, outcomes: Sequence[Outcome]) -> Verdict | None:
        """Reached or not; None if its scenario was not played."""
        for outcome in outcomes:
            scenario = outcome.scenario
            if (scenario.question, scenario.groups, scenario.delayed) == (self.question, self.groups, self.delayed):
                is_reached, measured = self.judge(outcome)
                return Verdict(target=self.text, measured=measured, is_reached=is_reached)
        return None


def at_most(share: int, name: str) -> Callable[[Outcome], tuple[bool, str]]:
    """Our median is no more than one `share`-th of that contender's."""

    def judge(outcome: Outcome) -> tuple[bool, str]:
        ratio = _part(outcome, name).median_s() / _part(outcome, OURS).median_s()
        return ratio >= share, f"1/{ratio:.1f}"

    return judge


def less_than(name: str) -> Callable[[Outcome], tuple[bool, str]]:
    """Our median is below that contender's."""

    def judge(outcome: Outcome) -> tuple[bool, str]:
        ours, theirs = _part(outcome, OURS).median_s(), _part(outcome, name).median_s()
        return ours < theirs, f"{ours:.2f} s, {theirs:.2f} s"

    return judge


def fewer_requests(limit: int) -> Callable[[Outcome], tuple[bool, str]]:
    """We send fewer than that, connection set-up included."""

    def judge(outcome: Outcome) -> tuple[bool, str]:
        requests = _part(outcome, OURS).requests
        assert requests is not None
        return requests.total() < limit, str(requests.total())

    return judge


def less_memory(limit_mib: int) -> Callable[[Outcome], tuple[bool, str]]:
    """Our peak memory is below that."""

    def judge(outcome: Outcome) -> tuple[bool, str]:
        peak = _part(outcome, OURS).peak_mib()
        return peak < limit_mib, f"{peak:.0f} MiB"

    return judge


TARGETS: Final = (
    Target(
        text=f"describe 10,000 groups on loopback: at most 1/25 of {KAFKAS}'s time",
        question=DESCRIBE,
        groups=10_000,
        delayed=False,
        judge=at_most(25, KAFKAS),
    ),
    Target(
        text=f"describe 10,000 groups on loopback: less than a call a group through {CONFLUENT}",
        question=DESCRIBE,
        groups=10_000,
        delayed=False,
        judge=less_than(CONFLUENT),
    ),
    Target(
        text=f"describe 1,000 groups at 20 ms: at most 1/100 of {KAFKAS}'s time",
        question=DESCRIBE,
        groups=1_000,
        delayed=True,
        judge=at_most(100, KAFKAS),
    ),
    Target(
        text="describe 1,000 groups at 20 ms: under 25 requests",
        question=DESCRIBE,
        groups=1_000,
        delayed=True,
        judge=fewer_requests(25),
    ),
    Target(
        text=f"list 1,000 groups on loopback: at most 1/5 of {KAFKAS}'s time",
        question=LIST,
        groups=1_000,
        delayed=False,
        judge=at_most(5, KAFKAS),
    ),
    Target(
        text=f"describe 65,000 groups on loopback: at most 1/20 of {KAFKAS}'s time",
        question=DESCRIBE,
        groups=65_000,
        delayed=False,
        judge=at_most(20, KAFKAS),
    ),
    Target(
        text="describe 65,000 groups on loopback: peak memory under 300 MiB",
        question=DESCRIBE,
        groups=65_000,
        delayed=False,
        judge=less_memory(300),
    ),
)


def verdicts(outcomes: Sequence[Outcome]) -> list[Verdict]:
    """What came of the targets that were played for."""
    return [verdict for target in TARGETS if (verdict := target.verdict(outcomes)) is not None]


def section(outcome: Outcome) -> str:
    """A heading, a table, and which requests were ours."""
    scenario = outcome.scenario
    over = "with a round trip added" if scenario.delayed else "on loopback"
    heading = f"{scenario.question}, {scenario.groups:,} groups, {over} (a round trip: {outcome.round_trip_ms:.1f} ms)"
    ours = _part(outcome, OURS)
    rows = [_HEADER, *(_cells(measured, ours) for measured in outcome.measured)]
    told = [f"### {heading}", "", *table(rows)]
    if ours.requests is not None:
        counts = ", ".join(f"{count} {name}" for name, count in sorted(ours.requests.items()))
        told += ["", f"Requests of {OURS}: {counts}."]
    return "\n".join([*told, ""])


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """A markdown table; the first row is its header, and all but the first column stand to the right."""
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    rule = ["-" * width if at == 0 else "-" * (width - 1) + ":" for at, width in enumerate(widths)]
    return [
        f"| {' | '.join(starmap(_padded, zip(row, widths, range(len(row)), strict=True)))} |"
        for row in (rows[0], rule, *rows[1:])
    ]


def conclusion(reached: Sequence[Verdict]) -> str:
    """A line a target."""
    lines = [
        f"- {'reached' if verdict.is_reached else 'MISSED'}: {verdict.target} ({verdict.measured})"
        for verdict in reached
    ]
    return "\n".join([*lines, ""]) if lines else ""


def machine(brokers: str = "three brokers") -> str:
    """What it was measured on and with."""
    java = subprocess.run([sandbox.java(), "-version"], capture_output=True, check=True, text=True).stderr
    found = re.search(r'"(.+?)"', java)
    memory_gib = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    return (
        f"{os.cpu_count()} cores, {memory_gib:.0f} GiB, {platform.system()}; Python {platform.python_version()}; "
        f"Kafka {sandbox.DEFAULT_VERSION}, {brokers} on Java {found[1] if found else 'unknown'}; "
        f"{CONFLUENT} {version('confluent-kafka')}, kafka-python {version('kafka-python')}."
    )


def _cells(measured: Measured, ours: Measured) -> tuple[str, ...]:
    low, high = measured.spread_s()
    median = measured.median_s()
    return (
        f"{measured.name} ({measured.about})",
        "not counted" if measured.requests is None else f"{measured.requests.total():,}",
        f"{median:.2f} s" if len(measured.runs) == 1 else f"{median:.2f} s ({low:.2f} to {high:.2f})",
        str(len(measured.runs)),
        f"{measured.peak_mib():.0f} MiB",
        f"{median / ours.median_s():.1f}",
    )


def _padded(cell: str, width: int, at: int) -> str:
    return cell.ljust(width) if at == 0 else cell.rjust(width)


def _part(outcome: Outcome, name: str) -> Measured:
    measured = outcome.of(name)
    assert measured is not None
    return measured
