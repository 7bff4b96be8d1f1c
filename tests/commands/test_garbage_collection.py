"""The garbage collector, which is off during a command that reads once and ends, and rare in all others."""

from __future__ import annotations

import gc
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from kafka_groups.model import Results
from kafka_groups.pipeline.commands.command_run import start_run
from tests.fakes.command_line import run

if TYPE_CHECKING:
    from tests.fakes.fake_admin import FakeCluster


def test_the_collector_is_off_while_groups_are_listed_and_on_afterwards(cluster: FakeCluster) -> None:
    states: list[bool] = []

    def list_groups(**_: Any) -> Results[str, Any]:
        states.append(gc.isenabled())
        return Results()

    cluster.admin.list_groups.side_effect = list_groups
    assert run("list").exit_code == 0
    assert (states, gc.isenabled()) == ([False], True)


def test_the_collector_is_on_after_a_command_that_failed(cluster: FakeCluster) -> None:
    cluster.refuse(KeyboardInterrupt())
    assert run("list").exit_code == 130
    assert gc.isenabled()


def test_the_console_script_searches_for_cycles_rarely_and_not_at_exit() -> None:
    program = (
        "import atexit, gc, sys; from kafka_groups.__main__ import main; sys.argv[1:] = ['--version'];"
        "atexit.register(lambda: print(gc.isenabled(), gc.get_threshold()[0], gc.get_freeze_count() > 10_000)); main()"
    )
    outcome = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True)
    assert outcome.stdout.splitlines()[1:] == ["True 100000 True"]


def test_the_collector_stays_on_during_long_running_commands() -> None:
    with start_run("ingest", output_format="json", colour="never"):
        assert gc.isenabled()
