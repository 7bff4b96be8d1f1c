"""`python -m tests.bench`: all scenarios, then what was reached. Exit code 1 if a target was missed."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from .cluster import tell, three_brokers
from .report import conclusion, machine, section, verdicts
from .scenarios import Outcome, Patience, Scenario, big_scenarios, large_scenarios, play, small_scenarios

_SMALL, _BIG, _LARGE = 1_000, 10_000, 65_000


def main(arguments: Sequence[str] | None = None) -> int:
    """Play, print, judge."""
    options = _parser().parse_args(arguments)
    if options.large:
        scenarios = large_scenarios(options.groups or _LARGE)
    else:
        big = options.groups or _BIG
        scenarios = [*small_scenarios(min(big, _SMALL)), *big_scenarios(big)]
    outcomes = _play_all(scenarios, Patience(runs=options.runs, slow_runs=options.slow_runs, tell=tell))
    reached = verdicts(outcomes)
    _print(conclusion(reached))
    return 0 if all(verdict.is_reached for verdict in reached) else 1


def _play_all(scenarios: Sequence[Scenario], patience: Patience) -> list[Outcome]:
    outcomes: list[Outcome] = []
    with three_brokers(patience.tell) as (filling, scratch):
        _print(machine() + "\n")
        for scenario in scenarios:
            filling.reach(scenario.groups)
            outcomes.append(play(scenario, filling.bootstrap, patience, scratch=scratch))
            _print(section(outcomes[-1]))
    return outcomes


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--large", action="store_true", help=f"describe {_LARGE:,} groups instead")
    parser.add_argument("--runs", type=int, default=5, help="runs of each contender (default: %(default)s)")
    parser.add_argument(
        "--slow-runs", type=int, default=1, help="runs where Kafka's tool takes minutes (default: %(default)s)"
    )
    parser.add_argument("--groups", type=int, help="so many groups, to try the bench out; no target holds for it")
    return parser


def _print(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
