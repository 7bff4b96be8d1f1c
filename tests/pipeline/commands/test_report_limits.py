"""How many groups a report has: omitted groups are counted, named groups are never omitted."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from kafka_groups.pipeline.report.history import History
from kafka_groups.pipeline.report.limits import GroupLimit
from tests.fakes.command_line import Outcome, run
from tests.pipeline.commands.conftest import FakePipeline
from tests.pipeline.report.example_histories import group, history

IDS = [f"g{number:02}" for number in range(34)]
FORMATS = ("table", "json", "ndjson", "csv")
NOTE = "14 of 34 groups are omitted; give --top 34 to have them."
every_format = pytest.mark.parametrize("output_format", FORMATS)


def a_report(*, shown: GroupLimit, **_: Any) -> History:
    """Return a cut history of 34 groups."""
    return history(*map(group, IDS), made_ms=3, from_ms=1, to_ms=2).limited_to(shown)


@pytest.fixture(autouse=True)
def a_history(fakes: FakePipeline) -> None:
    fakes.report.side_effect = lambda *_, **arguments: a_report(**arguments)


def report(data_dir: str, output_format: str, *more: str) -> Outcome:
    return run("pipeline", "report", "--data-dir", data_dir, "--format", output_format, *more)


def ids_in(outcome: Outcome, output_format: str) -> list[str]:
    """Return the ids of the groups in the output."""
    if output_format == "json":
        return [one["group"] for one in json.loads(outcome.stdout)["groups"]]
    if output_format == "ndjson":
        return [json.loads(line)["group"] for line in outcome.stdout.splitlines()]
    if output_format == "csv":
        return [row["GROUP"] for row in csv.DictReader(io.StringIO(outcome.stdout))]
    return [line.split()[0] for line in outcome.stdout.splitlines()[1:]]


@every_format
def test_programs_get_all_groups_and_a_table_has_20(data_dir: str, output_format: str) -> None:
    outcome = report(data_dir, output_format)
    assert ids_in(outcome, output_format) == (IDS[:20] if output_format == "table" else IDS)
    assert "left out" not in outcome.stderr


@every_format
def test_groups_that_are_named_by_id_are_omitted_only_by_top(data_dir: str, output_format: str) -> None:
    assert ids_in(report(data_dir, output_format, *IDS), output_format) == IDS
    assert ids_in(report(data_dir, output_format, *IDS, "--top", "3"), output_format) == IDS[:3]


def test_named_groups_are_added_to_the_first_ones_that_match(data_dir: str) -> None:
    named = IDS[-3:]
    assert ids_in(report(data_dir, "table", *named, "--match", "g.*"), "table") == [*IDS[:20], *named]


@every_format
def test_groups_that_top_omits_are_counted_once_in_every_format(data_dir: str, output_format: str) -> None:
    stderr = report(data_dir, output_format, "--top", "20").stderr
    assert (stderr.count("20 of 34 groups"), stderr.count(NOTE)) == ((1, 0) if output_format == "table" else (0, 1))


def test_the_note_on_one_omitted_group_is_in_the_singular(data_dir: str) -> None:
    assert report(data_dir, "csv", "--top", "33").stderr == "1 of 34 groups is omitted; give --top 34 to have it.\n"


@every_format
def test_a_page_has_20_groups_whatever_the_output_format(data_dir: str, tmp_path: Path, output_format: str) -> None:
    page = tmp_path / "page.html"
    outcome = report(data_dir, output_format, "--html", str(page))
    text = page.read_text(encoding="utf-8")
    assert "20 groups of 34; 14 omitted. Order: by verdict" in text
    assert (IDS[19] in text, IDS[20] in text) == (True, False)
    lacks_more = output_format != "table"
    assert len(ids_in(outcome, output_format)) == (34 if lacks_more else 20)
    assert f"The page is {page}.{f' On it, {NOTE}' if lacks_more else ''}\n" in outcome.stderr


def test_a_page_has_all_named_groups(data_dir: str, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert "left out" not in report(data_dir, "json", *IDS, "--html", str(page)).stderr
    assert IDS[-1] in page.read_text(encoding="utf-8")


def test_groups_that_both_page_and_output_omit_are_counted_once(data_dir: str, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    lines = report(data_dir, "ndjson", "--top", "20", "--html", str(page)).stderr.splitlines()
    assert lines == [f"The page is {page}.", NOTE]


@pytest.mark.parametrize(
    ("output_format", "more", "max_count"),
    [("table", (), 20), ("json", (), 1_000), ("ndjson", (), 1_000), ("csv", (), 0), ("csv", ("--html", "p"), 20)],
)
def test_points_are_read_for_shown_groups_and_at_most_a_thousand(
    fakes: FakePipeline,
    data_dir: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    output_format: str,
    more: tuple[str, ...],
    max_count: int,
) -> None:
    monkeypatch.chdir(tmp_path)
    report(data_dir, output_format, *more)
    arguments = fakes.report.call_args.kwargs
    assert (arguments["drawn"], arguments["shown"].max_count) == (
        GroupLimit(max_count),
        None if output_format == "csv" else max_count,
    )
