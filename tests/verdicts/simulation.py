"""Verdicts on simulated streams: false alarms on healthy ones, and how soon and how long faults are found.

`python -m tests.verdicts.simulation` prints tables in Markdown. A *cell* is a shape, an interval of commits, an
interval of polls and a source of evidence: polls alone, or history, which knows commits. An *alarm* is a verdict above
OK and not UNKNOWN. The *warm-up* is the longer of three periods of the shape and twelve intervals.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, Final, NamedTuple

import click
import numpy as np

from kafka_groups.pipeline.build.frames import KeyProgress, LagMinima, LogStarts
from kafka_groups.pipeline.build.kernels.verdicts import RANK_OF_RULE, RULE_NAMES, judge_observations
from kafka_groups.pipeline.frames.arrays import NULL, Flags, Floats, Ints
from kafka_groups.verdicts import VERDICTS, Limits
from tests.verdicts.shapes import FAULTS, SHAPES, Fault, Shape
from tests.verdicts.streams import COMMITS_S, POLLS_S, Seen, Setting, Stream, observe, simulate

LIMITS: Final = Limits()
# A share of false alarms above this one is listed by the name of its cell.
MOST_FALSE: Final = 0.01
SOURCES: Final = ("polls", "history")
_UNSEEN_S: Final = 900
_LATER_S: Final = 1_800
_INTERVALS: Final = 12
_WARN: Final = VERDICTS.index("WARN")


class Judged(NamedTuple):
    """Evaluations of groups: one for each poll of each stream. `rule` is that of the worst partition."""

    seen: Seen
    stream: Ints
    at_s: Floats
    rule: Ints

    @property
    def is_alarm(self) -> Flags:
        """Return whether each evaluation is an alarm."""
        return RANK_OF_RULE[self.rule] >= _WARN


class Cell(NamedTuple):
    """The false alarms on healthy streams: their shares after the warm-up and during it, and the rules that gave them.

    `unknown` is the share of evaluations after the warm-up that are UNKNOWN.
    """

    shape: str
    commit_s: float
    poll_s: float
    source: str
    false: float
    false_warm: float
    unknown: float
    rules: str

    @property
    def name(self) -> str:
        """Return the name of the cell."""
        return f"{self.shape}, commits {self.commit_s:g} s, {self.source} {self.poll_s:g} s"


class Detection(NamedTuple):
    """How a fault is found: the time to the first alarm of each stream, and the share of alarms in later evaluations.

    Later evaluations begin half an hour after the fault, and not before the end of the warm-up. `start` is the share of
    streams with an alarm at the first of them, `last` the same at the last poll. `late_s` is how much later than its
    rule allows, with three polls more, each stopped stream was found.
    """

    shape: str
    fault: str
    commit_s: float
    poll_s: float
    source: str
    first_s: Floats
    late_s: Floats
    share: float
    start: float
    last: float


def make_streams(
    shape: Shape, commit_s: float, *, hours: float, count: int, partitions: int = 1, fault: Fault | None = None
) -> list[Stream]:
    """Return streams of different numbers."""
    return [
        simulate(
            Setting(shape=shape, commit_s=commit_s, hours=hours, number=number, partitions=partitions, fault=fault)
        )
        for number in range(count)
    ]


def judge_streams(streams: Sequence[Stream], poll_s: float, source: str) -> Judged:
    """Return the evaluations of the groups of streams."""
    seen = observe(streams, poll_s, has_commits=source == "history")
    before = (KeyProgress.empty(), LagMinima.empty(), LogStarts.empty())
    progress, _, _ = judge_observations(seen.observations, *before, LIMITS)
    partitions = streams[0].setting.partitions
    stream = seen.observations.key // partitions
    order = np.lexsort((progress.rule, seen.poll, stream))
    is_last = np.append(np.diff(seen.poll[order]) != 0, True)
    worst = order[is_last]
    return Judged(seen, stream[worst], seen.at_s[worst], progress.rule[worst])


def warm_up_s(shape: Shape, commit_s: float, poll_s: float) -> float:
    """Return the length of the warm-up."""
    return max(3 * shape.period_s, _INTERVALS * max(commit_s, poll_s))


def measure_false_alarms(streams: Sequence[Stream], poll_s: float, source: str) -> Cell:
    """Return the cell of healthy streams."""
    shape = streams[0].setting.shape
    commit_s = streams[0].setting.commit_s
    judged = judge_streams(streams, poll_s, source)
    is_warm = judged.at_s >= warm_up_s(shape, commit_s, poll_s)
    is_unknown = RANK_OF_RULE[judged.rule] == VERDICTS.index("UNKNOWN")
    rules = np.unique(judged.rule[judged.is_alarm & is_warm])
    return Cell(
        shape.name,
        commit_s,
        poll_s,
        source,
        false=_share(judged.is_alarm, is_warm),
        false_warm=_share(judged.is_alarm, ~is_warm),
        unknown=_share(is_unknown, is_warm),
        rules=", ".join(RULE_NAMES[rule] for rule in rules),
    )


def measure_detection(streams: Sequence[Stream], poll_s: float, source: str) -> Detection:
    """Return how the fault of streams is found; only alarms of its rules count."""
    setting = streams[0].setting
    fault = setting.fault
    assert fault is not None
    judged = judge_streams(streams, poll_s, source)
    is_alarm = np.isin(judged.rule, [RULE_NAMES.index(rule) for rule in fault.rules])
    is_found = is_alarm & (judged.at_s >= fault.at_s)
    first_s = np.full(len(streams), np.inf)
    np.minimum.at(first_s, judged.stream[is_found], judged.at_s[is_found])
    is_later = judged.at_s >= fault.at_s + max(_LATER_S, warm_up_s(setting.shape, setting.commit_s, poll_s))
    is_last = np.append(np.diff(judged.stream) != 0, True)
    is_start = is_later & ~(np.append(False, is_later[:-1] & ~is_last[:-1]))
    return Detection(
        setting.shape.name,
        fault.name,
        setting.commit_s,
        poll_s,
        source,
        first_s=first_s - fault.at_s,
        late_s=first_s - _latest_stops(judged.seen, len(streams), poll_s),
        share=_share(is_alarm, is_later),
        start=_share(is_alarm, is_start),
        last=_share(is_alarm, is_last),
    )


def _latest_stops(seen: Seen, count: int, poll_s: float) -> Floats:
    """Return by when each stopped stream has to be STOP: the time of its rule, and three polls."""
    latest = np.empty(count)
    rows = seen.observations
    for key in range(count):
        of_key = rows.key == key
        at_s = seen.at_s[of_key]
        offset = rows.committed_offset[of_key]
        commit_ms = rows.commit_ms[of_key]
        has_commits = commit_ms[0] != NULL
        move_s = at_s + (commit_ms - rows.at_ms[of_key]) / 1_000 if has_commits else at_s
        moves = np.flatnonzero(np.diff(offset)) + 1
        gaps = np.diff(move_s[moves], prepend=at_s[0])
        without_lag = np.flatnonzero(rows.lag[of_key] <= 0)
        last_s = move_s[-1] if has_commits else move_s[moves].max(initial=at_s[0])
        since = max(last_s, at_s[without_lag].max(initial=0))
        rule_s = max(LIMITS.stop_after_ms / 1_000, 1.5 * gaps.max()) if len(moves) > 1 else _UNSEEN_S
        latest[key] = since + rule_s + 3 * poll_s
    return latest


def _share(flags: Flags, among: Flags) -> float:
    """Return the share of true flags among some of them; 0 if there are none."""
    return float(np.mean(flags[among])) if among.any() else 0.0


def print_false_alarms(cells: Sequence[Cell], polls_s: Sequence[float]) -> None:
    """Print the worst cell of each shape by interval of polls, and the cells above the limit."""
    columns = " | ".join(f"{poll_s:g} s" for poll_s in polls_s)
    click.echo(f"| shape | {columns} | warm-up | UNKNOWN |\n|{'---|' * (len(polls_s) + 3)}")
    for shape in dict.fromkeys(cell.shape for cell in cells):
        of_shape = [cell for cell in cells if cell.shape == shape]
        worst = [max(cell.false for cell in of_shape if cell.poll_s == poll_s) for poll_s in polls_s]
        others = [max(cell.false_warm for cell in of_shape), max(cell.unknown for cell in of_shape)]
        click.echo(f"| {shape} | {' | '.join(f'{share:.2%}' for share in (*worst, *others))} |")
    above = [cell for cell in cells if cell.false > MOST_FALSE]
    click.echo(f"\n{len(above)} of {len(cells)} cells above {MOST_FALSE:.0%}")
    for cell in sorted(above, key=lambda cell: -cell.false):
        click.echo(f"- {cell.name}: {cell.false:.2%} ({cell.rules})")


def print_detections(detections: Sequence[Detection]) -> None:
    """Print how each fault is found by interval of polls: times over all commits, and shares of the worst cell."""
    columns = "shape | fault | polls | found | median | worst | late | at start | later | worst later | at the end"
    click.echo(f"| {columns} |\n{'|---' * 11}|")
    keys = dict.fromkeys((each.shape, each.fault, each.poll_s) for each in detections)
    for key in keys:
        cells = [each for each in detections if (each.shape, each.fault, each.poll_s) == key]
        first_s = np.concatenate([each.first_s for each in cells])
        late = sum(int((each.late_s > 0).sum()) for each in cells) if key[1].startswith("stopped") else "-"
        worst = min(cells, key=lambda each: each.share)
        times = f"{np.median(first_s) / 60:.1f} min | {first_s.max() / 60:.1f} min"
        shares = f"{np.mean([each.share for each in cells]):.1%} | {worst.share:.1%} ({_name_cell(worst)})"
        start, last = (min(getattr(each, name) for each in cells) for name in ("start", "last"))
        found = f"{np.isfinite(first_s).mean():.1%} | {times} | {late}"
        click.echo(f"| {key[0]} | {key[1]} | {key[2]:g} s | {found} | {start:.0%} | {shares} | {last:.0%} |")


def _name_cell(cell: Detection) -> str:
    return f"commits {cell.commit_s:g} s, {cell.source}"


def _measure_fault(shapes: Sequence[Shape], cells: _Cells, fault: Fault) -> Iterator[Detection]:
    """Yield the detections of a fault in all cells; polls do not see commits that repeat an offset."""
    sources = SOURCES[1:] if fault.rules == ("stalled",) else SOURCES
    for shape, commit_s in product(shapes, cells.commits_s):
        made = make_streams(shape, commit_s, hours=cells.hours, count=cells.streams, fault=fault)
        for poll_s, source in product(cells.polls_s, sources):
            yield measure_detection(made, poll_s, source)


def _measure_shapes(shapes: Sequence[Shape], cells: _Cells) -> Iterator[Cell]:
    """Yield the cells of healthy streams."""
    for shape, commit_s in product(shapes, cells.commits_s):
        made = make_streams(shape, commit_s, hours=cells.hours, count=cells.streams, partitions=cells.partitions)
        for poll_s, source in product(cells.polls_s, SOURCES):
            yield measure_false_alarms(made, poll_s, source)


class _Cells(NamedTuple):
    """Which cells are measured."""

    hours: float
    streams: int
    partitions: int
    commits_s: tuple[float, ...]
    polls_s: tuple[float, ...]


@click.command()
@click.option("--hours", default=8.0, help="Length of the streams.")
@click.option("--streams", default=12, help="Streams in each cell; every number has its own seed.")
@click.option("--partitions", default=1, help="Partitions of each group.")
@click.option("--commits", "commits_s", multiple=True, type=float, default=COMMITS_S, help="Seconds between commits.")
@click.option("--polls", "polls_s", multiple=True, type=float, default=POLLS_S, help="Seconds between polls.")
@click.option("--shape", "shape_names", multiple=True, help="Shapes whose names contain this text.")
@click.option("--fault", "fault_names", multiple=True, help="Faults whose names contain this text, not false alarms.")
def main(shape_names: tuple[str, ...], fault_names: tuple[str, ...], **options: Any) -> None:
    """Print false alarms of healthy streams, or how faults are found."""
    cells = _Cells(**options)
    shapes = [shape for name, shape in SHAPES.items() if not shape_names or any(text in name for text in shape_names)]
    faults = [fault for name, fault in FAULTS.items() if any(text in name for text in fault_names)]
    if faults:
        print_detections([each for fault in faults for each in _measure_fault(shapes, cells, fault)])
    else:
        print_false_alarms(list(_measure_shapes(shapes, cells)), cells.polls_s)


if __name__ == "__main__":
    main()
