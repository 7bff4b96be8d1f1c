"""Meanings of verdicts for readers of the page."""

from __future__ import annotations

from collections.abc import Sequence

from kafka_groups.pipeline.report.history import GroupHistory
from kafka_groups.verdicts import MEANINGS, VERDICT_OF


def render_verdict_list(groups: Sequence[GroupHistory]) -> str:
    """Return the meanings of the rules that gave the groups their verdicts, the worst first; nothing without any."""
    rules = {group.rule for group in groups}
    items = [
        f"<dt>{VERDICT_OF[rule]}, {rule}</dt><dd>{MEANINGS[rule]}</dd>"
        for rule in reversed([*VERDICT_OF])
        if rule in rules
    ]
    return f'<h3>Verdicts</h3>\n<dl class="verdicts">{"".join(items)}</dl>' if items else ""
