"""Memory, sockets and threads of one exporter over many scrapes; brokers restart, one after the other, at the end.

python -m tests.bench.exporter.soak --minutes 30
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kafka_groups import sandbox
from tests.bench.cluster import NAME, print_progress, start_three_brokers
from tests.bench.measurement import WrongOutputError
from tests.bench.report import Verdict, format_table, format_verdicts

from .contenders import PARTITION, our_contender
from .moving_commits import keep_commits_moving
from .scrapes import GZIP, IDENTITY, RunningExporter, start_exporter, sum_samples

_BROKERS: Final = (1, 2, 3)
_MIB: Final = 1024 * 1024
_MAX_GROWTH_MIB: Final = 16
# A broker is down for this time.
_DOWN_S: Final = 5
_RECOVERY_S: Final = 60
_HEADER: Final = ("minute", "scrapes", "resident memory", "sockets", "threads", "clusters up")


@dataclass(frozen=True, kw_only=True)
class Sample:
    """What the process holds after some scrapes; `up` is the value of kafka_groups_up in the last one."""

    minute: float
    scrapes: int
    resident_mib: float
    sockets: int
    threads: int
    up: int


def main(arguments: Sequence[str] | None = None) -> int:
    """Scrape for the given time, print the samples, and return 1 if something grew."""
    options = _parser().parse_args(arguments)
    with start_three_brokers(print_progress) as (cluster, scratch):
        cluster.create_groups(options.groups)
        contender = our_contender(PARTITION)
        with start_exporter(contender, cluster.bootstrap, scratch / "exporter.log") as exporter:
            soak = Soak(exporter, options)
            quiet_s = options.minutes * 60 * 2 / 3
            with keep_commits_moving(cluster.bootstrap, options.groups):
                soak.scrape_for(quiet_s)
            soak.scrape_while_brokers_restart(scratch, options.minutes * 60 - quiet_s)
            soak.scrape_for(_RECOVERY_S)
    sys.stdout.write(format_samples(soak.samples) + "\n")
    verdicts = judge_samples(soak.samples)
    sys.stdout.write(format_verdicts(verdicts))
    return 0 if all(verdict.is_reached for verdict in verdicts) else 1


class Soak:
    """The scrapes of one exporter, and a sample of its process each tenth of the time."""

    def __init__(self, exporter: RunningExporter, options: argparse.Namespace) -> None:
        self.samples: list[Sample] = []
        self._exporter = exporter
        self._pause_s: float = options.pause
        self._period_s = options.minutes * 60 / 20
        self._start = time.monotonic()
        self._scrapes = 0

    def scrape_for(self, seconds: float) -> None:
        """Scrape for some seconds; take a sample at the end of each period."""
        end = time.monotonic() + seconds
        sample_at = time.monotonic() + self._period_s
        up = 0
        while time.monotonic() < end:
            up = self._scrape()
            if time.monotonic() >= sample_at:
                self._take_sample(up)
                sample_at += self._period_s
            time.sleep(self._pause_s)
        self._take_sample(up)

    def scrape_while_brokers_restart(self, home: Path, seconds: float) -> None:
        """Stop and start one broker after the other, and scrape meanwhile."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for broker in _BROKERS:
                print_progress(f"broker {broker} restarts")
                sandbox.stop_broker(broker, NAME, home=home)
                self.scrape_for(_DOWN_S)
                sandbox.start_broker(broker, NAME, home=home)
                self.scrape_for(_DOWN_S)

    def _scrape(self) -> int:
        self._scrapes += 1
        _, body = self._exporter.scrape(GZIP if self._scrapes % 2 else IDENTITY)
        count, up = sum_samples(body, "kafka_groups_up")
        if count != 1:
            text = f"scrape {self._scrapes} has {count} samples of kafka_groups_up"
            raise WrongOutputError(text)
        return up

    def _take_sample(self, up: int) -> None:
        process = self._exporter.process
        with process.oneshot():
            self.samples.append(
                Sample(
                    minute=(time.monotonic() - self._start) / 60,
                    scrapes=self._scrapes,
                    resident_mib=process.memory_info().rss / _MIB,
                    sockets=len(process.net_connections(kind="tcp")),
                    threads=process.num_threads(),
                    up=up,
                )
            )


def format_samples(samples: Sequence[Sample]) -> str:
    """Return a table with a line for each sample."""
    rows = [
        (
            f"{sample.minute:.1f}",
            f"{sample.scrapes:,}",
            f"{sample.resident_mib:.0f} MiB",
            str(sample.sockets),
            str(sample.threads),
            str(sample.up),
        )
        for sample in samples
    ]
    return "\n".join([*format_table([_HEADER, *rows]), ""])


def judge_samples(samples: Sequence[Sample]) -> list[Verdict]:
    """Return a verdict on memory, sockets and threads: those of the last sample, and the largest of the first ones.

    The first ones are two thirds of the samples: the exporter keeps polls of some hours, and failures of many groups
    take memory that the next ones take again.
    """
    first = samples[: max(2 * len(samples) // 3, 1)]
    last = samples[-1]
    growth_mib = last.resident_mib - max(sample.resident_mib for sample in first)
    sockets = max(sample.sockets for sample in first)
    threads = max(sample.threads for sample in first)
    return [
        Verdict(
            target=f"memory grows by at most {_MAX_GROWTH_MIB} MiB in {last.scrapes:,} scrapes",
            measured=f"{growth_mib:+.1f} MiB",
            is_reached=growth_mib <= _MAX_GROWTH_MIB,
        ),
        Verdict(
            target=f"not more than {sockets} sockets at the end",
            measured=str(last.sockets),
            is_reached=last.sockets <= sockets,
        ),
        Verdict(
            target=f"not more than {threads} threads at the end",
            measured=str(last.threads),
            is_reached=last.threads <= threads,
        ),
        Verdict(target="the cluster is up at the end", measured=str(last.up), is_reached=last.up == 1),
    ]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.exporter.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30, help="how long; brokers restart in the last third")
    parser.add_argument("--groups", type=int, default=1_000, help="of 12 partitions (default: %(default)s)")
    parser.add_argument("--pause", type=float, default=0.5, help="seconds between scrapes (default: %(default)s)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
