"""The page as text: what it holds, what it counts, and that no name of a cluster's becomes markup."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import re
from html.parser import HTMLParser
from itertools import pairwise
from typing import Any

import pytest

from kafka_groups.errors import PipelineError
from kafka_groups.pipeline.report.history import Finding, History, LagPoint
from kafka_groups.pipeline.report.html import page as page_module
from kafka_groups.pipeline.report.html.page import write_page
from tests.pipeline.report.example_histories import (
    DAY,
    FROM,
    HOSTILE,
    HOUR,
    TO,
    eventful,
    group,
    history,
    points,
    rebalance,
)

HEADINGS = {"h1", "h2", "h3", "h4"}


class Page(HTMLParser):
    """The elements of a page in order, and the text of each script and of all the rest."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.source = source
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.text = ""
        self._in: str | None = None
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._in = tag
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self._in = None

    def handle_data(self, data: str) -> None:
        if self._in == "script":
            self.scripts[-1] += data
        elif self._in != "style":
            self.text += data

    def all(self, tag: str, **attributes: str) -> list[dict[str, str | None]]:
        """Return the attributes of these elements."""
        wanted = attributes.items()
        return [given for name, given in self.elements if name == tag and wanted <= given.items()]


def page_of(given: History, **more: Any) -> Page:
    """Return the page, parsed as HTML."""
    out = io.StringIO()
    write_page(given, out, **more)
    return Page(out.getvalue())


def charts_of(page: Page) -> list[dict[str, Any]]:
    """Return the data of each chart for page.js."""
    return [json.loads(script) for script in page.scripts if script.startswith("{")]


def test_a_page_has_a_language_a_title_a_viewport_and_headings_in_order() -> None:
    page = page_of(eventful())
    assert page.all("html", lang="en")
    assert page.all("meta", name="viewport", content="width=device-width, initial-scale=1")
    assert "Consumer groups, 20 Nov 2026, 00:00 to 21 Nov 2026, 00:00 UTC" in page.text
    levels = [int(name[1]) for name, _ in page.elements if name in HEADINGS]
    assert levels[0] == 1
    assert max(after - before for before, after in pairwise(levels)) == 1


def test_every_group_has_a_row_with_a_link_to_its_chart() -> None:
    given = eventful()
    page = page_of(given)
    figures = page.all("figure")
    assert [figure["data-group"] for figure in figures] == [one.group for one in given.groups]
    assert [figure["data-rebalances"] for figure in figures] == ["3", "0", "1", "2", "3", "0", "1", "0"]
    assert {figure["data-cluster"] for figure in figures} == {"c-1"}
    sections = [given["id"] for given in page.all("section", **{"class": "group"})]
    links = [given["href"] for given in page.all("a") if (given["href"] or "").startswith("#group-")]
    assert links == [f"#{identity}" for identity in sections]


def test_rebalances_that_are_not_known_are_no_zero() -> None:
    page = page_of(history(group(points=points(1, 2), rebalances=None)))
    assert [plot["aria-label"] for plot in page.all("div", role="img")] == [
        "Lag of orders over the period: from 1 to 2, at most 2; rebalances unknown."
    ]


def test_every_chart_has_a_name_with_its_lowest_and_highest_lag() -> None:
    labels = [plot["aria-label"] for plot in page_of(eventful()).all("div", role="img")]
    assert labels[-1] == "Lag of audit over the period: from 0 to 1, at most 2; 0 rebalances."
    assert len(labels) == 8


def test_ids_are_unique_and_every_link_inside_leads_somewhere() -> None:
    page = page_of(eventful())
    ids = [given["id"] for _, given in page.elements if "id" in given]
    links = {(given["href"] or "").removeprefix("#") for given in page.all("a")}
    assert (len(ids), links - set(ids)) == (len(set(ids)), set())


def test_a_page_counts_the_groups_without_a_chart() -> None:
    page = page_of(eventful(many=8), max_groups=3)
    assert len(page.all("figure")) == 3
    assert "3 groups of 70; 67 omitted. Order: by verdict" in page.text


def test_findings_gaps_and_what_is_missing_are_reported() -> None:
    given = eventful()
    text = page_of(given).text
    sentences = [*(finding.message for finding in given.findings), *given.gaps, *given.missing]
    assert [sentence for sentence in sentences if sentence not in text] == []
    assert "Retention risk" in text


