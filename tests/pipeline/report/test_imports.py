"""Drawing a history is cheap to import: plotly when a page is written, rich on a terminal, Spark never."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("program", "heavy"),
    [
        ("", set()),
        ("history_document(given); history_schema()", set()),
        ("draw_history(screen, given)", set()),
        ("write_page(given, io.StringIO())", {"plotly"}),
    ],
)
def test_drawing_imports_no_more_than_it_needs(program: str, heavy: set[str]) -> None:
    lines = f"""
import io, sys
from kafka_groups.pipeline.report.html.page import write_page
from kafka_groups.pipeline.report.json.document import history_document
from kafka_groups.pipeline.report.json.schema import history_schema
from kafka_groups.pipeline.report.text.table import draw_history
from kafka_groups.rendering.screen import Screen
from tests.pipeline.report.example_histories import eventful
given = eventful(many=2)
streams = {{"out": io.StringIO(), "err": io.StringIO(), "out_is_terminal": False, "err_is_terminal": False}}
screen = Screen(**streams, colour=False, width=80)
{program}
print(*{{name.partition(".")[0] for name in sys.modules}})
"""
    done = subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) & {"plotly", "pandas", "numpy", "pyspark", "rich", "click"} == heavy
