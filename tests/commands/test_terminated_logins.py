"""A command that is terminated while it waits for a token also ends the program that prints the token."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.fakes.sasl_cluster import SaslCluster

pytestmark = pytest.mark.timeout(60)
_WAIT_S = 20


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGHUP, 143), (signal.SIGINT, 130)])
@pytest.mark.parametrize("command", [["list"], ["describe", "g"], ["reset", "g", "--all-topics", "--to-earliest"]])
def test_a_signal_ends_the_program_that_prints_a_token(
    command: list[str], number: signal.Signals, status: int, tmp_path: Path
) -> None:
    pid = tmp_path / "pid"
    config = tmp_path / "client.properties"
    config.touch(mode=0o600)
    with SaslCluster(brokers=1) as cluster:
        config.write_text(
            f"bootstrap.servers={cluster.brokers[1].endpoint}\nsecurity.protocol=SASL_PLAINTEXT\n"
            "sasl.mechanism=OAUTHBEARER\n"
            f"sasl.oauthbearer.token.command=sh -c 'echo $$ > {pid}; sleep 60 & wait'\n"
        )
        process = subprocess.Popen(
            [sys.executable, "-m", "kafka_groups", *command, "--config", str(config)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        until = time.monotonic() + _WAIT_S
        while not (pid.exists() and pid.read_text().strip()) and time.monotonic() < until:
            time.sleep(0.02)
        program = Path(f"/proc/{pid.read_text().strip()}")
        assert program.exists()
        process.send_signal(number)
        process.communicate(timeout=_WAIT_S)
    assert process.returncode == status
    while program.exists() and time.monotonic() < until:
        time.sleep(0.02)
    assert not program.exists()