def test_the_page_has_the_times_of_evaluation_and_of_removal() -> None:
    old = group("old", evaluated_ms=TO - HOUR, lag=5, lagging_since_ms=FROM, lagging_since_is_bound=True)
    deleted = group("deleted", state="Dead", deleted_ms=FROM + HOUR)
    missed = group("missed", state="Dead", deleted_ms=FROM + 2 * HOUR, deleted_is_bound=True)
    text = page_of(history(old, deleted, missed, evaluated_ms=TO, unknown=("nosuch",))).text
    for given in (
        "Lag as of21 Nov 2026, 00:00",
        "as of 20 Nov 2026, 23:00",
        "behind since 20 Nov 2026, 00:00 or before",
        "deleted 20 Nov 2026, 01:00 ·",
        "deleted 20 Nov 2026, 02:00 or before ·",
        "Group nosuch: the tables have no data on it in this period.",
    ):
        assert given in text
    text = page_of(history(group(evaluated_ms=TO), evaluated_ms=TO)).text
    assert ("As of" in text, "deleted 20 Nov" in text) == (False, False)


def test_an_empty_history_has_sentences_and_no_script() -> None:
    page = page_of(history())
    assert "There was no group in this period." in page.text
    assert "Nothing that needs attention." in page.text
    assert "Nothing else is missing." in page.text
    assert (page.scripts, len(page.source) < 20_000) == ([], True)
    assert "script-src 'none'" in page.source


def test_a_group_without_points_has_a_figure_with_a_sentence_on_it() -> None:
    page = page_of(history(group()))
    assert [figure["data-rebalances"] for figure in page.all("figure")] == ["0"]
    assert "No lag is known for this group in this period." in page.text


def test_many_findings_are_limited_and_counted() -> None:
    one = Finding(kind="idle_group", cluster_id="c-1", group="g", topic=None, message="it rests")
    page = page_of(history(findings=(one,) * 1_234))
    assert (page.text.count("it rests"), "1,034 more are omitted" in page.text) == (200, True)


def test_many_gaps_are_limited_and_counted() -> None:
    page = page_of(history(gaps=tuple(f"gap number {at}" for at in range(1_234))))
    assert (page.text.count("gap number"), "1,034 more are omitted" in page.text) == (200, True)


def test_unknown_values_of_a_rebalance_are_dashes_and_words() -> None:
    page = page_of(history(group(rebalances=(rebalance(joined=None, left=None),))))
    cells = re.findall(r'<td data-label="(?:Joined|Left)"[^>]*>([^<]*)</td>', page.source)
    assert cells == ["\N{EN DASH}"] * 2
    assert charts_of(page)[0]["marks"][0][2] == "Rebalance 7: 3.2s<br>who joined or left is not known"


def test_a_name_with_markup_is_text_everywhere() -> None:
    finding = Finding(kind=HOSTILE, cluster_id=HOSTILE, group=HOSTILE, topic=HOSTILE, message=HOSTILE)
    hostile: dict[str, Any] = dict.fromkeys(("cluster_id", "state", "verdict", "rule", "time_lag_quality"), HOSTILE)
    mark = rebalance(duration_quality=HOSTILE)
    given = history(
        group(HOSTILE, **hostile, points=points(1, 2), rebalances=(mark,)),
        clusters=(HOSTILE, "c-2"),
        findings=(finding,),
        gaps=(HOSTILE,),
        missing=(HOSTILE,),
    )
    page = page_of(given)
    assert page.all("img") == []
    assert len(page.all("script")) == 3
    assert [figure["data-group"] for figure in page.all("figure")] == [HOSTILE]
    # In the facts 2, the summary 4, the findings 5, above the chart 5, among the rebalances 1, at the end 2.
    assert page.text.count(HOSTILE) == 19
    assert "alert(1)" not in "".join(page.scripts)


