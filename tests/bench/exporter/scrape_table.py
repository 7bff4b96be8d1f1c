"""The report of the scrapes: a table, ratios of one run, and a verdict on each target. All is pure."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tests.bench.programs import OURS
from tests.bench.report import Verdict, format_table

from .contenders import GROUP, KMINION, PARTITION
from .scrapes import IDENTITY, Scrape

GROUPS: Final = 10_000
_MAX_S: Final = 0.5
_MAX_RATIO: Final = 0.5
_MAX_MIB: Final = 200
_HEADER: Final = ("", "encoding", "wall time, median (min to max)", "processor time", "bytes", "scrapes", "peak memory")
_RATIO_HEADER: Final = ("", "encoding", "wall time, median (min to max)", "processor time")


@dataclass(frozen=True, kw_only=True)
class Series:
    """All scrapes of one exporter by encoding, in order of the turns, and the peak memory of its process, in MiB."""

    name: str
    by: str
    scrapes: Mapping[str, Sequence[Scrape]]
    peak_mib: float


def format_scrapes(groups: int, results: Sequence[Series]) -> str:
    """Return a heading, the table of all scrapes, and the table of ratios to the others."""
    rows = [_HEADER, *(cells for result in results for cells in _cells(result))]
    lines = [f"### scrapes of {groups:,} groups, commits moving, each scrape polls", "", *format_table(rows), ""]
    ratios = [cells for ours, theirs in _pairs(results) for cells in _ratio_cells(ours, theirs)]
    if ratios:
        lines += ["Our values divided by those of the others, for the scrapes of one turn:", ""]
        lines += [*format_table([_RATIO_HEADER, *ratios]), ""]
    return "\n".join(lines)


def judge_scrapes(groups: int, results: Sequence[Series]) -> list[Verdict]:
    """Return the verdicts on the targets; none if another number of groups was measured."""
    if groups != GROUPS:
        return []
    by_key = {(result.name, result.by): result for result in results}
    verdicts = [_judge_time(by_key[OURS, GROUP])]
    ours = [result for result in results if result.name == OURS]
    if (theirs := by_key.get((KMINION, PARTITION))) is not None:
        for result in ours:
            verdicts += _judge_ratios(result, theirs) if result.by == PARTITION else []
    return [*verdicts, *map(_judge_memory, ours)]


def ratios(
    ours: Sequence[Scrape], theirs: Sequence[Scrape], value: Callable[[Scrape], float]
) -> tuple[float, float, float]:
    """Return the median, the smallest and the largest ratio of the scrapes of the same turns."""
    # A slow exporter has fewer turns.
    found = [value(own) / value(other) for own, other in zip(ours, theirs, strict=False)]
    return statistics.median(found), min(found), max(found)


def _judge_time(result: Series) -> Verdict:
    median = statistics.median(scrape.seconds for scrape in result.scrapes[IDENTITY])
    return Verdict(
        target=f"scrape by group: at most {_MAX_S} s", measured=f"{median:.2f} s", is_reached=median <= _MAX_S
    )


def _judge_ratios(ours: Series, theirs: Series) -> list[Verdict]:
    verdicts = []
    for encoding, scrapes in ours.scrapes.items():
        for name, value in (("wall time", _seconds), ("processor time", _cpu_s)):
            median, _, _ = ratios(scrapes, theirs.scrapes[encoding], value)
            target = f"{ours.name} by partition, {encoding}: at most {_MAX_RATIO} of {KMINION}'s {name}"
            verdicts.append(Verdict(target=target, measured=f"{median:.2f}", is_reached=median <= _MAX_RATIO))
    return verdicts


def _judge_memory(result: Series) -> Verdict:
    return Verdict(
        target=f"peak memory of {result.name} by {result.by}: at most {_MAX_MIB} MiB",
        measured=f"{result.peak_mib:.0f} MiB",
        is_reached=result.peak_mib <= _MAX_MIB,
    )


def _pairs(results: Sequence[Series]) -> list[tuple[Series, Series]]:
    """Return each of our exporters with each of the others that has series by the same key."""
    return [
        (ours, theirs)
        for ours in results
        for theirs in results
        if ours.name.startswith(OURS) and not theirs.name.startswith(OURS) and ours.by == theirs.by
    ]


def _cells(result: Series) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for encoding, scrapes in result.scrapes.items():
        sent = statistics.median(scrape.sent for scrape in scrapes)
        rows.append(
            (
                f"{result.name} by {result.by}",
                encoding,
                _spread([scrape.seconds for scrape in scrapes]),
                _spread([scrape.cpu_s for scrape in scrapes]),
                f"{sent / 1e6:.1f} MB",
                str(len(scrapes)),
                f"{result.peak_mib:.0f} MiB",
            )
        )
    return rows


def _ratio_cells(ours: Series, theirs: Series) -> list[tuple[str, ...]]:
    rows = []
    for encoding, scrapes in ours.scrapes.items():
        others = theirs.scrapes[encoding]
        cells = [_ratio(ratios(scrapes, others, value)) for value in (_seconds, _cpu_s)]
        rows.append((f"{ours.name} / {theirs.name}, by {theirs.by}", encoding, *cells))
    return rows


def _ratio(values: tuple[float, float, float]) -> str:
    median, low, high = values
    return f"{median:.2f} ({low:.2f} to {high:.2f})"


def _spread(values: Sequence[float]) -> str:
    return f"{statistics.median(values):.2f} s ({min(values):.2f} to {max(values):.2f})"


def _seconds(scrape: Scrape) -> float:
    return scrape.seconds


def _cpu_s(scrape: Scrape) -> float:
    return max(scrape.cpu_s, 0.01)
