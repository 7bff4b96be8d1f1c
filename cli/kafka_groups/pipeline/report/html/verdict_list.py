"""Definitions of verdicts for readers of the page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kafka_groups.pipeline.report.history import GroupHistory
from kafka_groups.verdicts import VERDICTS

# The rules in words; `kafka_groups.verdicts` has them in full.
DEFINITIONS: Final = {
    "rewound": "a commit is below the one before it, and no later commit has reached that offset again",
    "stalled": "the group commits the same offset again and again, and has lag all the time",
    "stopped": "the group has lag, and has not committed for longer than its last ten commits took",
    "falling_behind": "the group commits, but reads less than is written: its lag grows",
    "lag_unknown": "there are too few samples to judge the pace of the group",
    "incomplete": "there are too few commits to judge the group",
    "no_commits": "the group has no commit in the period that a verdict is based on",
    "keeping_up": "the group has lag, but does not fall behind",
    "no_lag": "the group has read all records, or has no more lag than --allowed-lag of build",
}


def verdict_list(groups: Sequence[GroupHistory]) -> str:
    """Return the definitions of the rules that gave the groups their verdicts, the worst first; nothing without any."""
    rules = {group.rule for group in groups}
    items = [
        f"<dt>{VERDICTS[rule]}, {rule}</dt><dd>{definition}</dd>"
        for rule, definition in DEFINITIONS.items()
        if rule in rules
    ]
    return f'<h3>Verdicts</h3>\n<dl class="verdicts">{"".join(items)}</dl>' if items else ""
