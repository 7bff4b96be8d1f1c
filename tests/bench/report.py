"""The report: a table for each scenario and a verdict on each target. All but `describe_machine` is pure."""

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

from .change_programs import DELETE, RESET
from .lag_programs import LAG, OUR_DESCRIBE
from .measurement import Measurement
from .programs import CONFLUENT, KAFKAS, KCL, OURS
from .scenarios import DESCRIBE, LIST, Outcome

_BROKERS: Final = 3
_HEADER: Final = ("", "requests", "wall time, median (min to max)", "runs", "peak memory", "times ours")


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """A target, the measured value, and whether the target was reached."""

    target: str
    measured: str
    is_reached: bool


@dataclass(frozen=True, kw_only=True)
class Target:
    """A condition that this tool must meet in one scenario."""

    text: str
    command: str
    groups: int
    delayed: bool
    judge: Callable[[Outcome], tuple[bool, str]]

    def verdict(self, outcomes: Sequence[Outcome]) -> Verdict | None:
        """Return the verdict, or None if the scenario was not measured."""
        for outcome in outcomes:
            scenario = outcome.scenario
            if (scenario.command, scenario.groups, scenario.delayed) == (self.command, self.groups, self.delayed):
                is_reached, measured = self.judge(outcome)
                return Verdict(target=self.text, measured=measured, is_reached=is_reached)
        return None


def at_most(share: int, name: str) -> Callable[[Outcome], tuple[bool, str]]:
    """Require that our median is at most one `share`-th of that program's."""

    def judge(outcome: Outcome) -> tuple[bool, str]:
        ratio = _part(outcome, name).median_s() / _part(outcome, OURS).median_s()
        return ratio >= share, f"1/{ratio:.1f}"

    return judge


def less_than(name: str) -> Callable[[Outcome], tuple[bool, str]]:
    """Require that our median is below that program's."""

    def judge(outcome: Outcome) -> tuple[bool, str]:
        ours, theirs = _part(outcome, OURS).median_s(), _part(outcome, name).median_s()
        return ours < theirs, f"{ours:.2f} s, {theirs:.2f} s"

    return judge


def fewer_requests(limit: int) -> Callable[[Outcome], tuple[bool, str]]:
    """Require that we send fewer requests than `limit`, connection set-up included."""

    def judge(outcome: Outcome) -> tuple[bool, str]:
        requests = _part(outcome, OURS).requests
        assert requests is not None
        return requests.total() < limit, str(requests.total())

    return judge


def less_memory(limit_mib: int) -> Callable[[Outcome], tuple[bool, str]]:
    """Require that our peak memory is below `limit_mib`."""

    def judge(outcome: Outcome) -> tuple[bool, str]:
        peak = _part(outcome, OURS).peak_mib()
        return peak < limit_mib, f"{peak:.0f} MiB"

    return judge


def batched(api: str, most: int, *, others: int) -> Callable[[Outcome], tuple[bool, str]]:
    """Require at most that many requests of an API, and of each other one at most `others`, without set-up."""

    def judge(outcome: Outcome) -> tuple[bool, str]:
        requests = _part(outcome, OURS).requests
        assert requests is not None
        rest = {name: count for name, count in requests.items() if name not in (api, "ApiVersions")}
        name, largest = max(rest.items(), key=lambda item: item[1], default=("other", 0))
        is_reached = 0 < requests[api] <= most and largest <= others
        return is_reached, f"{requests[api]:,} {api}, at most {largest} of each other kind ({name})"

    return judge


TARGETS: Final = (
    Target(
        text=f"describe 10,000 groups on loopback: at most 1/25 of {KAFKAS}'s time",
        command=DESCRIBE,
        groups=10_000,
        delayed=False,
        judge=at_most(25, KAFKAS),
    ),
    Target(
        text=f"describe 10,000 groups on loopback: less than a call a group through {CONFLUENT}",
        command=DESCRIBE,
        groups=10_000,
        delayed=False,
        judge=less_than(CONFLUENT),
    ),
    Target(
        text=f"describe 1,000 groups at 20 ms: at most 1/100 of {KAFKAS}'s time",
        command=DESCRIBE,
        groups=1_000,
        delayed=True,
        judge=at_most(100, KAFKAS),
    ),
    Target(
        text="describe 1,000 groups at 20 ms: under 25 requests",
        command=DESCRIBE,
        groups=1_000,
        delayed=True,
        judge=fewer_requests(25),
    ),
    Target(
        text=f"list 1,000 groups on loopback: at most 1/5 of {KAFKAS}'s time",
        command=LIST,
        groups=1_000,
        delayed=False,
        judge=at_most(5, KAFKAS),
    ),
    Target(
        text=f"reset 1,000 groups: at most 1/10 of {KAFKAS}'s time",
        command=RESET,
        groups=1_000,
        delayed=False,
        judge=at_most(10, KAFKAS),
    ),
    Target(
        text="reset 1,000 groups: one OffsetCommit a group, all else twice a broker at most",
        command=RESET,
        groups=1_000,
        delayed=False,
        judge=batched("OffsetCommit", 1_000, others=2 * _BROKERS),
    ),
    Target(
        text="delete 1,000 groups: one DeleteGroups a coordinator, all else twice a broker at most",
        command=DELETE,
        groups=1_000,
        delayed=False,
        judge=batched("DeleteGroups", _BROKERS, others=2 * _BROKERS),
    ),
    Target(
        text="lag of 10,000 groups on loopback: less than describe's time",
        command=LAG,
        groups=10_000,
        delayed=False,
        judge=less_than(OUR_DESCRIBE),
    ),
    Target(
        text=f"describe 65,000 groups on loopback: at most 1/20 of {KAFKAS}'s time",
        command=DESCRIBE,
        groups=65_000,
        delayed=False,
        judge=at_most(20, KAFKAS),
    ),
    Target(
        text="describe 65,000 groups on loopback: peak memory under 300 MiB",
        command=DESCRIBE,
        groups=65_000,
        delayed=False,
        judge=less_memory(300),
    ),
)


