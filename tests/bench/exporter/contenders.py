"""The exporters that are compared: how they start, and the series of the lag that a complete scrape of each has."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from tests.bench.programs import OURS, find_ours
from tests.bench.workload import PARTITIONS

KMINION: Final = "kminion"
KAFKA_EXPORTER: Final = "kafka_exporter"
GROUP: Final = "group"
PARTITION: Final = "partition"
# No other exporter has them, so that they have no target.
VERDICTS: Final = "--verdicts"
HOST: Final = "127.0.0.1"


@dataclass(frozen=True, kw_only=True)
class Contender:
    """An exporter: its command line and its variables for a bootstrap list and a port.

    `by` is what a series is for; an exporter by topic stands beside ours by group, because each group of the bench has
    one topic. `series` is the metric of the lag, of which a scrape has `samples_of_group` a group. `is_slow` marks an
    exporter that sends several requests a group.
    """

    name: str
    by: str
    command: Callable[[str, int], Sequence[str]]
    series: str
    samples_of_group: int
    environment: Callable[[str, int], Mapping[str, str]] = field(default=lambda _bootstrap, _port: {})
    is_slow: bool = False

    @property
    def key(self) -> tuple[str, str]:
        """The name and what a series is for."""
        return self.name, self.by


def our_contender(by: str, *options: str) -> Contender:
    """Return this tool, which polls at each scrape; options are part of its name."""

    def command(bootstrap: str, port: int) -> list[str]:
        listen = ["--listen", f"{HOST}:{port}", "--max-age", "0s"]
        return [find_ours(), "exporter", *listen, "--by", by, *options, "-b", bootstrap]

    return Contender(
        name=" ".join([OURS, *options]),
        by=by,
        command=command,
        series=f"kafka_groups_{by}_lag_messages",
        samples_of_group=PARTITIONS if by == PARTITION else 1,
    )


def kminion_contender(path: str, by: str) -> Contender:
    """Return kminion with its default settings, which read the lag by the Admin API."""
    granularity = PARTITION if by == PARTITION else "topic"
    middle = "topic_partition" if by == PARTITION else "topic"

    def environment(bootstrap: str, port: int) -> dict[str, str]:
        return {
            "KAFKA_BROKERS": bootstrap,
            "EXPORTER_HOST": HOST,
            "EXPORTER_PORT": str(port),
            "LOGGER_LEVEL": "error",
            "MINION_CONSUMERGROUPS_GRANULARITY": granularity,
        }

    return Contender(
        name=KMINION,
        by=by,
        command=lambda _bootstrap, _port: [path],
        environment=environment,
        series=f"kminion_kafka_consumer_group_{middle}_lag",
        samples_of_group=PARTITIONS if by == PARTITION else 1,
    )


def kafka_exporter_contender(path: str) -> Contender:
    """Return kafka_exporter with its default settings; it has series by partition only."""

    def command(bootstrap: str, port: int) -> list[str]:
        servers = [f"--kafka.server={server}" for server in bootstrap.split(",")]
        return [path, *servers, f"--web.listen-address={HOST}:{port}"]

    return Contender(
        name=KAFKA_EXPORTER,
        by=PARTITION,
        command=command,
        series="kafka_consumergroup_lag",
        samples_of_group=PARTITIONS,
        is_slow=True,
    )


def contenders(kminion: str | None, kafka_exporter: str | None) -> list[Contender]:
    """Return this tool by group and by partition, and the others whose paths are known."""
    found = []
    for by in (GROUP, PARTITION):
        found.append(our_contender(by))
        if kminion is not None:
            found.append(kminion_contender(kminion, by))
    found.append(our_contender(GROUP, VERDICTS))
    if kafka_exporter is not None:
        found.append(kafka_exporter_contender(kafka_exporter))
    return found
