"""Scrape the exporters in turns, print the report, and return 1 if a target was missed."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from tests.bench.cluster import print_progress, start_three_brokers
from tests.bench.lag_programs import expected_lag
from tests.bench.measurement import WrongOutputError
from tests.bench.report import describe_machine, format_verdicts

from .contenders import Contender, contenders
from .moving_commits import keep_commits_moving
from .scrape_table import GROUPS, Series, format_scrapes, judge_scrapes
from .scrapes import GZIP, IDENTITY, RunningExporter, Scrape, start_exporter, sum_samples

_ENCODINGS: Final = (IDENTITY, GZIP)
_WARM_UPS: Final = 5


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure all exporters, print the report, and return the exit code."""
    options = _parser().parse_args(arguments)
    with start_three_brokers(print_progress) as (cluster, scratch):
        cluster.create_groups(options.groups)
        sys.stdout.write(describe_machine() + "\n\n")
        with ExitStack() as stack:
            running = [
                stack.enter_context(start_exporter(contender, cluster.bootstrap, _log(scratch, contender)))
                for contender in contenders(options.kminion, options.kafka_exporter)
            ]
            for exporter in running:
                _check_sum(exporter, options.groups)
            with keep_commits_moving(cluster.bootstrap, options.groups):
                _warm_up(running)
                results = _scrape_in_turns(running, options)
    sys.stdout.write(format_scrapes(options.groups, results) + "\n")
    verdicts = judge_scrapes(options.groups, results)
    sys.stdout.write(format_verdicts(verdicts))
    return 0 if all(verdict.is_reached for verdict in verdicts) else 1


def _check_sum(exporter: RunningExporter, groups: int) -> None:
    """Compare the lag of all groups with the expected one; this scrape is not measured."""
    print_progress(f"first scrape of {' by '.join(exporter.contender.key)}")
    _, body = exporter.scrape(IDENTITY)
    found = sum_samples(body, exporter.contender.series)
    expected = (groups * exporter.contender.samples_of_group, *expected_lag(groups).sums)
    if found != expected:
        msg = f"{exporter.contender.key} has {found} instead of {expected}"
        raise WrongOutputError(msg)


def _warm_up(running: Sequence[RunningExporter]) -> None:
    """Scrape some times without a measurement: brokers that have just started still compile their code."""
    print_progress("scrapes that warm up the brokers")
    for _ in range(_WARM_UPS):
        for exporter in running:
            if not exporter.contender.is_slow:
                exporter.scrape(IDENTITY)


def _scrape_in_turns(running: Sequence[RunningExporter], options: argparse.Namespace) -> list[Series]:
    scrapes: dict[tuple[tuple[str, str], str], list[Scrape]] = {}
    for turn in range(options.runs):
        print_progress(f"turn {turn + 1} of {options.runs}")
        for exporter in running:
            if exporter.contender.is_slow and turn >= options.slow_runs:
                continue
            for encoding in _ENCODINGS:
                scrape, body = exporter.scrape(encoding)
                count, _ = sum_samples(body, exporter.contender.series)
                if count != options.groups * exporter.contender.samples_of_group:
                    msg = f"{exporter.contender.key} has {count} samples of the lag"
                    raise WrongOutputError(msg)
                scrapes.setdefault((exporter.contender.key, encoding), []).append(scrape)
    return [
        Series(
            name=exporter.contender.name,
            by=exporter.contender.by,
            scrapes={encoding: scrapes[exporter.contender.key, encoding] for encoding in _ENCODINGS},
            peak_mib=exporter.peak_mib(),
        )
        for exporter in running
    ]


def _log(scratch: Path, contender: Contender) -> Path:
    return scratch / f"{contender.name.replace(' ', '')}-{contender.by}.log"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.exporter", description=__doc__)
    parser.add_argument("--kminion", metavar="PATH", help="the program, built from its sources")
    parser.add_argument("--kafka-exporter", metavar="PATH", help="the program, built from its sources")
    parser.add_argument("--runs", type=int, default=10, help="scrapes with each encoding (default: %(default)s)")
    parser.add_argument("--slow-runs", type=int, default=2, help="the same of slow exporters (default: %(default)s)")
    parser.add_argument("--groups", type=int, default=GROUPS, help="targets apply to %(default)s only")
    return parser


if __name__ == "__main__":
    sys.exit(main())
