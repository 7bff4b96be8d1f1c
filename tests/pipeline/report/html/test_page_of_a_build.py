"""What was sampled, built and drawn, in a real browser: a data gap in the samples is one in the chart."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from kafka_groups.pipeline.report.history_reader import read_history
from kafka_groups.pipeline.report.html.page import write_page
from tests.browser import DESK, entries_of, open_at, wait_for
from tests.pipeline.build.builds import build_here
from tests.pipeline.fact_rows import NOON, commit, ends, new_storage, put_all

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

# It starts a browser.
pytestmark = pytest.mark.slow

START: Final = int(NOON.timestamp() * 1_000)
MINUTE, HOUR = 60, 3_600
# Nobody samples in the three hours between.
RUNS: Final = (*range(0, 31 * MINUTE, MINUTE), *range(4 * HOUR, 4 * HOUR + 31 * MINUTE, MINUTE))
# Left and right end of each piece of the line of the lag, as parts of the period; pieces of a path begin with an M.
PIECES: Final = """
const plot = document.querySelector("#group-1 .plot"), axis = plot._fullLayout.xaxis;
const at = plot.data.findIndex((trace) => trace.name === "Lag");
const lines = [...plot.querySelectorAll(`.trace${plot._fullData[at].uid} path.js-line`)];
return lines.flatMap((line) => line.getAttribute("d").split("M").filter(Boolean)).map((piece) => {
    const xs = [...piece.matchAll(/(?:^|L|H)\\s*(-?[\\d.]+)/g)].map((found) => Number(found[1]) / axis._length);
    return [Math.min(...xs), Math.max(...xs)];
})"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("hole")
    storage = new_storage(folder)
    rows = {"offset_commits": [commit(1, 0, source=1)], "partition_offsets": [ends(at, 7 + at) for at in RUNS]}
    put_all(storage, "b", rows)
    build_here(storage)
    path = folder / "report.html"
    with path.open("w", encoding="utf-8") as out:
        write_page(read_history(storage, since_ms=START, until_ms=START + 5 * HOUR * 1_000), out)
    return Path(path).as_uri()


def test_no_line_is_drawn_through_hours_without_samples(browser: Chrome, page: str) -> None:
    open_at(browser, page, DESK)
    wait_for(browser, "return document.querySelector('#group-1 figure').dataset.drawn === 'true'")
    before, after = browser.execute_script(PIECES)
    assert before == pytest.approx([0, 0.1], abs=0.005)
    assert after == pytest.approx([0.8, 0.9], abs=0.005)
    assert entries_of(browser, "browser") == []
