"""The measurements of lag: which output is correct, and when a target is reached."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from . import polls as polls_module
from .lag_programs import LAG, OUR_DESCRIBE, digest_of_kcl_lag, expected_lag, programs_for_lag
from .measurement import Measurement, Run, WrongOutputError, run_stopwatch
from .polls import Polls, format_polls, judge_polls, measure_polls
from .programs import KCL, OURS
from .report import format_section, judge_targets
from .scenarios import Outcome, Scenario
from .workload import WIDE_PARTITIONS

_ROW = '{"time_lag_quality": "exact", "time_lag_ms": 7}'
GROUPS_TABLE = "GROUP  STATE  MEMBERS  LAG  NOTE\na  Empty  0  11934  -\nb  Empty  0  11790  -\n"
PARTITIONS_TABLE = (
    "\nGROUP  TOPIC  PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG\na  t  0  1  9  11934\n\nb  t  0  2  9  11790\n"
)


def test_both_commands_print_the_same_lag(tmp_path: Path) -> None:
    output = tmp_path / "output"
    for program, text in zip(programs_for_lag(2)[:2], (GROUPS_TABLE, PARTITIONS_TABLE), strict=True):
        output.write_text(text)
        assert program.digest(output) == expected_lag(2)


@pytest.mark.parametrize(("rows", "is_right"), [(24, True), (23, False), (0, False)])
def test_of_kcl_the_rows_are_counted(tmp_path: Path, rows: int, *, is_right: bool) -> None:
    output = tmp_path / "output"
    output.write_text("t\t0\t1\t9\t8\t\t\t\n" * rows)
    assert (digest_of_kcl_lag(output, 2) == expected_lag(2)) is is_right


@pytest.mark.parametrize("path", [None, "/bin/kcl"])
def test_kcl_is_measured_where_it_is_installed(monkeypatch: pytest.MonkeyPatch, path: str | None) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: path)
    assert (KCL in {program.name for program in programs_for_lag(1)}) is (path is not None)


@pytest.mark.parametrize(("describe_s", "is_reached"), [(1.1, True), (1.0, False)])
def test_lag_of_10_000_groups_takes_less_time_than_describe(describe_s: float, *, is_reached: bool) -> None:
    measurements = [
        Measurement(name=name, about="", runs=[Run(seconds=seconds, peak_mib=1)])
        for name, seconds in ((OURS, 1.0), (OUR_DESCRIBE, describe_s))
    ]
    outcome = Outcome(scenario=Scenario(command=LAG, groups=10_000), round_trip_ms=0.1, measurements=measurements)

    assert [verdict.is_reached for verdict in judge_targets([outcome])] == [is_reached]
    assert format_section(outcome).splitlines()[-1] == "kcl is not installed, so it is skipped."


@pytest.mark.parametrize(("share", "time_s", "reached"), [(0.049, 5.0, [True, True]), (0.05, 5.1, [False, False])])
def test_polls_have_targets(share: float, time_s: float, reached: list[bool]) -> None:
    polls = Polls(groups=1_000, shares=[0.0, share, 9.0], times_s=[0.0, time_s, 9.0])

    assert [verdict.is_reached for verdict in judge_polls(polls)] == reached
    assert f"{100 * share:.1f} % of a core (0.0 to 900.0)" in format_polls(polls)
    assert f"{time_s:.2f} s (0.00 to 9.00)" in format_polls(polls)


def test_the_processor_time_of_the_first_poll_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(command: list[str], output: Path) -> dict[str, float]:
        if "--time" in command:
            output.write_text(f'{{"groups": [{{"rows": [{", ".join([_ROW] * WIDE_PARTITIONS)}]}}]}}')
            return {"seconds": 0.5}
        samples = int(command[command.index("--samples") + 1])
        output.write_text("bench-group-000000  Empty\n" * samples)
        return {"cpu_seconds": 0.4 + 0.1 * samples}

    monkeypatch.setattr(polls_module, "run_stopwatch", run)
    for name in ("create_wide_group", "remove_wide_group"):
        monkeypatch.setattr(polls_module, name, lambda _: None)

    polls = measure_polls("b", groups=1, scratch=tmp_path, report=lambda _: None)

    assert [round(share, 6) for share in polls.shares] == [0.02] * 3
    assert polls.times_s == [0.5] * 3


def test_a_watch_that_printed_less_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(_: list[str], output: Path) -> dict[str, float]:
        output.write_text("bench-group-000000  Empty\n")
        return {"cpu_seconds": 0.1}

    monkeypatch.setattr(polls_module, "run_stopwatch", run)
    with pytest.raises(WrongOutputError, match="7 polls printed 1 rows"):
        measure_polls("b", groups=1, scratch=tmp_path, report=lambda _: None)


def test_the_stopwatch_measures_processor_time(tmp_path: Path) -> None:
    output = tmp_path / "output"
    code = "import time; end = time.process_time() + 0.3\nwhile time.process_time() < end: pass\ntime.sleep(0.3)"
    found = run_stopwatch([sys.executable, "-I", "-S", "-c", code], output)
    assert 0.3 <= found["cpu_seconds"] < 0.55 < found["seconds"]
