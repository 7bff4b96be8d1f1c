"""The text of `why` for people: a heading for each group, its findings by rank, and what was checked."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

from kafka_groups.causes.finding import CauseKind, Certainty, Since
from kafka_groups.causes.sentences import count, name_duration, name_partitions
from kafka_groups.rendering.counts import count_of
from kafka_groups.rendering.screen import Screen
from kafka_groups.rendering.views.judgement import FindingRow, Judgement
from kafka_groups.rendering.writers.text import Line

_INDENT: Final = " " * 4
_LABEL_WIDTH: Final = 12
# Facts of a finding; a group may have thousands of partitions.
_MOST_FACTS: Final = 10
_STYLES: Final = {Certainty.CERTAIN: "bold red", Certainty.STRONG: "bold red", Certainty.LIKELY: "bold yellow"}
_SECOND_MS: Final = 1_000
# The options of a longer run, for runs of less than a duration in ms that found no cause.
_LONGER_RUNS: Final = (
    (20_000, "--samples 6 --interval 6s"),
    (110_000, "--samples 13 --interval 10s"),
    (550_000, "--samples 61 --interval 10s"),
)
# A narrower window folds lines no further.
_MIN_WIDTH: Final = 40


def why_lines(judgement: Judgement, screen: Screen) -> Iterator[Line]:
    """Yield the lines on a group. Only a terminal folds them, and never those of commands."""
    width = max(screen.width, _MIN_WIDTH) if screen.out_is_terminal and screen.width else None
    yield Line(_heading(judgement), "bold")
    rows = judgement.rows
    has_trouble = any(row.kind is CauseKind.TROUBLE for row in rows)
    if not has_trouble:
        yield from _without_trouble(judgement, width)
    for row in rows:
        yield Line("")
        yield from _finding(row, width)
    yield from _unexplained(judgement, width)
    if judgement.checked or judgement.untested:
        yield Line("")
    if judgement.checked:
        yield from _fold(f"Checked and not found: {_checked(judgement, has_trouble=has_trouble)}.", "", width)
    if judgement.untested:
        causes_by_reason: dict[str, list[str]] = {}
        for cause, reason in judgement.untested:
            causes_by_reason.setdefault(reason, []).append(cause)
        texts = "; ".join(f"{', '.join(causes)} ({reason})" for reason, causes in causes_by_reason.items())
        yield from _fold(f"Could not be tested: {texts}.", "", width)


def _checked(judgement: Judgement, *, has_trouble: bool) -> str:
    """Return the names of the causes that do not hold. Beside a trouble their number is enough."""
    if not has_trouble:
        return ", ".join(judgement.checked)
    return f"{count_of(len(judgement.checked), 'other cause')}, which --format json names"


def _heading(judgement: Judgement) -> str:
    evidence = judgement.diagnosis.evidence
    group = evidence.last.group
    parts = [group.state or "state unknown"]
    if group.member_count is not None:
        parts.append(count_of(group.member_count, "member"))
    if judgement.lag is not None:
        parts.append(f"{count(judgement.lag, 'record')} behind")
    if judgement.uncommitted_partitions:
        parts.append(f"{count_of(judgement.uncommitted_partitions, 'partition')} without a commit")
    return f"{group.group}: {', '.join(parts)} ({_observed(judgement)})"


def _observed(judgement: Judgement) -> str:
    """Return the number of polls, and for several ones how long they took."""
    evidence = judgement.diagnosis.evidence
    polls = count_of(len(evidence.polls), "poll")
    if not evidence.duration_ms:
        return polls
    duration_ms = evidence.duration_ms
    return f"{polls} in {'less than 1 s' if duration_ms < _SECOND_MS else name_duration(duration_ms)}"


def _without_trouble(judgement: Judgement, width: int | None) -> Iterator[Line]:
    if judgement.diagnosis.unexplained:
        return
    yield from _fold("Nothing wrong was found.", "", width)


def _finding(row: FindingRow, width: int | None) -> Iterator[Line]:
    lead = f"{row.rank}. {row.certainty.word.upper()}  {row.cause}  "
    if row.kind is CauseKind.EXPLANATION:
        lead += "(no trouble) "
    style = _STYLES[row.certainty] if row.kind is CauseKind.TROUBLE else "bold"
    yield from _fold(lead + row.summary, "", width, hanging=_INDENT, style=style)
    if row.since is not None:
        yield from _labelled("since", _since(row.since, row.at_ms), width)
    for number, text in enumerate(_evidence(row)):
        yield from _labelled("" if number else "evidence", text, width)
    yield from _labelled("refuted by", row.refuted_by, width)
    yield from _labelled("next", row.next_step, width)
    if row.next_command is not None:
        yield Line(_INDENT + row.next_command)


def _evidence(row: FindingRow) -> Iterator[str]:
    """Yield the first sentences of the evidence, and how many more there are."""
    for fact in row.evidence[:_MOST_FACTS]:
        yield fact.text
    others = len(row.evidence) - _MOST_FACTS
    if others > 0:
        yield f"… and {others:,} more, which --format json has."


def _unexplained(judgement: Judgement, width: int | None) -> Iterator[Line]:
    diagnosis = judgement.diagnosis
    keys = diagnosis.unexplained
    if not keys:
        return
    partitions = diagnosis.evidence.partitions
    lag = sum(partitions[key][-1].lag or 0 for key in keys)
    duration_ms = diagnosis.evidence.duration_ms
    yield Line("")
    text = (
        f"{count(lag, 'record')} behind on {name_partitions(keys)}, and no cause was found in {_observed(judgement)}; "
        f"{_longer_run(duration_ms)}."
    )
    yield from _fold(text, "", width)


def _longer_run(duration_ms: int) -> str:
    """Return what to do after a run of this duration that found no cause."""
    for limit_ms, options in _LONGER_RUNS:
        if duration_ms < limit_ms:
            return f"observe the group for longer, such as with {options}"
    return "a history may show it (docs/pipeline.md)"


def _since(since: Since, now_ms: int) -> str:
    latest = _moment(since.latest_ms, now_ms)
    if since.earliest_ms is None:
        return f"{latest} or earlier"
    return f"between {_moment(since.earliest_ms, now_ms)} and {latest}"


def _moment(at_ms: int, now_ms: int) -> str:
    """Return the time of day in UTC, with the date if that is another one than now."""
    at = datetime.fromtimestamp(at_ms / 1000, UTC)
    is_today = at.date() == datetime.fromtimestamp(now_ms / 1000, UTC).date()
    return at.strftime("%H:%M:%S UTC" if is_today else "%Y-%m-%d %H:%M:%S UTC")


def _labelled(label: str, text: str, width: int | None) -> Iterator[Line]:
    lead = f"{_INDENT}{label:<{_LABEL_WIDTH}}"
    return _fold(text, lead, width, hanging=" " * len(lead))


def _fold(text: str, lead: str, width: int | None, *, hanging: str | None = None, style: str = "") -> Iterator[Line]:
    """Yield a text as lines of a window of this width; as one line without a window."""
    if width is None:
        yield Line(lead + text, style)
        return
    rest = lead if hanging is None else hanging
    for line in textwrap.wrap(
        text,
        width,
        initial_indent=lead,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    ):
        yield Line(line, style)
