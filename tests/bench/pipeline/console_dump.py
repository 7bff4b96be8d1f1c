"""Kafka's own console dump of `__consumer_offsets`, timed: the contender."""

from __future__ import annotations

import subprocess
import time
from typing import Final

from kafka_groups import sandbox

_CONSUMER: Final = "org.apache.kafka.tools.consumer.ConsoleConsumer"
_FORMATTER: Final = "org.apache.kafka.tools.consumer.OffsetsMessageFormatter"
_HEAP_MB: Final = 512  # as kafka-console-consumer.sh has it
_TIMEOUT_S: Final = 600


def dump_seconds(bootstrap: str, records: int) -> float:
    """Return the wall time of a dump of this number of records to the null device, with its start.

    Raises RuntimeError if it processed another number.
    """
    command = sandbox.tool_command(
        _CONSUMER,
        *("--bootstrap-server", bootstrap, "--topic", "__consumer_offsets", "--from-beginning"),
        *("--max-messages", str(records), "--formatter", _FORMATTER),
        heap_mb=_HEAP_MB,
    )
    start = time.perf_counter()
    completed = subprocess.run(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False, timeout=_TIMEOUT_S
    )
    seconds = time.perf_counter() - start
    if f"Processed a total of {records} messages" not in completed.stderr:
        msg = f"the console consumer ended with {completed.returncode}: {completed.stderr.strip()[-300:]}"
        raise RuntimeError(msg)
    return seconds
