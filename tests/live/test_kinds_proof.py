"""What `describe` shows of streams and Connect groups while their members leave and return.

`make proof-kinds` repeats it ten times.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

import pytest

from tests.live.groups.clients import run_command
from tests.live.groups.conditions import wait_until
from tests.live.groups.kafka_tools import Row, describe_streams_groups, parse_rows
from tests.live.groups.real_kinds import RealGroups

pytestmark = [pytest.mark.live, pytest.mark.timeout(240)]

REPETITIONS: Final = int(os.environ.get("PROOF_REPETITIONS", "1"))

repeated = pytest.mark.usefixtures("repetition")


@pytest.fixture(params=range(REPETITIONS))
def repetition(request: pytest.FixtureRequest) -> int:
    """Return the number of the repetition."""
    return int(request.param)


def members_of(groups: RealGroups, group: str) -> list[dict[str, Any]]:
    """Return the members of a described group."""
    outcome = run_command(groups.bootstrap, "describe", group, "--format", "json")
    assert outcome.code == 0, outcome
    (found,) = outcome.json["groups"]
    members: list[dict[str, Any]] = found["members"]
    return members


def work_of(groups: RealGroups) -> dict[str, set[tuple[str, int]]]:
    """Return what each worker runs by our description, with -1 for a connector itself, by its address."""
    return {
        worker["url"].removeprefix("http://").removesuffix("/"): {
            (each["connector"], number)
            for each in worker["connectors"]
            for number in [*([-1] if each["has_connector"] else []), *each["tasks"]]
        }
        for worker in members_of(groups, groups.connect.group)
        if worker["connectors"]
    }


def await_work_of_rest(groups: RealGroups) -> dict[str, set[tuple[str, int]]]:
    """Wait until our description has what the REST interface shows, and return it.

    While the group rebalances, its coordinator has no assignments, and REST shows those before.
    """
    wait_until(
        lambda: work_of(groups) == groups.connect.running(),
        lambda: f"{work_of(groups)} is not {groups.connect.running()}",
    )
    return work_of(groups)


def kafka_rows(groups: RealGroups) -> list[Row]:
    """Return the members of the streams group as our command prints them in Kafka's format."""
    view = ("--members", "--verbose", "--format", "kafka")
    return parse_rows(run_command(groups.bootstrap, "describe", groups.streams.group, *view).out)


@repeated
def test_a_worker_that_stops_leaves_its_connectors_and_tasks_to_the_other(real_groups: RealGroups) -> None:
    workers = real_groups.connect
    before = await_work_of_rest(real_groups)
    workers.stop(2)
    workers.await_balanced()
    (remaining,) = await_work_of_rest(real_groups).values()
    assert len(members_of(real_groups, workers.group)) == 1
    workers.start(2)
    workers.await_balanced()
    after = await_work_of_rest(real_groups)
    assert remaining == set().union(*before.values()) == set().union(*after.values())


@repeated
def test_an_instance_that_stops_leaves_its_tasks_to_the_other(real_groups: RealGroups, run_directory: Path) -> None:
    application = real_groups.streams
    view = ("--group", application.group, "--members", "--verbose")
    for members, change in ((1, application.stop), (2, application.start)):
        change(2)
        application.await_stable(members=members)
        ours = sorted(map(str, kafka_rows(real_groups)))
        assert ours == sorted(map(str, describe_streams_groups(real_groups.bootstrap, run_directory, *view)))
        assert len(ours) == members
