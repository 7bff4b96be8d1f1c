"""What a terminal sees while an ingest is at work."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from kafka_groups.pipeline.facts.source.brokers import Brokers
from tests.live.groups.topics import make_topic, unique_name
from tests.live.pipeline.offsets_topic import commit

pytestmark = [pytest.mark.live, pytest.mark.spark]

_CONTROLS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def _seen(command: list[str]) -> str:
    """All that the command writes to a terminal that is its stderr."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=theirs, env=os.environ | {"TERM": "xterm", "COLUMNS": "120"}
    ) as process:
        os.close(theirs)
        seen = b""
        # A terminal that nobody holds any more is an error on Linux.
        with suppress(OSError):
            while part := os.read(ours, 65_536):
                seen += part
        os.close(ours)
        assert process.wait(60) == 0, seen
    return _CONTROLS.sub("", seen.decode())


def test_a_terminal_shows_the_start_of_spark_and_the_offsets_read(broker: str, tmp_path: Path) -> None:
    commit(broker, unique_name("watched"), make_topic(broker, records=8), *range(30))
    brokers = Brokers({"bootstrap.servers": broker}, 30)
    there = brokers.topic().partitions
    offsets = sum(brokers.end_offsets(there).values()) - sum(brokers.log_start_offsets(there).values())
    command = [sys.executable, "-m", "kafka_groups", "pipeline", "ingest", "-b", broker]
    command += ["--data-dir", str(tmp_path / "t")]

    seen = _seen([*command, "--records-per-batch", str(-(-offsets // 3)), "--driver-memory", "1g"])

    assert seen.index("starting Spark") < seen.index("ingesting")
    steps = [(int(done), int(total)) for done, total in re.findall(r"ingesting [^\d]*(\d+)/(\d+)", seen)]
    assert {total for _, total in steps} == {offsets}
    assert steps == sorted(steps)
    assert steps[0] == (0, offsets)
    assert len(set(steps)) > 2  # batch by batch
