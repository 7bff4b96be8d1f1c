"""The bench itself: which output is correct, how often a program runs, and when a target is reached."""

from __future__ import annotations

import shutil
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from . import change_programs
from .change_programs import CHANGES, DELETE, RESET, expected_resets, programs_for_delete, programs_for_reset
from .measurement import Measurement, Run, WrongOutputError, interleave, run_checked
from .programs import CONFLUENT, KAFKAS, KCL, OURS, Digest, Program, programs_for_describe, programs_for_list
from .report import format_section, format_summary, format_verdicts, judge_targets
from .scenarios import (
    DESCRIBE,
    LIST,
    Outcome,
    RunPlan,
    Scenario,
    list_change_scenarios,
    list_large_scenarios,
    list_small_scenarios,
)
from .start import CLICK, GROUPS, HELP, Start, digest_of_kcl, format_start, judge_start
from .start import LIST as INSTALLED_LIST
from .workload import expected_rows


class TestRuns:
    def _python(self, code: str) -> Program:
        return Program(
            name="x",
            about="",
            command=lambda bootstrap: [sys.executable, "-I", "-S", "-c", code, bootstrap],
            digest=lambda path: Digest(rows=1, sums=(int(path.read_text()),)),
        )

    def test_a_run_has_the_time_and_the_peak_memory_of_the_program_alone(self, tmp_path: Path) -> None:
        code = "import time; held = b'x' * 64_000_000; time.sleep(0.2); print(7)"

        run = run_checked(self._python(code), "b", expected=Digest(rows=1, sums=(7,)), scratch=tmp_path)
        small = run_checked(self._python("print(7)"), "b", expected=Digest(rows=1, sums=(7,)), scratch=tmp_path)

        assert run.seconds >= 0.2
        assert run.peak_mib > 61 > small.peak_mib

    @pytest.mark.parametrize("code", ["print(8)", "print(7); raise SystemExit(3)"])
    def test_a_program_that_fails_or_prints_other_sums_is_an_error(self, code: str, tmp_path: Path) -> None:
        with pytest.raises(WrongOutputError, match="x ended with"):
            run_checked(self._python(code), "b", expected=Digest(rows=1, sums=(7,)), scratch=tmp_path)

    def test_programs_run_in_turns(self) -> None:
        order: list[str] = []

        def run(program: Program) -> Run:
            order.append(program.name)
            return Run(seconds=1, peak_mib=1)

        runs = interleave(programs_for_describe(), run, times=lambda program: 1 if program.name == KAFKAS else 2)

        assert order[:4] == [program.name for program in programs_for_describe()]
        assert {name: len(taken) for name, taken in runs.items()}[KAFKAS] == 1
        assert len(runs[OURS]) == 2

    def test_a_program_that_takes_minutes_runs_less_often(self) -> None:
        plan = RunPlan(runs=5, slow_runs=1, report=lambda _: None)
        times = {
            (scenario.delayed, program.name): plan.runs_of(scenario, program)
            for scenario in list_small_scenarios(1_000)
            if scenario.command == DESCRIBE
            for program in scenario.programs()
        }

        assert times[True, KAFKAS] == 1
        assert times[False, KAFKAS] == times[True, OURS] == 5

    def test_the_journal_of_a_change_is_in_the_scratch_directory(self, tmp_path: Path) -> None:
        code = "import os, sys; print(int(os.environ['XDG_STATE_HOME'] == sys.argv[1]))"

        run_checked(self._python(code), str(tmp_path / "state"), expected=Digest(rows=1, sums=(1,)), scratch=tmp_path)


