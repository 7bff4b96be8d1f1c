"""The page in a real browser: charts are drawn, no request goes to a network, names do not run, a phone can read it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from kafka_groups.pipeline.report.html.page import write_page
from tests.browser import DESK, PHONE, entries_of, open_at, wait_for
from tests.pipeline.report.example_histories import eventful

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

pytestmark = pytest.mark.slow
GROUPS = 50
# Boxes that stick out of the window, unless they scroll within themselves.
TOO_WIDE = """
return [...document.querySelectorAll("body *")].filter((box) => !box.closest("svg, .scroll, .hoverlayer")
    && box.getBoundingClientRect().right > innerWidth + 1).map((box) => box.outerHTML.slice(0, 80))"""
# The sizes of all text that is shown, that in charts included.
SIZES = """
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), sizes = new Set();
const unseen = ["SCRIPT", "STYLE", "NOSCRIPT"];
while (walker.nextNode()) {
    const box = walker.currentNode.parentElement;
    if (walker.currentNode.data.trim() && box.getClientRects().length && !unseen.includes(box.tagName))
        sizes.add(parseFloat(getComputedStyle(box).fontSize));
}
return [...sizes]"""
# Left, width and height of every plot, and the number of rebalances drawn in it.
PLOTS = """
return [...document.querySelectorAll("figure.group-chart")].map((figure) => {
    const box = figure.querySelector(".main-svg").getBoundingClientRect();
    const marks = figure.querySelectorAll(".subplot.xy .point").length;
    return [box.left, box.width, box.height, marks, figure.dataset.rebalances];
})"""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a page of many groups, the worst of them hostile by name."""
    path = tmp_path_factory.mktemp("page") / "report.html"
    with path.open("w", encoding="utf-8") as out:
        write_page(eventful(many=GROUPS), out)
    return path.as_uri()


def draw_all(browser: Chrome) -> None:
    """Draw all charts, as printing does; otherwise each is drawn when it is scrolled to."""
    browser.execute_script("dispatchEvent(new Event('beforeprint'))")
    wait_for(browser, f"return document.querySelectorAll('figure[data-drawn]').length === {GROUPS}")


def requested(browser: Chrome) -> list[str]:
    """Return the address of every request."""
    events: list[Any] = [json.loads(entry["message"])["message"] for entry in entries_of(browser, "performance")]
    return [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]


@pytest.mark.parametrize("size", [PHONE, DESK], ids=["phone", "desk"])
def test_every_group_has_its_chart_with_its_rebalances(browser: Chrome, report: str, size: tuple[int, int]) -> None:
    open_at(browser, report, size)
    draw_all(browser)
    plots = browser.execute_script(PLOTS)
    assert len(plots) == GROUPS
    assert [int(given) for *_, given in plots[:5]] == [3, 0, 1, 2, 3]
    assert [(drawn, int(given)) for *_, drawn, given in plots if drawn != int(given)] == []
    lefts, widths, heights = [{plot[at] for plot in plots} for at in range(3)]
    assert min(lefts) >= 0
    assert min(widths) >= 0.85 * min(size[0], 1_280)
    assert max(widths) <= size[0]
    assert (min(heights) >= 200, max(heights) <= 400) == (True, True)


@pytest.mark.parametrize("size", [PHONE, DESK], ids=["phone", "desk"])
def test_the_page_does_not_scroll_sideways_and_its_text_can_be_read(
    browser: Chrome, report: str, size: tuple[int, int]
) -> None:
    open_at(browser, report, size)
    draw_all(browser)
    browser.execute_script("document.querySelectorAll('details').forEach((details) => { details.open = true; })")
    scrolled, inner = browser.execute_script("return [document.documentElement.scrollWidth, innerWidth]")
    assert (scrolled <= inner, inner) == (True, size[0])
    assert browser.execute_script(TOO_WIDE) == []
    assert min(browser.execute_script(SIZES)) >= 12


def test_the_summary_shows_all_of_its_columns_in_a_wide_window(browser: Chrome, report: str) -> None:
    open_at(browser, report, DESK)
    needed, shown = browser.execute_script(
        "const box = document.querySelector('.scroll'); return [box.scrollWidth, box.clientWidth]"
    )
    assert needed <= shown


def test_nothing_but_the_file_itself_is_requested(browser: Chrome, report: str) -> None:
    open_at(browser, report, DESK)
    draw_all(browser)
    asked = requested(browser)
    assert report in {address.partition("#")[0] for address in asked}
    assert [address for address in asked if not address.startswith(("file:", "data:", "blob:"))] == []
    assert {address.partition("#")[0] for address in asked if address.startswith("file:")} == {report}


def test_the_console_of_the_browser_has_no_error(browser: Chrome, report: str) -> None:
    open_at(browser, report, DESK)
    draw_all(browser)
    assert entries_of(browser, "browser") == []


def test_a_script_in_the_name_of_a_group_does_not_run(browser: Chrome, report: str) -> None:
    alarm = "window.alarms = []; window.alert = (text) => window.alarms.push(text);"
    given = browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": alarm})
    try:
        open_at(browser, report, DESK)
        draw_all(browser)
        assert browser.execute_script("return [window.alarms, document.images.length]") == [[], 0]
    finally:
        browser.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", given)


def test_an_injected_script_is_refused_by_the_policy(browser: Chrome, report: str) -> None:
    open_at(browser, report, DESK)
    browser.execute_script(
        """
        const late = document.createElement("script");
        late.textContent = "window.ran = true";
        document.body.append(late);
        """
    )
    assert browser.execute_script("return window.ran ?? null") is None
    assert "Content Security Policy" in str(entries_of(browser, "browser"))


def test_charts_are_drawn_when_they_are_scrolled_to(browser: Chrome, report: str) -> None:
    open_at(browser, report, DESK)
    assert browser.execute_script("return document.querySelectorAll('figure[data-drawn]').length") < GROUPS / 2
    browser.execute_script(f"location.hash = '#group-{GROUPS}'")
    wait_for(browser, f"return document.querySelector('#group-{GROUPS} figure').dataset.drawn === 'true'")


def test_a_rebalance_has_a_tooltip(browser: Chrome, report: str) -> None:
    open_at(browser, report, DESK)
    browser.execute_script(
        """
        const plot = document.querySelector("#group-1 .plot");
        const at = plot.data.findIndex((trace) => trace.name === "Rebalance");
        Plotly.Fx.hover(plot, [{ curveNumber: at, pointNumber: 1 }], ["xy"]);
        """
    )
    wait_for(browser, "return document.querySelector('#group-1 .hoverlayer').textContent.includes('Rebalance 42')")
    given = browser.execute_script("return document.querySelector('#group-1 .hoverlayer').textContent")
    assert "Rebalance 42: at most 31m" in given
    assert "0 joined, 2 left" in given


@pytest.mark.parametrize(("scheme", "paper"), [("light", "rgb(255, 255, 255)"), ("dark", "rgb(18, 22, 29)")])
def test_the_page_follows_the_colour_scheme_of_the_browser(
    browser: Chrome, report: str, scheme: str, paper: str
) -> None:
    open_at(browser, report, DESK, prefers_color_scheme=scheme)
    assert browser.execute_script("return getComputedStyle(document.body).backgroundColor") == paper
