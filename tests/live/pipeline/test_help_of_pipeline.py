"""The examples in the help of `pipeline` and its commands, run in a shell, in the order in which they are of use."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from tests.help_examples import ADDRESS, examples_in, examples_of, run_in_shell
from tests.live.groups.topics import make_topic, unique_name
from tests.live.pipeline.offsets_topic import commit

pytestmark = [pytest.mark.live, pytest.mark.spark]

_ORDER: Final = ("ingest", "sample", "backfill", "build", "report", "tables", "export", "compact", "doctor")
# These run until they are interrupted; the named tests interrupt the same commands.
_TESTED_ELSEWHERE: Final = {
    f"kafka-groups pipeline ingest --data-dir history -b {ADDRESS} --continuous --interval 1m": (
        "tests/live/pipeline/test_interrupted_ingest.py"
    ),
    f"kafka-groups pipeline sample --data-dir history -b {ADDRESS} --interval 60s": (
        "tests/pipeline/commands/test_repeated_samples.py"
    ),
}


def test_the_examples_of_the_pipeline_succeed_one_after_the_other(
    broker: str, tmp_path: Path, program: Callable[[str], str]
) -> None:
    program("bash")
    program("jq")
    topic = make_topic(broker, records=9)
    commit(broker, unique_name("helped"), topic, 2, 5)
    ordered = [line for command in _ORDER for line in examples_of("pipeline", command)]
    lines = [line for line in ordered if line not in _TESTED_ELSEWHERE]
    assert set(lines) | {*_TESTED_ELSEWHERE} == set(examples_in("pipeline"))

    for line in lines:
        # The examples name a topic `orders`.
        outcome = run_in_shell(line.replace(ADDRESS, broker).replace("orders", topic), tmp_path)
        assert (line, outcome.exit_code, bool(outcome.stdout.strip())) == (line, 0, True), outcome
