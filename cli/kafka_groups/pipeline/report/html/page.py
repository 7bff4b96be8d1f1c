"""The report as one HTML file, which needs no network, and in which no name from the cluster is markup."""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Iterator
from importlib.util import find_spec
from string import Template
from typing import Final, TextIO

from kafka_groups import __version__
from kafka_groups.errors import PipelineError
from kafka_groups.pipeline.report.history import GroupHistory, History
from kafka_groups.pipeline.report.html.charts import render_chart_section, render_verdict_label, verdict_word
from kafka_groups.pipeline.report.html.markup import Cell, escape_name, escape_text, make_row, make_section, make_table
from kafka_groups.pipeline.report.html.summary import render_summary_table
from kafka_groups.pipeline.report.html.verdict_list import render_verdict_list
from kafka_groups.pipeline.report.limits import first_of_each_kind
from kafka_groups.pipeline.report.notation import describe_minute
from kafka_groups.pipeline.report.text.footnotes import ORDER
from kafka_groups.rendering.counts import count_of

# The most findings of each kind.
_MAX_FINDINGS: Final = 200
_MAX_SENTENCES: Final = 200
_KINDS: Final = {
    "idle_group": "Idle group",
    "orphaned_commit": "Orphaned commit",
    "unread_topic": "Unread topic",
    "skew": "Skew",
    "retention_risk": "Retention risk",
    "clock_difference": "Clock difference",
    "known_reset": "Known reset",
}


def write_page(history: History, out: TextIO, *, max_groups: int = 50) -> None:
    """Write the page to `out`, in UTF-8. The first `max_groups` groups get a row and a chart; others are counted."""
    groups = history.groups[:max_groups]
    scripts = [_read_plotly(), _read_asset("page.js")] if groups else []
    template_fields = {
        "policy": _make_policy(scripts),
        "version": __version__,
        "from_time": describe_minute(history.from_ms),
        "to_time": describe_minute(history.to_ms),
        "style": _read_asset("page.css"),
        "facts": "\n".join(f"<div><dt>{label}</dt><dd>{value}</dd></div>" for label, value in _list_facts(history)),
        "sections": _render_links(history),
        "main": "\n".join(_render_sections(history, groups)),
        "scripts": "\n".join(f"<script>{script}</script>" for script in scripts),
    }
    out.write(Template(_read_asset("page.html")).substitute(template_fields))


def _list_facts(history: History) -> Iterator[tuple[str, str]]:
    """Yield the label and the value of each fact at the top of the page."""
    yield "Period (UTC)", f"{describe_minute(history.from_ms)} to {describe_minute(history.to_ms)}"
    if history.evaluated_ms is not None:
        yield "Lag as of", describe_minute(history.evaluated_ms)
    yield (
        "Cluster" if len(history.clusters) == 1 else "Clusters",
        ", ".join(map(escape_name, history.clusters)) or "none",
    )
    yield "Groups", f"{history.groups_in_all:,}"
    verdicts = Counter(map(verdict_word, history.groups))
    if verdicts:
        # The verdicts are in the order of the groups: the worst first.
        verdict_counts = "".join(
            f"<span>{render_verdict_label(word)} {count:,}</span>" for word, count in verdicts.items()
        )
        selection_note = (
            "" if len(history.groups) == history.groups_in_all else f" of the worst {len(history.groups):,}"
        )
        yield f"Verdicts{selection_note}", f'<span class="tally">{verdict_counts}</span>'
    yield "Made", describe_minute(history.made_ms)


def _render_links(history: History) -> str:
    """Return links to the sections."""
    sections = [
        ("summary", "Summary"),
        ("findings", f"Findings ({len(history.findings):,})"),
        ("charts", "Charts"),
        ("missing", f"What is missing ({len(history.gaps) + len(_list_missing_data(history)):,})"),
    ]
    return " ".join(f'<a href="#{element_id}">{title}</a>' for element_id, title in sections)


