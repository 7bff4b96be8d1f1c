"""The notebook cell of the documentation, pasted into a Spark session."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import kafka_groups
from tests.live.groups.topics import make_topic, unique_name
from tests.live.pipeline.offsets_topic import commit

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.live, pytest.mark.spark]

_PAGE = Path(kafka_groups.__file__).parents[2] / "docs/pipeline.md"
_ADDRESS = "localhost:9092"


def notebook() -> str:
    """Return the code of the cell."""
    (cell,) = re.findall(r"^In a notebook.*?^```python\n(.*?)^```", _PAGE.read_text(), re.MULTILINE | re.DOTALL)
    return str(cell)


def test_the_cell_for_a_notebook_counts_the_commits_of_each_group(
    spark: SparkSession, broker: str, capsys: pytest.CaptureFixture[str]
) -> None:
    group = unique_name("notebook")
    commit(broker, group, make_topic(broker, records=1), 1, 2, 3)
    cell = notebook()
    assert cell.count(_ADDRESS) == 1
    made: dict[str, Any] = {"spark": spark}

    exec(cell.replace(_ADDRESS, broker), made)

    shown = capsys.readouterr().out
    assert re.search(r"\|\s*group\|\s*count\|", shown)
    rows = made["records"].where("kind = 'offset_commit'").groupBy("group").count().collect()
    assert {row["group"]: row["count"] for row in rows}[group] == 3