class TestChanges:
    def test_both_tables_of_a_reset_have_the_same_sums(self, tmp_path: Path) -> None:
        ours, kafkas = tmp_path / "ours", tmp_path / "kafkas"
        ours.write_text(
            "GROUP TOPIC PARTITION CURRENT-OFFSET NEW-OFFSET DELTA NOTE STATUS\n"
            "g1    t             0              0       1000  1000 -    done\n"
            "g1    t             1           1000       1000     0 unchanged done\n"
        )
        kafkas.write_text("\nGROUP TOPIC PARTITION NEW-OFFSET\ng1 t 1 1000\ng1 t 0 1000\n")

        digests = [program.digest(output) for program, output in zip(programs_for_reset(), (ours, kafkas), strict=True)]

        assert digests == [Digest(rows=2, sums=(2000,))] * 2

    def test_a_reset_leaves_all_commits_at_the_log_end_and_a_deletion_none(self) -> None:
        assert expected_resets(2) == Digest(rows=24, sums=(24_000,))
        assert CHANGES[RESET].groups_left(2) == 2
        assert (CHANGES[DELETE].commits_left(2), CHANGES[DELETE].groups_left(2)) == (Digest(rows=0, sums=(0,)), 0)

    def test_a_program_that_leaves_another_state_is_an_error(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(change_programs, "fetch_commits", lambda *_: Digest(rows=24, sums=(23_999,)))
        monkeypatch.setattr(change_programs, "list_groups", lambda _: {"bench-group-000000", "bench-group-000001"})

        with pytest.raises(RuntimeError, match=r"x left 2 groups with .*23999"):
            CHANGES[RESET].require_made("x", "b", 2)

    def test_groups_of_others_are_not_counted(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(change_programs, "fetch_commits", lambda *_: Digest(rows=0, sums=(0,)))
        monkeypatch.setattr(change_programs, "list_groups", lambda _: {"other"})

        CHANGES[DELETE].require_made("x", "b", 2)

    @pytest.mark.parametrize("is_installed", [False, True])
    def test_kcl_deletes_groups_by_name_where_it_is_installed(
        self, monkeypatch: pytest.MonkeyPatch, *, is_installed: bool
    ) -> None:
        monkeypatch.setattr(shutil, "which", lambda _: "/bin/kcl" if is_installed else None)

        programs = {program.name: program for program in programs_for_delete(2)}

        assert (KCL in programs) == is_installed
        if is_installed:
            assert programs[KCL].command("b")[-4:] == ["group", "delete", "bench-group-000000", "bench-group-000001"]


class TestOutputs:
    def test_a_table_of_kafkas_tool_is_summed(self, tmp_path: Path) -> None:
        output = tmp_path / "output.txt"
        output.write_text(
            "\nGROUP  TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG CONSUMER-ID HOST CLIENT-ID\n"
            "g1     t     0         5              9              4   -           -    -\n"
            "g1     t     1         6              9              3   -           -    -\n"
        )

        assert programs_for_describe()[1].digest(output) == Digest(rows=2, sums=(11, 18))

    def test_lists_in_any_order_are_equal(self, tmp_path: Path) -> None:
        one, other = tmp_path / "1", tmp_path / "2"
        one.write_text("a\nb\n")
        other.write_text("\nb \na \n")

        assert programs_for_list()[0].digest(one) == programs_for_list()[1].digest(other)

    def test_the_expected_sums_are_those_of_all_rows(self) -> None:
        assert expected_rows(2) == Digest(rows=24, sums=(sum(range(24)), 24_000))


class TestTargets:
    def _outcome(
        self, scenario: Scenario, seconds: dict[str, float], *, requests: int = 24, mib: float = 50
    ) -> Outcome:
        measurements = [
            Measurement(
                name=name,
                about="",
                runs=[Run(seconds=median_s, peak_mib=mib)] * 3,
                requests=Counter({"Metadata": requests}),
            )
            for name, median_s in seconds.items()
        ]
        return Outcome(scenario=scenario, round_trip_ms=0.1, measurements=measurements)

    def test_targets_of_time_compare_medians(self) -> None:
        scenario = Scenario(command=DESCRIBE, groups=10_000)

        verdicts = judge_targets([self._outcome(scenario, {OURS: 1.0, KAFKAS: 25.0, CONFLUENT: 1.0})])

        assert [(verdict.is_reached, verdict.measured) for verdict in verdicts] == [
            (True, "1/25.0"),
            (False, "1.00 s, 1.00 s"),
        ]
        assert "- MISSED: " in format_verdicts(verdicts)

    @pytest.mark.parametrize(("requests", "is_reached"), [(24, True), (25, False)])
    def test_a_target_of_requests_is_below_25(self, requests: int, *, is_reached: bool) -> None:
        scenario = Scenario(command=DESCRIBE, groups=1_000, delayed=True)

        verdicts = judge_targets([self._outcome(scenario, {OURS: 1.0, KAFKAS: 100.0}, requests=requests)])

        assert [verdict.is_reached for verdict in verdicts] == [True, is_reached]

    @pytest.mark.parametrize(("mib", "is_reached"), [(299.0, True), (300.0, False)])
    def test_a_target_of_memory_is_below_300_mib(self, mib: float, *, is_reached: bool) -> None:
        verdicts = judge_targets([self._outcome(list_large_scenarios(65_000)[0], {OURS: 1.0, KAFKAS: 19.0}, mib=mib)])

        assert [verdict.is_reached for verdict in verdicts] == [False, is_reached]

    @pytest.mark.parametrize(
        ("requests", "is_reached"),
        [
            ({"OffsetCommit": 1_000, "ListOffsets": 6, "ApiVersions": 25}, True),
            ({"OffsetCommit": 1_001}, False),
            ({"OffsetCommit": 1_000, "ListOffsets": 7}, False),
            ({"ListOffsets": 6}, False),
        ],
    )
    def test_a_target_of_a_change_is_one_request_a_group_and_all_else_batched(
        self, requests: dict[str, int], *, is_reached: bool
    ) -> None:
        outcome = self._outcome(list_change_scenarios(1_000)[0], {OURS: 1.0, KAFKAS: 10.0})
        counted = [replace(each, requests=Counter(requests)) for each in outcome.measurements]

        verdicts = judge_targets([replace(outcome, measurements=counted)])

        assert [verdict.is_reached for verdict in verdicts] == [True, is_reached]

    def test_a_target_applies_to_its_own_scenario_only(self) -> None:
        smaller = Scenario(command=LIST, groups=200)

        assert judge_targets([self._outcome(smaller, {OURS: 1.0, KAFKAS: 1.0})]) == []

    def test_a_table_compares_each_program_with_ours(self) -> None:
        text = format_section(self._outcome(Scenario(command=LIST, groups=1_000), {OURS: 0.5, KAFKAS: 2.0}))

        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"]
        assert rows[0][-1] == "times ours"
        assert [row[-1] for row in rows[2:]] == ["1.0", "4.0"]
        assert text.splitlines()[-1] == "Requests of kafka-groups: 24 Metadata."

    def test_a_program_that_is_not_installed_is_named(self) -> None:
        deletion = list_change_scenarios(60)[1]

        without = format_section(self._outcome(deletion, {OURS: 0.5, KAFKAS: 2.0}))
        beside = format_section(self._outcome(deletion, {OURS: 0.5, KAFKAS: 2.0, KCL: 0.4}))

        assert without.splitlines()[-1] == "kcl is not installed, so it is skipped."
        assert "skipped" not in beside

    def test_the_summary_has_a_line_for_each_scenario_and_a_column_for_each_program(self) -> None:
        listed = self._outcome(Scenario(command=LIST, groups=1_000), {OURS: 0.5, KAFKAS: 2.0})
        delayed = Scenario(command=DESCRIBE, groups=10_000, delayed=True)
        text = format_summary([listed, self._outcome(delayed, {OURS: 1.25})])

        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()]
        assert rows[0] == ["command, groups, round trip", OURS, KAFKAS]
        assert rows[2:] == [
            ["`list`, 1,000, loopback", "0.50 s, 24 requests", "2.00 s, 24 requests"],
            ["`describe --all-groups`, 10,000, 0 ms", "1.25 s, 24 requests", ""],
        ]


class TestStart:
    def _start(self, seconds: dict[str, float], groups: int = GROUPS) -> Start:
        measurements = [
            Measurement(name=name, about="x", runs=[Run(seconds=median_s, peak_mib=1)] * 3)
            for name, median_s in seconds.items()
        ]
        return Start(groups=groups, round_trip_ms=0.1, measurements=measurements)

    def test_the_targets_are_ratios_of_medians(self) -> None:
        start = self._start({CLICK: 0.05, HELP: 0.1, INSTALLED_LIST: 0.13, KAFKAS: 0.6, CONFLUENT: 0.1, KCL: 0.1})

        assert [(verdict.target, verdict.measured, verdict.is_reached) for verdict in judge_start(start)] == [
            ("kafka-groups --help: at most 2 times import click", "2.00", True),
            ("kafka-groups list: at most 0.2 times ConsumerGroupCommand", "0.22", False),
            ("kafka-groups list: at most 1.2 times kcl", "1.30", False),
        ]

    def test_without_kcl_a_call_of_librdkafka_is_the_measure(self) -> None:
        start = self._start({CLICK: 0.05, HELP: 0.1, INSTALLED_LIST: 0.1, KAFKAS: 0.6, CONFLUENT: 0.1})

        assert judge_start(start)[-1].target == "kafka-groups list: at most 1.45 times confluent-kafka"

    def test_with_another_number_of_groups_there_are_no_targets(self) -> None:
        assert judge_start(self._start({CLICK: 0.05, HELP: 0.1}, groups=500)) == []

    def test_the_table_has_the_floor_beside_the_programs(self) -> None:
        text = format_start(self._start({CLICK: 0.05, HELP: 0.06}))

        assert "start, installed wheel, 10,000 groups, 15 runs (a round trip: 0.1 ms)" in text
        assert "| import click (x)        |       0.050 s (0.050 to 0.050) |                1.0 |" in text
        assert "| kafka-groups --help (x) |       0.060 s (0.060 to 0.060) |                1.2 |" in text

    def test_a_table_of_kcl_has_the_same_sums_as_a_list(self, tmp_path: Path) -> None:
        table, ids = tmp_path / "table", tmp_path / "ids"
        table.write_text(
            "BROKER  GROUP-ID  PROTO-TYPE  GROUP-TYPE  STATE  ERROR\n1  b   classic  Empty\n2  a   classic  Empty\n"
        )
        ids.write_text("a\nb\n")

        assert digest_of_kcl(table) == programs_for_list()[0].digest(ids)
