"""How many groups a report has: what was left out is told, what was named never is."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from kafka_groups.history import Cut, History
from tests.commands.pipeline.conftest import Rooms
from tests.fakes.fake_admin import Outcome, run
from tests.rendering.history.stories import group, history

IDS = [f"g{number:02}" for number in range(34)]
FORMATS = ("table", "json", "ndjson", "csv")
TOLD = "14 of 34 groups are left out: give --top 34 to have them."
every_format = pytest.mark.parametrize("output_format", FORMATS)


def a_report(*, shown: Cut, **_: Any) -> History:
    """Of a directory with 34 groups."""
    return history(*map(group, IDS), made_ms=3, from_ms=1, to_ms=2).within(shown)


@pytest.fixture(autouse=True)
def a_history(rooms: Rooms) -> None:
    rooms.report.side_effect = lambda *_, **told: a_report(**told)


def report(into: str, output_format: str, *more: str) -> Outcome:
    return run("pipeline", "report", "--into", into, "--format", output_format, *more)


def ids_in(outcome: Outcome, output_format: str) -> list[str]:
    """The groups that an answer has."""
    if output_format == "json":
        return [one["group"] for one in json.loads(outcome.stdout)["groups"]]
    if output_format == "ndjson":
        return [json.loads(line)["group"] for line in outcome.stdout.splitlines()]
    if output_format == "csv":
        return [row["GROUP"] for row in csv.DictReader(io.StringIO(outcome.stdout))]
    return [line.split()[0] for line in outcome.stdout.splitlines()[1:]]


@every_format
def test_programs_get_all_groups_and_a_person_as_many_as_one_looks_at(into: str, output_format: str) -> None:
    outcome = report(into, output_format)
    assert ids_in(outcome, output_format) == (IDS[:20] if output_format == "table" else IDS)
    assert "left out" not in outcome.stderr


@every_format
def test_what_is_named_by_id_is_never_left_out_unless_top_says_so(into: str, output_format: str) -> None:
    assert ids_in(report(into, output_format, *IDS), output_format) == IDS
    assert ids_in(report(into, output_format, *IDS, "--top", "3"), output_format) == IDS[:3]


def test_the_named_come_besides_those_that_match(into: str) -> None:
    named = IDS[-3:]
    assert ids_in(report(into, "table", *named, "--match", "g.*"), "table") == [*IDS[:20], *named]


@every_format
def test_what_top_leaves_out_is_told_once_in_every_format(into: str, output_format: str) -> None:
    told = report(into, output_format, "--top", "20").stderr
    assert (told.count("20 of 34 groups"), told.count(TOLD)) == ((1, 0) if output_format == "table" else (0, 1))


def test_one_that_is_left_out_is_told_as_one(into: str) -> None:
    assert report(into, "csv", "--top", "33").stderr == "1 of 34 groups is left out: give --top 34 to have it.\n"


@every_format
def test_a_page_has_what_a_person_looks_at_beside_any_format(into: str, tmp_path: Path, output_format: str) -> None:
    page = tmp_path / "page.html"
    outcome = report(into, output_format, "--html", str(page))
    text = page.read_text(encoding="utf-8")
    assert "20 groups of 34, the worst first; 14 left out." in text
    assert (IDS[19] in text, IDS[20] in text) == (True, False)
    lacks_more = output_format != "table"
    assert len(ids_in(outcome, output_format)) == (34 if lacks_more else 20)
    assert f"The page is {page}.{f' On it, {TOLD}' if lacks_more else ''}\n" in outcome.stderr


def test_a_page_has_all_that_are_named(into: str, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert "left out" not in report(into, "json", *IDS, "--html", str(page)).stderr
    assert IDS[-1] in page.read_text(encoding="utf-8")


def test_what_is_cut_for_page_and_answer_alike_is_told_of_the_answer(into: str, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    told = report(into, "ndjson", "--top", "20", "--html", str(page)).stderr.splitlines()
    assert told == [f"The page is {page}.", TOLD]


@pytest.mark.parametrize(
    ("output_format", "more", "most"),
    [("table", (), 20), ("json", (), 1_000), ("ndjson", (), 1_000), ("csv", (), 0), ("csv", ("--html", "p"), 20)],
)
def test_points_are_read_of_groups_that_show_any_and_of_a_thousand_at_most(
    rooms: Rooms,
    into: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    output_format: str,
    more: tuple[str, ...],
    most: int,
) -> None:
    monkeypatch.chdir(tmp_path)
    report(into, output_format, *more)
    told = rooms.report.call_args.kwargs
    assert (told["drawn"], told["shown"].most) == (Cut(most), None if output_format == "csv" else most)
