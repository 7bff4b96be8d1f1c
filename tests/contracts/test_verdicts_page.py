"""docs/verdicts.md says what the table of rules says, and other pages leave it to that page."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from kafka_groups.rendering.durations import format_duration
from kafka_groups.verdicts import (
    KNOWN,
    MEANINGS,
    NO_COMMITS,
    RULES,
    UNKNOWN,
    VERDICT_OF,
    Comparison,
    Evidence,
    Growth,
    Rule,
)

DOCS: Final = Path(__file__).parents[2] / "docs"
PAGE: Final = (DOCS / "verdicts.md").read_text(encoding="utf-8")
# Pages that name verdicts and send their readers to the page.
OTHER_PAGES: Final = ("lag.md", "pipeline.md")
NAMES: Final = tuple(dict.fromkeys(rule.name for rule in RULES))


def describe(comparison: Comparison) -> str:
    """Return a comparison as the page writes it."""
    if comparison.operator in (KNOWN, UNKNOWN):
        return f"{comparison.name} {comparison.operator}"
    other = str(comparison.other)
    if not isinstance(comparison.other, str):
        other = format_duration(int(comparison.other)) if comparison.name.endswith("_ms") else f"{comparison.other:g}"
    factor = "" if comparison.factor == 1 else f"{comparison.factor:g} \N{MULTIPLICATION SIGN} "
    return f"{comparison.name} {comparison.operator} {factor}{other}"


def describe_rule(rule: Rule) -> str:
    """Return the line of the page that says when a rule holds."""
    comparisons = ", ".join(f"`{describe(comparison)}`" for comparison in rule.comparisons) or "no other rule holds"
    thirds = " or ".join(format_duration(third) for third in rule.thirds_ms)
    return f"Holds if {comparisons}{f'; thirds of {thirds}' if thirds else ''}."


def section(name: str) -> str:
    """Return the text below the heading of a rule."""
    match = re.search(rf"^### `{name}`.*?(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert match, f"docs/verdicts.md has no section on {name}"
    return match[0]


@pytest.mark.parametrize("rule", RULES, ids=[f"{rule.name} {at}" for at, rule in enumerate(RULES)])
def test_the_page_has_the_verdict_and_the_comparisons_of_each_rule(rule: Rule) -> None:
    text = section(rule.name)
    assert text.startswith(f"### `{rule.name}`: {rule.verdict}\n")
    assert describe_rule(rule) in text


def test_rules_are_in_the_order_of_the_table() -> None:
    assert re.findall(r"^### `(\w+)`", PAGE, re.MULTILINE) == list(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_each_rule_has_a_picture_and_says_how_soon_and_what_is_unknown(name: str) -> None:
    text = section(name)
    assert re.search(r"^```\n.+\n```$", text, re.MULTILINE | re.DOTALL), "no picture"
    assert "**How soon**" in text
    assert "**Unknown**" in text
    assert MEANINGS[name][1:] in text


def test_the_summary_has_every_verdict_with_its_rules_from_the_worst_to_the_best() -> None:
    rows = re.findall(r"^\| (\w+) \| (`.+?`) \|", PAGE, re.MULTILINE)
    named = [(verdict, name) for verdict, names in rows for name in re.findall(r"`(\w+)`", names)]
    assert named == [(verdict, name) for name, verdict in reversed([*VERDICT_OF.items()])]
    assert NO_COMMITS in {name for _, name in named}


def test_the_page_defines_all_evidence_that_rules_compare() -> None:
    compared = {each.name for rule in RULES for each in rule.comparisons}
    others = {each.other for rule in RULES for each in rule.comparisons if isinstance(each.other, str) and each.other}
    assert compared <= {*Evidence._fields, *Growth._fields}
    defined = set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE))
    assert compared | others <= defined


@pytest.mark.parametrize("page", OTHER_PAGES)
def test_other_pages_link_to_the_page_and_repeat_no_rule(page: str) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    assert "(verdicts.md" in text
    assert not re.findall(r"^\|.*`(?:stopped|falling_behind|stalled|slow_leak)`.*\|$", text, re.MULTILINE)
