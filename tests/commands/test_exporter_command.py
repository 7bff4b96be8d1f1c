"""`kafka-groups exporter` as a process: its start, signals and settings; and its usage errors."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import IO

import pytest

from kafka_groups.commands import exporter as exporter_command
from tests.exporter.exporters import small_cluster
from tests.fakes.cluster_profiles import ClusterProfiles
from tests.fakes.command_line import run
from tests.fakes.reactions import silent
from tests.fakes.scripted_cluster import ScriptedCluster

# The exporter ends within a second; a busy machine schedules it late.
END_S = 5.0
WAIT_S = 20.0


@pytest.fixture
def cluster() -> Iterator[ScriptedCluster]:
    with small_cluster() as running:
        yield running


@pytest.fixture
def profiles(tmp_path: Path) -> ClusterProfiles:
    return ClusterProfiles(tmp_path)


class Process:
    """An exporter in a process of its own, which listens on a free port."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.lines: list[str] = []
        self.url = self.line("listening on ").removeprefix("listening on ")

    def line(self, text: str) -> str:
        """Read lines of stderr up to the first one that contains a text, and return that one."""
        errors: IO[str] | None = self.process.stderr
        assert errors is not None
        for line in errors:
            self.lines.append(line.rstrip("\n"))
            if text in line:
                return self.lines[-1]
        pytest.fail(f"no line with {text!r}: {self.lines}")

    def metrics(self) -> str:
        """Return the text of a scrape."""
        with urllib.request.urlopen(self.url, timeout=WAIT_S) as response:
            text: str = response.read().decode()
            return text

    def end(self, number: signal.Signals) -> tuple[int, float]:
        """Send a signal, and return the exit code and the seconds until the end."""
        began = time.monotonic()
        self.process.send_signal(number)
        code = self.process.wait(timeout=WAIT_S)
        return code, time.monotonic() - began


@contextmanager
def started(profiles: ClusterProfiles, *arguments: str) -> Iterator[Process]:
    with profiles.start("exporter", "--listen", "127.0.0.1:0", *arguments) as process:
        try:
            yield Process(process)
        finally:
            process.kill()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_ends_the_exporter_with_its_code(
    cluster: ScriptedCluster, profiles: ClusterProfiles, number: signal.Signals, code: int
) -> None:
    profiles.add("east", cluster)
    with started(profiles, "--profile", "east") as exporter:
        assert 'kafka_groups_group_lag_messages{cluster="east",group="g0",type="Classic"} 180' in exporter.metrics()
        found, seconds = exporter.end(number)
        assert (found, seconds < END_S) == (code, True)
        assert exporter.process.stdout is not None
        assert exporter.process.stdout.read() == ""


def test_sigterm_ends_a_poll_that_waits_for_a_silent_broker(
    cluster: ScriptedCluster, profiles: ClusterProfiles
) -> None:
    profiles.add("east", cluster)
    cluster.script("ListGroups", silent)
    with started(profiles, "--profile", "east", "--interval", "1m", "--timeout", "1m") as exporter:
        until = time.monotonic() + WAIT_S
        while not cluster.requests()["ListGroups"] and time.monotonic() < until:
            time.sleep(0.01)
        code, seconds = exporter.end(signal.SIGTERM)
        assert (code, seconds < END_S) == (143, True)


def test_sighup_reads_profiles_again_and_keeps_old_ones_that_can_be_used(
    cluster: ScriptedCluster, profiles: ClusterProfiles, tmp_path: Path
) -> None:
    profiles.add("east", cluster)
    file = tmp_path / "kafka-groups" / "profiles.toml"
    good = file.read_text()
    with small_cluster(3) as other, started(profiles, "--profile", "east") as exporter:
        assert exporter.metrics().count("kafka_groups_group_members{") == 2
        file.write_text("[east]\n")
        exporter.process.send_signal(signal.SIGHUP)
        assert exporter.line("the old ones stay").startswith("east: Error: the settings were not read again")
        text = exporter.metrics()
        assert 'kafka_groups_reload_errors_total{cluster="east"} 1' in text
        assert text.count("kafka_groups_group_members{") == 2
        file.write_text(good.replace(str(cluster.addresses[1]), str(other.addresses[1])))
        exporter.process.send_signal(signal.SIGHUP)
        assert exporter.line("again") == "east: the settings were read again"
        assert exporter.metrics().count("kafka_groups_group_members{") == 3


