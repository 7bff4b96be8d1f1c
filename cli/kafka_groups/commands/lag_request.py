"""What a caller of `kafka-groups lag` wants to know, from the options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kafka_groups.commands.condition_options import needs_time, read_condition
from kafka_groups.commands.lag_options import LagOptions, read_limits, read_watch_options, require_consistent
from kafka_groups.commands.lag_output import LagOutput
from kafka_groups.commands.lag_watch import WatchOptions
from kafka_groups.conditions import Condition
from kafka_groups.groups.notes import Note, NoteKind
from kafka_groups.groups.selection import Selectors
from kafka_groups.options.connection import Connection
from kafka_groups.options.topics import parse_topics
from kafka_groups.rendering.views.lag import LAG_VIEWS, PACE_VIEW
from kafka_groups.verdicts import Limits


class LagRequest(NamedTuple):
    """What a caller wants to know, and how it is shown.

    `topics` maps topics to partitions, none for all of a topic; without topics all are shown. `top` is the number of
    rows, None for all. `limits` are those of verdicts. `watch` is None for one poll, and `polls_file` is None without
    --polls.
    """

    selectors: Selectors
    topics: Mapping[str, Sequence[int]]
    output: LagOutput
    isolation: str
    condition: Condition | None
    top: int | None
    limits: Limits
    watch: WatchOptions | None
    polls_file: str | None
    connection: Connection

    @property
    def has_polls(self) -> bool:
        """Whether the lag is that of several polls, so that rates and verdicts are shown."""
        return self.watch is not None or self.polls_file is not None


def read_request(selectors: Selectors, options: LagOptions, output_format: str, connection: Connection) -> LagRequest:
    """Return the request of the options. Raises UsageError for options that are wrong, or contradict each other."""
    view = PACE_VIEW if options.has_polls else LAG_VIEWS[options.key]
    condition = None if options.fail_if is None else read_condition(options.fail_if, option="--fail-if", view=view)
    with_time = options.with_time or needs_time(condition)
    output = LagOutput(
        view, options.key, with_time, output_format, options.metrics_file, with_all_metrics=options.with_all_metrics
    )
    watch = read_watch_options(options)
    require_consistent(options, output_format)
    limits = read_limits(options, with_time=with_time)
    return LagRequest(
        selectors=selectors,
        topics=parse_topics(options.topics),
        output=output,
        isolation=options.isolation,
        condition=condition,
        top=options.top,
        limits=limits,
        watch=watch,
        polls_file=options.polls_file,
        connection=connection,
    )


def note_isolation(request: LagRequest) -> list[Note]:
    """Return a note if lag is not measured to the log ends."""
    if request.isolation != "committed":
        return []
    return [Note(NoteKind.ISOLATION, None, "Lag is measured to the last stable offset (--isolation committed).")]
