"""The time of a completion, from the start of the process to its end."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping
from statistics import median
from typing import Any

import pytest

from kafka_groups.options import COMPLETION_VARIABLE
from tests.fakes.raw_port import accepting_only, not_accepting, refusing
from tests.fakes.reactions import delayed, silent
from tests.fakes.scripted_cluster import ScriptedCluster

pytestmark = pytest.mark.timed
_RUNS = 5


def seconds_of(*words: str, environment: Mapping[str, str] | None = None) -> tuple[float, list[str]]:
    """Return the median time of some runs, and the values that were offered last."""
    # Compiled modules, as an installation has them.
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    variables |= {COMPLETION_VARIABLE: "zsh_complete", **(environment or {})}
    command = [sys.executable, "-m", "kafka_groups", "kafka-groups", *words]
    times, values = [], ""
    for _ in range(_RUNS + 1):
        started = time.perf_counter()
        values = subprocess.run(command, env=variables, check=True, capture_output=True, encoding="utf-8").stdout
        times.append(time.perf_counter() - started)
    return median(times[1:]), values.split("\0")[1:-1]


@pytest.fixture(scope="module")
def slowness() -> float:
    """Return how much slower this machine is now than one on which the import of click takes 60 ms; at least 1."""
    times = []
    for _ in range(_RUNS):
        started = time.perf_counter()
        subprocess.run([sys.executable, "-c", "import click"], check=True)
        times.append(time.perf_counter() - started)
    return max(1.0, median(times) / 0.06)


@pytest.mark.parametrize("words", [("",), ("list", "--"), ("list", "--state", ""), ("pipeline", "ingest", "--")])
def test_values_that_need_no_cluster_take_at_most_150_ms(words: tuple[str, ...], slowness: float) -> None:
    seconds, values = seconds_of(*words)
    assert values
    assert seconds < 0.15 * slowness


@pytest.mark.parametrize("listener", [accepting_only, not_accepting, refusing], ids=lambda each: each.__name__)
def test_a_cluster_that_does_not_respond_takes_at_most_300_ms(listener: Any, slowness: float) -> None:
    with listener() as endpoint:
        seconds, values = seconds_of("describe", "-b", str(endpoint), "")
    assert values == []
    assert seconds < 0.3 * slowness


def test_a_name_that_does_not_exist_takes_at_most_300_ms(slowness: float) -> None:
    assert seconds_of("describe", "-b", "no-such-host.invalid:9092", "")[0] < 0.3 * slowness


def test_a_broker_that_responds_slowly_has_more_time(cluster: ScriptedCluster, slowness: float) -> None:
    # The first response is that to ApiVersions.
    cluster.script("Metadata", *[delayed(0.5)] * 10)
    seconds, values = seconds_of("describe", "orders", "")
    assert values == ["billing", "orders-eu"]
    assert seconds < 1.5 * slowness


def test_a_broker_that_stops_responding_takes_at_most_1500_ms(cluster: ScriptedCluster, slowness: float) -> None:
    cluster.script("ListGroups", *[silent] * 50, brokers=[2])
    seconds, values = seconds_of("describe", "")
    assert values == ["orders"]
    assert 0.3 < seconds < 1.5 * slowness