@pytest.mark.parametrize(
    ("name", "shown"),
    [("a\x00b\r\n", r"a\x00b\r\n"), ("half\ud83d", r"half\ud83d"), ("\u202eevil", r"\u202eevil"), ("注文", "注文")],
)
def test_control_characters_in_names_are_made_visible(name: str, shown: str) -> None:
    page = page_of(history(group(name)))
    page.source.encode()
    assert [figure["data-group"] for figure in page.all("figure")] == [shown]


def test_only_scripts_of_the_page_may_run_and_nothing_may_be_loaded() -> None:
    page = page_of(eventful())
    (policy,) = [given["content"] or "" for given in page.all("meta") if given.get("http-equiv")]
    programs = [script for script in page.scripts if not script.startswith("{")]
    hashes = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in programs]
    allowed = " ".join(f"'sha256-{one}'" for one in hashes)
    assert policy.split("; ") == [
        "default-src 'none'",
        f"script-src {allowed}",
        "style-src 'unsafe-inline'",
        "img-src data: blob:",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    assert [given for _, given in page.elements if {"src", "onclick", "onload"} & set(given)] == []
    assert page.all("link") == []
    assert [given["href"] for given in page.all("a") if not (given["href"] or "").startswith("#")] == []
    assert re.findall(r"url\(|@import", page.source[: page.source.index("</style>")]) == []


def test_a_chart_gets_numbers_and_texts_made_of_numbers() -> None:
    marks = (
        rebalance(FROM + 10, 5),
        rebalance(FROM + 20, 5, duration_quality="bound", ended_ms=None),
        rebalance(FROM + 30, None),
    )
    given = history(
        group(points=(LagPoint(FROM, 1, None), LagPoint(FROM + 9, None, 7)), rebalances=marks),
        group("b", points=points(1)),
    )
    first, second = charts_of(page_of(given))
    assert first == {
        "period": [FROM, TO],
        "at": [0, 9],
        "lag": [1, None],
        "timeLag": [None, 7],
        "marks": [
            [FROM + 10, FROM + 15, "Rebalance 7: 5ms<br>2 joined, 1 left"],
            [FROM + 20, FROM + 25, "Rebalance 7: at most 5ms<br>2 joined, 1 left"],
            [FROM + 30, TO, "Rebalance 7: had not ended<br>2 joined, 1 left"],
        ],
    }
    assert (second["timeLag"], second["marks"]) == (None, [])


def test_an_open_rebalance_is_drawn_to_the_end_of_the_day_after_it_began() -> None:
    """Nothing is looked at any more from then on. One of which it is not known whether it ended has no width."""
    marks = (rebalance(FROM + HOUR, None), rebalance(FROM + HOUR, None, duration_quality="unknown"))
    (chart,) = charts_of(page_of(history(group(rebalances=marks), to_ms=FROM + 7 * DAY)))
    assert [mark[:2] for mark in chart["marks"]] == [[FROM + HOUR, FROM + 2 * DAY], [FROM + HOUR, FROM + HOUR]]


def test_a_lag_that_is_a_bound_is_marked_everywhere() -> None:
    text = page_of(history(group(lag=1_234, lag_quality="lower_bound", points=points(1)))).text
    assert (text.count("at least 1,234"), text.count("1,234")) == (2, 2)


def test_a_chart_of_very_many_points_keeps_its_peaks_and_has_a_caption() -> None:
    dense = tuple(LagPoint(FROM + DAY * at // 50_000, 999 if at == 31_234 else at % 5, None) for at in range(50_000))
    page = page_of(history(group(points=dense)))
    (chart,) = charts_of(page)
    assert (len(chart["lag"]) < 6_001, max(chart["lag"])) == (True, 999)
    assert f"{len(chart['lag']):,} of 50,000 points, the peaks among them." in page.text


def test_the_table_lists_the_last_rebalances_and_the_chart_has_all() -> None:
    marks = tuple(rebalance(FROM + at, 1, generation=at) for at in range(1_500))
    page = page_of(history(group(rebalances=marks)))
    assert "1,500 rebalances, the last 100 of them" in page.text
    assert (page.source.count("Rebalance 1499:"), len(charts_of(page)[0]["marks"])) == (1, 1_500)


def test_without_plotly_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_module, "find_spec", lambda _name: None)
    with pytest.raises(PipelineError, match=r"pip install 'kafka-groups\[pipeline\]'"):
        write_page(history(group()), io.StringIO())