def test_all_profiles_are_served_and_one_that_cannot_be_used_is_not_up(
    cluster: ScriptedCluster, profiles: ClusterProfiles
) -> None:
    profiles.add("east", cluster)
    profiles.add("west", cluster, {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"})
    with started(profiles, "--all-profiles") as exporter:
        text = exporter.metrics()
    assert 'kafka_groups_up{cluster="east"} 1' in text
    assert 'kafka_groups_up{cluster="west"} 0' in text
    assert 'kafka_groups_errors_total{cluster="west",name="SETTINGS_ERROR"} 1' in text


def test_settings_that_no_cluster_can_use_are_a_usage_error(profiles: ClusterProfiles) -> None:
    outcome = profiles.run("exporter", "--listen", "127.0.0.1:0", "--profile", "nope")
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert "nope" in outcome.stderr


def test_an_address_in_use_is_an_error_of_one_line(cluster: ScriptedCluster) -> None:
    address = str(cluster.addresses[1])
    outcome = run("exporter", "--listen", address, bootstrap=address)
    assert outcome == (1, "", f"Error: cannot listen on {address}: Address already in use\n")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (
            ("--interval", "10s", "--max-age", "5s"),
            "--interval contradicts --max-age: poll in the background, or when scraped",
        ),
        (("--interval", "0s"), "--interval needs a duration above 0, such as 30s"),
        (
            ("--listen", "9465"),
            "--listen '9465' is not HOST:PORT; write for example 127.0.0.1:9465, [::1]:9465 or 0.0.0.0:9465",
        ),
        (
            ("--listen", "::1:9465"),
            "--listen '::1:9465' is not HOST:PORT; write for example 127.0.0.1:9465, [::1]:9465 or 0.0.0.0:9465",
        ),
        (
            ("--listen", "a:70000"),
            "--listen 'a:70000' is not HOST:PORT; write for example 127.0.0.1:9465, [::1]:9465 or 0.0.0.0:9465",
        ),
        (("--all-metrics",), "--all-metrics is only for --by partition; --by group always has all metrics"),
        (("--stop-after", "1m"), "--stop-after needs --verdicts"),
        (("--retention-alert", "1h"), "--retention-alert needs --time and --verdicts"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_options_that_contradict_each_other_are_usage_errors(arguments: tuple[str, ...], problem: str) -> None:
    assert run("exporter", *arguments) == (2, "", f"Error: {problem}; see kafka-groups exporter --help\n")


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporter_command, "find_spec", lambda name: None if name == "bcrypt" else find_spec(name))
    message = "the exporter needs bcrypt, which is not installed; run pip install 'kafka-groups[exporter]'"
    assert run("exporter") == (2, "", f"Error: {message}\n")


def test_a_web_config_that_cannot_be_used_is_a_usage_error(tmp_path: Path) -> None:
    name = str(tmp_path / "web.yml")
    outcome = run("exporter", "--web-config", name)
    assert outcome == (
        2,
        "",
        f"Error: the web config file {name} cannot be used: it cannot be read: No such file or directory\n",
    )


def test_the_server_listens_on_ipv6(cluster: ScriptedCluster, profiles: ClusterProfiles) -> None:
    profiles.add("east", cluster)
    with profiles.start("exporter", "--listen", "[::1]:0", "--profile", "east") as process:
        try:
            exporter = Process(process)
            assert re.fullmatch(r"http://\[::1\]:[0-9]+/metrics", exporter.url)
            assert 'kafka_groups_up{cluster="east"} 1' in exporter.metrics()
        finally:
            process.kill()


def test_help_of_the_exporter_imports_nothing_of_its_extra() -> None:
    program = (
        "import sys, json\n"
        "from kafka_groups.cli import main\n"
        "sys.argv = ['kafka-groups', 'exporter', '--help']\n"
        "try:\n    main()\n"
        "finally:\n    print(json.dumps(sorted(sys.modules)), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=dict(os.environ)
    )
    modules = {name.partition(".")[0] for name in json.loads(done.stderr)}
    assert modules & {"prometheus_client", "bcrypt", "yaml", "rich"} == set()


@pytest.mark.slow
def test_hundreds_of_scrapes_leak_neither_memory_nor_sockets(
    cluster: ScriptedCluster, profiles: ClusterProfiles
) -> None:
    profiles.add("east", cluster)
    with started(profiles, "--profile", "east", "--by", "partition") as exporter:

        def sizes() -> tuple[float, float]:
            texts = [exporter.metrics() for _ in range(300)]
            found = dict(line.split() for line in texts[-1].splitlines() if line.startswith("process_"))
            return float(found["process_resident_memory_bytes"]), float(found["process_open_fds"])

        sizes()
        (first, first_files), (last, last_files) = sizes(), sizes()
    assert last - first < 2 * 2**20
    assert last_files <= first_files + 1
