"""The benchmark, `python -m tests.bench`: all scenarios, then the targets. Exit code 1 if a target was missed."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from .cluster import BenchCluster, print_progress, start_three_brokers
from .polls import Polls, format_polls, judge_polls, measure_polls
from .report import describe_machine, format_section, format_summary, format_verdicts, judge_targets
from .scenarios import (
    Outcome,
    RunPlan,
    Scenario,
    list_big_scenarios,
    list_change_scenarios,
    list_large_scenarios,
    list_small_scenarios,
    measure_scenario,
)
from .start import Start, format_start, judge_start, measure_start

_SMALL, _BIG, _LARGE = 1_000, 10_000, 65_000


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure all scenarios, print the report, and return the exit code."""
    options = _parser().parse_args(arguments)
    if options.large:
        scenarios = list_large_scenarios(options.groups or _LARGE)
    else:
        big = options.groups or _BIG
        small = min(big, _SMALL)
        scenarios = [*list_small_scenarios(small), *list_change_scenarios(small), *list_big_scenarios(big)]
    plan = RunPlan(runs=options.runs, slow_runs=options.slow_runs, report=print_progress)
    outcomes, start, polls = _measure_all(scenarios, plan, is_large=options.large)
    _print(format_summary(outcomes))
    verdicts = [
        *judge_targets(outcomes),
        *([] if start is None else judge_start(start)),
        *([] if polls is None else judge_polls(polls)),
    ]
    _print(format_verdicts(verdicts))
    return 0 if all(verdict.is_reached for verdict in verdicts) else 1


def _measure_all(
    scenarios: Sequence[Scenario], plan: RunPlan, *, is_large: bool
) -> tuple[list[Outcome], Start | None, Polls | None]:
    outcomes: list[Outcome] = []
    start: Start | None = None
    polls: Polls | None = None
    with start_three_brokers(plan.report) as (cluster, scratch):
        _print(describe_machine() + "\n")
        if not is_large:
            polls = _measure_polls(cluster, min(_SMALL, scenarios[-1].groups), scratch, plan)
        for scenario in scenarios:
            cluster.create_groups(scenario.groups)
            outcomes.append(measure_scenario(scenario, cluster.bootstrap, plan, scratch=scratch))
            _print(format_section(outcomes[-1]))
        if not is_large:
            groups = max(scenario.groups for scenario in scenarios)
            start = measure_start(cluster.bootstrap, groups=groups, scratch=scratch, report=plan.report)
            _print(format_start(start))
    return outcomes, start, polls


def _measure_polls(cluster: BenchCluster, groups: int, scratch: Path, plan: RunPlan) -> Polls:
    cluster.create_groups(groups)
    polls = measure_polls(cluster.bootstrap, groups=groups, scratch=scratch, report=plan.report)
    _print(format_polls(polls))
    return polls


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--large", action="store_true", help=f"describe {_LARGE:,} groups instead")
    parser.add_argument("--runs", type=int, default=5, help="runs of each program (default: %(default)s)")
    parser.add_argument(
        "--slow-runs", type=int, default=1, help="runs where Kafka's tool takes minutes (default: %(default)s)"
    )
    parser.add_argument("--groups", type=int, help="number of groups, to try the bench out; targets do not apply")
    return parser


def _print(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