def judge_targets(outcomes: Sequence[Outcome]) -> list[Verdict]:
    """Return the verdicts on the targets whose scenario was measured."""
    return [verdict for target in TARGETS if (verdict := target.verdict(outcomes)) is not None]


def format_section(outcome: Outcome) -> str:
    """Return a heading, a table, and the requests of this tool by API."""
    scenario = outcome.scenario
    over = "with a round trip added" if scenario.delayed else "on loopback"
    heading = f"{scenario.command}, {scenario.groups:,} groups, {over} (a round trip: {outcome.round_trip_ms:.1f} ms)"
    ours = _part(outcome, OURS)
    rows = [_HEADER, *(_cells(measurement, ours) for measurement in outcome.measurements)]
    lines = [f"### {heading}", "", *format_table(rows)]
    if ours.requests is not None:
        counts = ", ".join(f"{count} {name}" for name, count in sorted(ours.requests.items()))
        lines += ["", f"Requests of {OURS}: {counts}."]
    if scenario.command in (DELETE, LAG) and outcome.measurement_of(KCL) is None:
        lines += ["", f"{KCL} is not installed, so it is skipped."]
    return "\n".join([*lines, ""])


def format_summary(outcomes: Sequence[Outcome]) -> str:
    """Return the table of the README: for each scenario, the median time and the requests of each program."""
    names = list(dict.fromkeys(each.name for outcome in outcomes for each in outcome.measurements))
    rows = [("command, groups, round trip", *names)]
    for outcome in outcomes:
        scenario = outcome.scenario
        over = f"{outcome.round_trip_ms:.0f} ms" if scenario.delayed else "loopback"
        cells = [_summary(outcome.measurement_of(name)) for name in names]
        rows.append((f"`{scenario.command}`, {scenario.groups:,}, {over}", *cells))
    return "\n".join([*format_table(rows), ""])


def _summary(measurement: Measurement | None) -> str:
    if measurement is None:
        return ""
    requests = "" if measurement.requests is None else f", {measurement.requests.total():,} requests"
    return f"{measurement.median_s():.2f} s{requests}"


def format_table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a Markdown table; the first row is its header, and all columns after the first are right-aligned."""
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    rule = ["-" * width if at == 0 else "-" * (width - 1) + ":" for at, width in enumerate(widths)]
    return [
        f"| {' | '.join(starmap(_padded, zip(row, widths, range(len(row)), strict=True)))} |"
        for row in (rows[0], rule, *rows[1:])
    ]


def format_verdicts(verdicts: Sequence[Verdict]) -> str:
    """Return a line for each target."""
    lines = [
        f"- {'reached' if verdict.is_reached else 'MISSED'}: {verdict.target} ({verdict.measured})"
        for verdict in verdicts
    ]
    return "\n".join([*lines, ""]) if lines else ""


def describe_machine(brokers: str = "three brokers") -> str:
    """Return a sentence on the machine and the versions of the measured programs."""
    java = subprocess.run([sandbox.java(), "-version"], capture_output=True, check=True, text=True).stderr
    found = re.search(r'"(.+?)"', java)
    memory_gib = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    return (
        f"{os.cpu_count()} cores, {memory_gib:.0f} GiB, {platform.system()}; Python {platform.python_version()}; "
        f"Kafka {sandbox.DEFAULT_VERSION}, {brokers} on Java {found[1] if found else 'unknown'}; "
        f"{CONFLUENT} {version('confluent-kafka')}, kafka-python {version('kafka-python')}."
    )


def _cells(measurement: Measurement, ours: Measurement) -> tuple[str, ...]:
    low, high = measurement.spread_s()
    median = measurement.median_s()
    return (
        f"{measurement.name} ({measurement.about})",
        "not counted" if measurement.requests is None else f"{measurement.requests.total():,}",
        f"{median:.2f} s" if len(measurement.runs) == 1 else f"{median:.2f} s ({low:.2f} to {high:.2f})",
        str(len(measurement.runs)),
        f"{measurement.peak_mib():.0f} MiB",
        f"{median / ours.median_s():.1f}",
    )


def _padded(cell: str, width: int, at: int) -> str:
    return cell.ljust(width) if at == 0 else cell.rjust(width)


def _part(outcome: Outcome, name: str) -> Measurement:
    measurement = outcome.measurement_of(name)
    assert measurement is not None
    return measurement
