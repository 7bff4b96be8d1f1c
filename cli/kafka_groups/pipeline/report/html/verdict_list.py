"""Definitions of verdicts for readers of the page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kafka_groups.pipeline.report.history import GroupHistory
from kafka_groups.verdicts import VERDICT_OF

# The rules in words; `kafka_groups.verdicts` has them in full.
DEFINITIONS: Final = {
    "stopped": "the group has lag, and has not moved for longer than --stop-after of build and than it usually waits",
    "stopped_unseen": "the group has lag, and was not seen to move at all, for 15 minutes or more",
    "rewound": "a commit is below an earlier one, and no later commit has reached that offset again",
    "stalled": "the group commits the same offset again and again, and has lag all the time",
    "losing_data": "records were deleted before the group read them",
    "falling_behind": "the group reads less than is written: its lowest lags have grown for half an hour or longer",
    "slow_leak": "the group reads slightly less than is written: its lowest lags have grown for six hours or longer",
    "lag_unknown": "the lag is not known",
    "incomplete": "there are too few samples to judge the group",
    "no_commits": "the group has no commit",
    "keeping_up": "the group has lag, but does not fall behind",
    "batch": "the group waits, as it usually does between its runs",
    "no_lag": "the group has read all records, or has no more lag than --allowed-lag of build",
}


def verdict_list(groups: Sequence[GroupHistory]) -> str:
    """Return the definitions of the rules that gave the groups their verdicts, the worst first; nothing without any."""
    rules = {group.rule for group in groups}
    items = [
        f"<dt>{VERDICT_OF[rule]}, {rule}</dt><dd>{definition}</dd>"
        for rule, definition in DEFINITIONS.items()
        if rule in rules
    ]
    return f'<h3>Verdicts</h3>\n<dl class="verdicts">{"".join(items)}</dl>' if items else ""
