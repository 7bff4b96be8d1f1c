"""Scenarios: a command, a number of groups, and whether a round trip is added."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import sleep
from typing import Final

from .change_programs import CHANGES, DELETE, RESET, GroupChange
from .lag_programs import LAG, expected_lag, programs_for_lag
from .measurement import Measurement, Run, interleave, run_checked
from .programs import KAFKAS, Digest, Program, programs_for_describe, programs_for_list
from .proxy_process import measure_round_trip_ms, start_proxy
from .workload import expected_ids, expected_rows

ROUND_TRIP_MS: Final = 20
LIST: Final = "list"
DESCRIBE: Final = "describe --all-groups"
_FEW: Final = 1_000
_SETTLE_S: Final = 2.0
_PREPARATIONS: Final = 40


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """One table of the report. `excluded` are programs that would take too long."""

    command: str
    groups: int
    delayed: bool = False
    excluded: frozenset[str] = frozenset()
    uncounted: frozenset[str] = frozenset()

    @property
    def change(self) -> GroupChange | None:
        """Return the change that the command makes, None for a command that reads."""
        return CHANGES.get(self.command)

    def programs(self) -> list[Program]:
        """Return the programs that are compared."""
        if self.change is not None:
            programs = self.change.programs(self.groups)
        elif self.command == LAG:
            programs = programs_for_lag(self.groups)
        else:
            programs = programs_for_list() if self.command == LIST else programs_for_describe()
        return [program for program in programs if program.name not in self.excluded]

    def is_slow_for(self, program: Program) -> bool:
        """Return whether a run takes minutes rather than seconds."""
        return program.is_slow and (self.delayed or self.groups > _FEW)

    def expected(self) -> Digest:
        """Return the sums of a correct output."""
        if self.change is not None:
            return self.change.printed(self.groups)
        if self.command == LAG:
            return expected_lag(self.groups)
        return expected_ids(self.groups) if self.command == LIST else expected_rows(self.groups)

    def prepare(self, bootstrap: str, *, times: int = 1) -> None:
        """Create the groups that the command changes, or move their commits back, so many times."""
        if self.change is not None:
            for _ in range(times):
                self.change.prepare(bootstrap, self.groups)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """A scenario with its measurements; the round trip is the measured time of the cheapest request."""

    scenario: Scenario
    round_trip_ms: float
    measurements: Sequence[Measurement]

    def measurement_of(self, name: str) -> Measurement | None:
        """Return the measurement of one program."""
        return next((each for each in self.measurements if each.name == name), None)


@dataclass(frozen=True, kw_only=True)
class RunPlan:
    """The number of runs of each program, and a function that reports progress."""

    runs: int
    slow_runs: int
    report: Callable[[str], None]

    def runs_of(self, scenario: Scenario, program: Program) -> int:
        """Return the number of runs of one program."""
        return self.slow_runs if scenario.is_slow_for(program) else self.runs


def list_small_scenarios(groups: int) -> list[Scenario]:
    """Return both commands, on loopback and with a round trip."""
    return [
        Scenario(command=command, groups=groups, delayed=delayed)
        for delayed in (False, True)
        for command in (LIST, DESCRIBE)
    ]


def list_change_scenarios(groups: int) -> list[Scenario]:
    """Return the commands that change all groups, on loopback."""
    return [Scenario(command=command, groups=groups) for command in (RESET, DELETE)]


def list_big_scenarios(groups: int) -> list[Scenario]:
    """Return the same with more groups, without Kafka's tool where a round trip is added.

    It sends seven requests a group, which takes 25 minutes with the round trip.
    """
    return [
        Scenario(command=LIST, groups=groups),
        Scenario(command=DESCRIBE, groups=groups),
        Scenario(command=LAG, groups=groups),
        Scenario(command=DESCRIBE, groups=groups, delayed=True, excluded=frozenset({KAFKAS})),
    ]


def list_large_scenarios(groups: int) -> list[Scenario]:
    """Return a scenario with as many groups as large clusters have.

    Kafka's tool is not run a second time to count its requests.
    """
    return [Scenario(command=DESCRIBE, groups=groups, uncounted=frozenset({KAFKAS}))]


def measure_scenario(scenario: Scenario, bootstrap: str, plan: RunPlan, *, scratch: Path) -> Outcome:
    """Measure all programs: their requests through a proxy, and their times without one unless it adds a delay."""
    requests: dict[str, Counter[str]] = {}
    expected = scenario.expected()
    programs = scenario.programs()
    with start_proxy(bootstrap, delay_ms=ROUND_TRIP_MS if scenario.delayed else 0) as proxy:
        timed_bootstrap = proxy.bootstrap if scenario.delayed else bootstrap

        def run_once(program: Program, through: str, text: str) -> Run:
            if scenario.change is not None:
                scenario.prepare(bootstrap)
                # The brokers still replicate and compile what the preparation asked of them.
                sleep(_SETTLE_S)
            plan.report(text)
            run = run_checked(program, through, expected=expected, scratch=scratch)
            if scenario.change is not None:
                scenario.change.require_made(program.name, bootstrap, scenario.groups)
            return run

        def count(program: Program) -> Run:
            run = run_once(program, proxy.bootstrap, f"{program.name} through the proxy")
            requests[program.name] = proxy.take_tally()
            return run

        def time(program: Program) -> Run:
            return run_once(program, timed_bootstrap, program.name)

        # Brokers compile what they do often; those of a cluster in service have done so.
        scenario.prepare(bootstrap, times=_PREPARATIONS)
        if not scenario.delayed:
            # This run warms the brokers up as well.
            for program in programs:
                if program.name not in scenario.uncounted:
                    count(program)
        measure = count if scenario.delayed else time
        runs = interleave(programs, measure, times=partial(plan.runs_of, scenario))
        # Later scenarios find the groups as they were.
        scenario.prepare(bootstrap)
        round_trip_ms = measure_round_trip_ms(timed_bootstrap)
    measurements = [
        Measurement(name=each.name, about=each.about, runs=runs[each.name], requests=requests.get(each.name))
        for each in programs
    ]
    return Outcome(scenario=scenario, round_trip_ms=round_trip_ms, measurements=measurements)
