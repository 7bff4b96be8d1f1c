"""Meanings of verdicts for readers of the page."""

from __future__ import annotations

from collections.abc import Sequence

from kafka_groups.pipeline.report.history import GroupHistory
from kafka_groups.pipeline.report.html.markup import escape_name
from kafka_groups.pipeline.report.trouble import first_in_trouble, why_command
from kafka_groups.verdicts import MEANINGS, VERDICT_OF


def render_verdict_list(groups: Sequence[GroupHistory]) -> str:
    """Return the meanings of the rules that gave the groups their verdicts, the worst first; nothing without any."""
    rules = {group.rule for group in groups}
    items = [
        f"<dt>{VERDICT_OF[rule]}, {rule}</dt><dd>{MEANINGS[rule]}</dd>"
        for rule in reversed([*VERDICT_OF])
        if rule in rules
    ]
    verdicts = f'<h3>Verdicts</h3>\n<dl class="verdicts">{"".join(items)}</dl>' if items else ""
    return verdicts + _render_command(groups)


def _render_command(groups: Sequence[GroupHistory]) -> str:
    """Return the command that shows why the first group with trouble is behind now; nothing without trouble."""
    group = first_in_trouble(groups)
    if group is None:
        return ""
    name = escape_name(group.group)
    command = escape_name(why_command(group.group))
    return f"\n<p>Why {name} is behind now: <code>{command}</code>, with the options of its cluster.</p>"
