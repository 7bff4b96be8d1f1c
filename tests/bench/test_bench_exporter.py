"""The measurements of the exporter: which scrape is complete, ratios of one run, and when a target is reached."""

from __future__ import annotations

import http.server
import threading
import zlib
from collections.abc import Iterator

import pytest

from .exporter.contenders import GROUP, KAFKA_EXPORTER, KMINION, PARTITION, VERDICTS, contenders
from .exporter.scrape_table import GROUPS, Series, format_scrapes, judge_scrapes, ratios
from .exporter.scrapes import GZIP, IDENTITY, Scrape, fetch, sum_samples
from .exporter.soak import Sample, format_samples, judge_samples
from .programs import OURS

_BODY = b'# HELP lag a\n# TYPE lag gauge\nlag{group="a"} 5\nlag{group="b"} 1e+06\nlag_sum{group="a"} 7\nlag 3\n'


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:  # the name is that of http.server
        is_packed = self.headers["Accept-Encoding"] == GZIP
        body = zlib.compress(_BODY, wbits=31) if is_packed else _BODY
        self.send_response(200)
        if is_packed:
            self.send_header("Content-Encoding", GZIP)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the name is that of http.server
        """Print nothing."""


@pytest.fixture
def port() -> Iterator[int]:
    """Yield the port of a server with one body."""
    with http.server.HTTPServer(("127.0.0.1", 0), _Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("encoding", [IDENTITY, GZIP])
def test_a_body_is_returned_as_it_was_sent(port: int, encoding: str) -> None:
    status, used, body = fetch(port, encoding)
    assert (status, used) == (200, encoding)
    assert (zlib.decompress(body, wbits=31) if encoding == GZIP else body) == _BODY


def test_only_samples_of_the_metric_are_summed() -> None:
    assert sum_samples(_BODY, "lag") == (2, 1_000_005)


def test_exporters_without_a_path_are_not_measured() -> None:
    assert [contender.key for contender in contenders(None, None)] == [
        (OURS, GROUP),
        (OURS, PARTITION),
        (f"{OURS} {VERDICTS}", GROUP),
    ]
    names = [contender.name for contender in contenders("/k", "/e")]
    assert names == [OURS, KMINION, OURS, KMINION, f"{OURS} {VERDICTS}", KAFKA_EXPORTER]


def series(name: str, by: str, *seconds: float, cpu_s: float = 1.0, peak_mib: float = 90) -> Series:
    """Return the scrapes of an exporter in both encodings."""
    scrapes = [Scrape(seconds=each, cpu_s=cpu_s, sent=4_000_000) for each in seconds]
    return Series(name=name, by=by, scrapes={IDENTITY: scrapes, GZIP: scrapes}, peak_mib=peak_mib)


def test_ratios_are_those_of_scrapes_of_one_turn() -> None:
    ours, theirs = ([Scrape(seconds=each, cpu_s=1, sent=1) for each in times] for times in ((1, 2, 3), (2, 8)))
    assert ratios(ours, theirs, lambda scrape: scrape.seconds) == (0.375, 0.25, 0.5)


def test_the_report_has_each_exporter_and_its_ratios() -> None:
    results = [series(OURS, PARTITION, 1.0), series(KMINION, PARTITION, 3.0, cpu_s=4)]
    lines = format_scrapes(7, results).splitlines()
    assert [line.split("|")[3].strip() for line in lines if KMINION in line] == [
        "3.00 s (3.00 to 3.00)",
        "3.00 s (3.00 to 3.00)",
        "0.33 (0.33 to 0.33)",
        "0.33 (0.33 to 0.33)",
    ]


@pytest.mark.parametrize(
    ("seconds", "cpu_s", "peak_mib", "missed"),
    [(0.5, 1.0, 200, 0), (0.6, 1.0, 90, 1), (0.5, 1.1, 90, 2), (0.5, 1.0, 201, 2)],
)
def test_a_target_is_reached_up_to_its_limit(seconds: float, cpu_s: float, peak_mib: float, missed: int) -> None:
    ours = [series(OURS, by, seconds, cpu_s=cpu_s, peak_mib=peak_mib) for by in (GROUP, PARTITION)]
    theirs = series(KMINION, PARTITION, 2.0, cpu_s=2.0)
    assert sum(not verdict.is_reached for verdict in judge_scrapes(GROUPS, [*ours, theirs])) == missed
    assert judge_scrapes(GROUPS - 1, [*ours, theirs]) == []


def sample(minute: float, resident_mib: float = 80, sockets: int = 4, threads: int = 3, up: int = 1) -> Sample:
    """Return what a process holds after some minutes."""
    return Sample(minute=minute, scrapes=100, resident_mib=resident_mib, sockets=sockets, threads=threads, up=up)


@pytest.mark.parametrize(
    ("last", "missed"),
    [
        (sample(9, resident_mib=96), 0),
        (sample(9, resident_mib=97), 1),
        (sample(9, sockets=5), 1),
        (sample(9, threads=4, up=0), 2),
    ],
)
def test_what_grows_over_a_soak_misses_a_target(last: Sample, missed: int) -> None:
    samples = [sample(1), sample(2), sample(3, resident_mib=200, sockets=50), last]
    assert sum(not verdict.is_reached for verdict in judge_samples(samples)) == missed
    assert len(format_samples(samples).splitlines()) == 6
