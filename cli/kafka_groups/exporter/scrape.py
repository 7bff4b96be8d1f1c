"""The response to a scrape: the last polls of all clusters, and what the exporter counts, in one of two formats."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.exposition import choose_encoder

from kafka_groups import __version__
from kafka_groups.exporter.cluster_poll import ClusterPoll
from kafka_groups.rendering.metrics import Metric, MetricType, format_head, format_label
from kafka_groups.rendering.views.lag_metrics import PREFIX, TOTALS

_OPENMETRICS: Final = "application/openmetrics-text"
_EOF: Final = b"# EOF\n"


class OwnMetric(NamedTuple):
    """A metric that the exporter counts itself: the name of its samples, a sentence and its type."""

    name: str
    help: str
    type: MetricType = MetricType.GAUGE


BUILD: Final = OwnMetric(f"{PREFIX}_build_info", "The version of kafka-groups.", MetricType.INFO)
UP: Final = OwnMetric(f"{PREFIX}_up", "Whether the last poll of the cluster read anything.")
DURATION: Final = OwnMetric(f"{PREFIX}_poll_duration_seconds", "The duration of the last poll.")
FAILURES: Final = OwnMetric(*TOTALS[0])
ENDED: Final = OwnMetric(*TOTALS[1])
SKIPPED: Final = OwnMetric(f"{PREFIX}_skipped_groups", "Groups without series, because of --max-series.")
ERRORS: Final = OwnMetric(
    f"{PREFIX}_errors_total", "Failures of all polls, by the name of the error.", MetricType.COUNTER
)
RELOAD_ERRORS: Final = OwnMetric(
    f"{PREFIX}_reload_errors_total", "Settings that could not be used after SIGHUP.", MetricType.COUNTER
)
OWN_METRICS: Final = (BUILD, UP, DURATION, ENDED, FAILURES, SKIPPED, ERRORS, RELOAD_ERRORS)


class ScrapedCluster(NamedTuple):
    """What a scrape shows of a cluster; `errors` has the number of failures by name, `reload_errors` their number."""

    poll: ClusterPoll
    errors: Mapping[str, int]
    reload_errors: int = 0


class Encoding(NamedTuple):
    """The format of a response: the Content-Type, and whether it is OpenMetrics."""

    content_type: str
    is_openmetrics: bool
    encode: Callable[[CollectorRegistry], bytes]


def choose_encoding(accept: str) -> Encoding:
    """Return the format of a response to a request with this Accept header."""
    encode, content_type = choose_encoder(accept)
    return Encoding(content_type, content_type.startswith(_OPENMETRICS), encode)


class Page:
    """The text of the metrics; `metrics` are those of groups and their parts."""

    def __init__(self, metrics: Sequence[Metric]) -> None:
        self._metrics = metrics
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)

    def format(self, clusters: Sequence[ScrapedCluster], encoding: Encoding) -> Iterator[bytes]:
        """Yield the parts of the text."""
        is_openmetrics = encoding.is_openmetrics
        for metric in self._metrics:
            yield metric.head(is_openmetrics=is_openmetrics).encode()
            for cluster in clusters:
                yield from cluster.poll.samples.get(metric.name, ())
        for own in OWN_METRICS:
            head = format_head(own.name, own.help, own.type, is_openmetrics=is_openmetrics)
            yield (head + "".join(_own_lines(own, clusters))).encode()
        yield encoding.encode(self._registry).removesuffix(_EOF)
        if is_openmetrics:
            yield _EOF


def _own_lines(metric: OwnMetric, clusters: Iterable[ScrapedCluster]) -> Iterator[str]:
    """Yield the lines of a metric of the exporter."""
    if metric is BUILD:
        labels = f"{format_label('version', __version__)},{format_label('python', platform.python_version())}"
        yield f"{metric.name}{{{labels}}} 1\n"
        return
    for cluster in clusters:
        label = format_label("cluster", cluster.poll.cluster)
        if metric is ERRORS:
            for name, count in sorted(cluster.errors.items()):
                yield f"{metric.name}{{{label},{format_label('name', name)}}} {count}\n"
        elif (value := _value_of(metric, cluster)) is not None:
            yield f"{metric.name}{{{label}}} {value}\n"


def _value_of(metric: OwnMetric, cluster: ScrapedCluster) -> str | int:
    poll = cluster.poll
    values: dict[OwnMetric, str | int] = {
        UP: int(poll.is_up),
        DURATION: f"{poll.duration_s:.6f}",
        ENDED: f"{poll.ended_s:.3f}",
        FAILURES: len(poll.failures),
        SKIPPED: poll.skipped_groups,
        RELOAD_ERRORS: cluster.reload_errors,
    }
    return values[metric]
