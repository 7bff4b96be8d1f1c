"""The bench itself: whose answer counts, who runs how often, what it calls reached."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest

from .contenders import CONFLUENT, KAFKAS, OURS, Contender, Digest, describing, listing
from .fill import expected_rows
from .measure import Measured, Run, WrongAnswerError, interleave, run_checked
from .report import conclusion, section, verdicts
from .scenarios import DESCRIBE, LIST, Outcome, Patience, Scenario, large_scenarios, small_scenarios


class TestRuns:
    def _python(self, code: str) -> Contender:
        return Contender(
            name="x",
            about="",
            command=lambda bootstrap: [sys.executable, "-I", "-S", "-c", code, bootstrap],
            digest=lambda path: Digest(rows=1, sums=(int(path.read_text()),)),
        )

    def test_tell_time_and_peak_memory_of_the_program_alone(self, tmp_path: Path) -> None:
        code = "import time; held = b'x' * 64_000_000; time.sleep(0.2); print(7)"

        run = run_checked(self._python(code), "b", expected=Digest(rows=1, sums=(7,)), scratch=tmp_path)
        small = run_checked(self._python("print(7)"), "b", expected=Digest(rows=1, sums=(7,)), scratch=tmp_path)

        assert run.seconds >= 0.2
        assert run.peak_mib > 61 > small.peak_mib

    @pytest.mark.parametrize("code", ["print(8)", "print(7); raise SystemExit(3)"])
    def test_that_answer_less_do_not_count(self, code: str, tmp_path: Path) -> None:
        with pytest.raises(WrongAnswerError, match="x ended with"):
            run_checked(self._python(code), "b", expected=Digest(rows=1, sums=(7,)), scratch=tmp_path)

    def test_are_taken_in_turns(self) -> None:
        order: list[str] = []

        def run(contender: Contender) -> Run:
            order.append(contender.name)
            return Run(seconds=1, peak_mib=1)

        runs = interleave(describing(), run, times=lambda contender: 1 if contender.name == KAFKAS else 2)

        assert order[:4] == [contender.name for contender in describing()]
        assert {name: len(taken) for name, taken in runs.items()}[KAFKAS] == 1
        assert len(runs[OURS]) == 2

    def test_of_minutes_are_few(self) -> None:
        patience = Patience(runs=5, slow_runs=1, tell=lambda _: None)
        times = {
            (scenario.delayed, contender.name): patience.times(scenario, contender)
            for scenario in small_scenarios(1_000)
            if scenario.question == DESCRIBE
            for contender in scenario.contenders()
        }

        assert times[True, KAFKAS] == 1
        assert times[False, KAFKAS] == times[True, OURS] == 5


class TestAnswers:
    def test_of_tables_add_up_whoever_prints_them(self, tmp_path: Path) -> None:
        kafkas = tmp_path / "answer.txt"
        kafkas.write_text(
            "\nGROUP  TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG CONSUMER-ID HOST CLIENT-ID\n"
            "g1     t     0         5              9              4   -           -    -\n"
            "g1     t     1         6              9              3   -           -    -\n"
        )

        assert describing()[1].digest(kafkas) == Digest(rows=2, sums=(11, 18))

    def test_of_lists_may_stand_in_any_order(self, tmp_path: Path) -> None:
        one, other = tmp_path / "1", tmp_path / "2"
        one.write_text("a\nb\n")
        other.write_text("\nb \na \n")

        assert listing()[0].digest(one) == listing()[1].digest(other)

    def test_expected_of_many_groups(self) -> None:
        assert expected_rows(2) == Digest(rows=24, sums=(sum(range(24)), 24_000))


class TestTargets:
    def _outcome(
        self, scenario: Scenario, seconds: dict[str, float], *, requests: int = 24, mib: float = 50
    ) -> Outcome:
        measured = [
            Measured(
                name=name,
                about="",
                runs=[Run(seconds=taken, peak_mib=mib)] * 3,
                requests=Counter({"Metadata": requests}),
            )
            for name, taken in seconds.items()
        ]
        return Outcome(scenario=scenario, round_trip_ms=0.1, measured=measured)

    def test_of_time_are_judged_by_medians(self) -> None:
        scenario = Scenario(question=DESCRIBE, groups=10_000)

        told = verdicts([self._outcome(scenario, {OURS: 1.0, KAFKAS: 25.0, CONFLUENT: 1.0})])

        assert [(verdict.is_reached, verdict.measured) for verdict in told] == [
            (True, "1/25.0"),
            (False, "1.00 s, 1.00 s"),
        ]
        assert "- MISSED: " in conclusion(told)

    @pytest.mark.parametrize(("requests", "is_reached"), [(24, True), (25, False)])
    def test_of_requests(self, requests: int, *, is_reached: bool) -> None:
        scenario = Scenario(question=DESCRIBE, groups=1_000, delayed=True)

        told = verdicts([self._outcome(scenario, {OURS: 1.0, KAFKAS: 100.0}, requests=requests)])

        assert [verdict.is_reached for verdict in told] == [True, is_reached]

    @pytest.mark.parametrize(("mib", "is_reached"), [(299.0, True), (300.0, False)])
    def test_of_memory(self, mib: float, *, is_reached: bool) -> None:
        told = verdicts([self._outcome(large_scenarios(65_000)[0], {OURS: 1.0, KAFKAS: 19.0}, mib=mib)])

        assert [verdict.is_reached for verdict in told] == [False, is_reached]

    def test_hold_for_the_scenario_that_they_name_only(self) -> None:
        smaller = Scenario(question=LIST, groups=200)

        assert verdicts([self._outcome(smaller, {OURS: 1.0, KAFKAS: 1.0})]) == []

    def test_tables_stand_beside_ours(self) -> None:
        text = section(self._outcome(Scenario(question=LIST, groups=1_000), {OURS: 0.5, KAFKAS: 2.0}))

        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"]
        assert rows[0][-1] == "times ours"
        assert [row[-1] for row in rows[2:]] == ["1.0", "4.0"]
        assert text.splitlines()[-1] == "Requests of kafka-groups: 24 Metadata."