def _render_sections(history: History, groups: tuple[GroupHistory, ...]) -> Iterator[str]:
    """Yield the sections of the page, with a chart for each of the groups."""
    yield make_section(
        "summary",
        "Summary",
        _describe_order(history, len(groups)),
        render_summary_table(history, groups),
        render_verdict_list(groups),
    )
    yield make_section("findings", "Findings", _render_findings(history))
    legend = (
        '<p class="hint keys"><span><i class="key lag"></i>lag in records</span> '
        '<span><i class="key time-lag"></i>time lag, the age of the oldest record not yet read</span> '
        '<span><i class="key mark">▼</i>a rebalance, as wide as it took, or may have taken</span> '
        '<span class="with-mouse">Drag over a chart to look closer, double click to go back.</span></p>'
        "<noscript><p>Charts need JavaScript; the tables do not.</p></noscript>"
    )
    charts = [render_chart_section(history, group, group_number) for group_number, group in enumerate(groups, start=1)]
    yield make_section("charts", "Charts", *((legend, *charts) if charts else ("<p>There is no group to draw.</p>",)))
    yield make_section(
        "missing",
        "What is missing",
        _render_list("Gaps", history.gaps, "No records are known to be missing."),
        _render_list("Not in the tables", _list_missing_data(history), "Nothing else is missing."),
    )


def _list_missing_data(history: History) -> tuple[str, ...]:
    """Return sentences on requested groups without data, and on what the tables lack."""
    return (
        *(f"Group {group}: the tables have no data on it in this period." for group in history.unknown),
        *history.missing,
    )


def _describe_order(history: History, drawn_count: int) -> str:
    """Return the number of groups on the page, if it omits some, and their order."""
    omitted_count = history.groups_in_all - drawn_count
    if omitted_count <= 0:
        return f"<p>{ORDER}.</p>" if history.groups_in_all else "<p>There was no group in this period.</p>"
    return f"<p>{count_of(drawn_count, 'group')} of {history.groups_in_all:,}; {omitted_count:,} omitted. {ORDER}.</p>"


def _render_findings(history: History) -> str:
    """Return the first findings of each kind as a table."""
    if not history.findings:
        return "<p>Nothing that needs attention.</p>"
    has_clusters = len(history.clusters) > 1
    labels = ["What", *(["Cluster"] if has_clusters else []), "Group", "Topic", "Why"]
    rows = [
        make_row(
            Cell(escape_text(_KINDS.get(finding.kind, finding.kind)), "What"),
            [
                *([Cell(escape_name(finding.cluster_id), "Cluster")] if has_clusters else []),
                Cell(None if finding.group is None else escape_name(finding.group), "Group", "name"),
                Cell(None if finding.topic is None else escape_name(finding.topic), "Topic", "name"),
                Cell(escape_text(finding.message), "Why", "wide"),
            ],
        )
        for finding in first_of_each_kind(history.findings, _MAX_FINDINGS)
    ]
    omitted_count = len(history.findings) - len(rows)
    omitted_note = (
        f"<p>{omitted_count:,} more are omitted; the report as JSON has them all.</p>" if omitted_count else ""
    )
    return make_table([Cell(None, label) for label in labels], rows, label="Findings", classes="cards") + omitted_note


def _render_list(title: str, sentences: tuple[str, ...], empty_sentence: str) -> str:
    """Return the first sentences as a list under a title; `empty_sentence` is the sentence for an empty list."""
    if not sentences:
        return f'<h3>{title}</h3>\n<p class="hint">{empty_sentence}</p>'
    shown_sentences = list(sentences[:_MAX_SENTENCES])
    omitted_count = len(sentences) - len(shown_sentences)
    if omitted_count:
        shown_sentences.append(f"{omitted_count:,} more are omitted; the report as JSON has them all.")
    items = "".join(f"<li>{escape_text(sentence)}</li>" for sentence in shown_sentences)
    return f'<h3>{title}</h3>\n<ul class="plain">{items}</ul>'


def _make_policy(scripts: list[str]) -> str:
    """Return the content security policy: only these scripts run, by their hashes, and nothing is loaded.

    Styles are allowed inline, because charts style their elements.
    """
    digests = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed_scripts = " ".join(f"'sha256-{digest}'" for digest in digests) or "'none'"
    return (
        f"default-src 'none'; script-src {allowed_scripts}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def check_charts() -> None:
    """Raise PipelineError if the library that draws the charts is not installed."""
    if find_spec("plotly") is None:
        raise PipelineError(
            "the page's charts need plotly, which is not installed; try pip install 'kafka-groups[pipeline]'"
        )


def _read_plotly() -> str:
    """Return the library that draws the charts, as the text of a script."""
    check_charts()
    from plotly.offline import get_plotlyjs

    source: str = get_plotlyjs()
    # A browser hashes the script after parsing: lines end with \n, and the first end tag ends the script.
    return source.replace("\r\n", "\n").replace("\r", "\n").replace("</script", "<\\/script")


def _read_asset(file_name: str) -> str:
    from importlib.resources import files

    return files(__package__ or "").joinpath(file_name).read_text(encoding="utf-8")
