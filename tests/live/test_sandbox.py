"""The sandbox as a user runs it: its processes, its ports and its files."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from kafka_groups.sandbox.ports import free_ports
from tests.live.shell import KAFKA_GROUPS, Shell

pytestmark = [pytest.mark.live, pytest.mark.timeout(180)]


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    shell = Shell(tmp_path)
    yield shell
    shell.run("down")


def _is_alive(pid: int) -> bool:
    completed = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, check=False, text=True)
    return bool(completed.stdout.strip()) and not completed.stdout.startswith("Z")


def _is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _settings_files(home: Path) -> str:
    return "".join(path.read_text() for path in home.rglob("settings.properties"))


def test_up_status_and_down_leave_no_process_no_port_and_no_file(shell: Shell) -> None:
    up = shell.run("up", "--brokers", "1", "--port", "0", "--no-seed")
    assert (up.returncode, up.stdout.splitlines()[0]) == (0, "sandbox sandbox (up)"), up.stderr
    found = shell.status()
    pids = [process["pid"] for process in found["processes"]]
    ports = [process["port"] for process in found["processes"]]
    assert found["up"] is True
    assert all(map(_is_alive, pids))
    assert all(map(_is_open, ports))
    assert found["bootstrap_servers"] in shell.profiles.read_text()
    assert "0.0.0.0" not in _settings_files(shell.home)

    down = shell.run("down")

    assert down.returncode == 0
    assert not any(map(_is_alive, pids))
    assert not any(map(_is_open, ports))
    assert list(shell.home.iterdir()) == []
    assert "sandbox" not in shell.profiles.read_text()
    assert shell.run("status").returncode == 1


@pytest.mark.parametrize("version", ["2.5.1", "4.3.1"])
def test_a_sandbox_runs_under_a_path_with_any_letters_in_the_locale_c(tmp_path: Path, version: str) -> None:
    shell = Shell(tmp_path / "Größe 雪 a'b\"c\\d#e!f=g:h%i$j")
    shell.environment["LC_ALL"] = "C"
    try:
        up = shell.run("up", "--port", "0", "--no-seed", "--kafka-version", version)
        assert up.returncode == 0, up.stderr
        assert shell.status()["up"] is True
    finally:
        shell.run("down")
    assert list(shell.home.iterdir()) == []


def test_the_demo_leaves_a_sandbox_with_groups_in_every_state_that_a_second_up_does_not_change(
    shell: Shell, tmp_path: Path
) -> None:
    # Whatever cluster the environment names.
    config = tmp_path / "prod.properties"
    config.write_text("security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.username=u\nsasl.password=p\n")
    shell.environment["KAFKA_GROUPS_CONFIG"] = str(config)
    demo = shell.run("demo", "--port", "0")
    assert demo.returncode == 0, demo.stderr
    assert "search-indexer" in demo.stdout
    bootstrap = shell.status()["bootstrap_servers"]

    second = shell.run("up", "--port", "0")
    states = subprocess.run(
        [*KAFKA_GROUPS, "list", "--state", "-b", bootstrap, "--format", "json"],
        capture_output=True,
        check=True,
        text=True,
        timeout=60,
    )

    assert second.returncode == 0
    assert "already up" in second.stderr
    assert shell.status()["bootstrap_servers"] == bootstrap
    assert _states(json.loads(states.stdout)) == {
        "audit-export": ("Classic", "Stable"),
        "billing": ("Classic", "Empty"),
        "checkout": ("Classic", "Stable"),
        "click-sampler": ("Share", "Stable"),
        "clickstream-loader": ("Classic", "Stable"),
        "connect-order-archive": ("Classic", "Stable"),
        "fraud-detector": ("Consumer", "Stable"),
        "inventory": ("Classic", "Stable"),
        "legacy-import": ("Classic", "Empty"),
        "search-indexer": ("Classic", "PreparingRebalance"),
        "shop-connect": ("Classic", "Stable"),
        "word-counter": ("Streams", "Stable"),
    }


def test_a_killed_broker_is_reported_and_replaced(shell: Shell) -> None:
    shell.run("up", "--port", "0", "--no-seed", "--kafka-version", "2.8.2")
    killed = shell.status()["processes"][0]["pid"]
    os.kill(killed, signal.SIGKILL)
    _await_death(killed)

    status = shell.run("status")
    up = shell.run("up", "--port", "0", "--no-seed", "--kafka-version", "2.8.2")

    assert status.returncode == 1
    assert "(not running)" in status.stdout
    assert up.returncode == 0, up.stderr
    assert shell.status()["up"] is True


@pytest.mark.parametrize("after_s", [0.0, 3.0])
def test_a_killed_start_is_replaced_and_its_processes_are_ended(shell: Shell, after_s: float) -> None:
    with subprocess.Popen(shell.command("up", "--port", "0"), stderr=subprocess.PIPE, env=shell.environment) as up:
        assert up.stderr is not None
        assert up.stderr.readline().startswith(b"starting Kafka")
        time.sleep(after_s)
        up.kill()

    again = shell.run("up", "--port", "0", "--no-seed")
    assert again.returncode == 0, again.stderr
    assert len(_processes_that_name(shell.home)) == 1
    assert shell.run("down").returncode == 0
    assert not _processes_that_name(shell.home)
    assert shell.profiles.read_text() == ""


@pytest.mark.parametrize(
    ("number", "after_s"),
    [
        (signal.SIGINT, 0.0),
        (signal.SIGINT, 4.0),
        (signal.SIGTERM, 2.0),
        (signal.SIGHUP, 1.0),
    ],
)
def test_an_interrupted_start_leaves_no_process_and_no_file(
    shell: Shell, number: signal.Signals, after_s: float
) -> None:
    command = shell.command("up", "--port", "0")
    with subprocess.Popen(command, stderr=subprocess.PIPE, env=shell.environment) as up:
        assert up.stderr is not None
        assert up.stderr.readline().startswith(b"starting Kafka")
        time.sleep(after_s)
        up.send_signal(number)

        # A closed terminal (SIGHUP) ends it as SIGTERM does.
        assert up.wait(timeout=30) == (130 if number == signal.SIGINT else 143)
        assert up.stderr.read().decode().splitlines()[-1:] == [
            "Error: interrupted" if number == signal.SIGINT else "Error: terminated"
        ]
    assert not _processes_that_name(shell.home)
    assert not (shell.home / "sandbox").exists()


def test_of_two_sandboxes_that_start_at_the_same_port_one_fails(tmp_path: Path) -> None:
    shells = [Shell(tmp_path / "a"), Shell(tmp_path / "b")]
    (port,) = free_ports(1)
    ups = [
        subprocess.Popen(
            shell.command("up", "--port", str(port), "--no-seed"),
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            env=shell.environment,
        )
        for shell in shells
    ]
    try:
        errors = sorted((up.wait(timeout=120), up.communicate()[1].decode()) for up in ups)
    finally:
        for shell in shells:
            shell.run("down")

    assert [code for code, _ in errors] == [0, 1]
    assert re.search("[Aa]ddress already in use|is in use", errors[1][1])


def test_a_closed_stderr_does_not_end_the_start(shell: Shell) -> None:
    command = shell.command("up", "--port", "0", "--no-seed")
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, env=shell.environment) as up:
        assert up.stderr is not None
        assert up.stdout is not None
        up.stderr.close()
        output = up.stdout.read().decode()

        assert up.wait(timeout=60) == 0
    assert output.startswith("sandbox sandbox (up)\n")
    assert shell.status()["up"] is True


def _states(document: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    return {row["group"]: (row["type"], row["state"]) for row in document["groups"]}


def _await_death(pid: int) -> None:
    deadline = time.monotonic() + 10
    while _is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.05)


def _processes_that_name(path: Path) -> list[str]:
    completed = subprocess.run(["ps", "-ww", "-eo", "stat,args"], capture_output=True, check=True, text=True)
    return [line for line in completed.stdout.splitlines() if str(path) in line and line[0] != "Z"]
