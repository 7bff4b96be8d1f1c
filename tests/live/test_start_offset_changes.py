"""Changes of real share groups, executed and taken back; the broker's own responses show what was changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.live.conftest import Cluster
from tests.live.groups.clients import open_admin, run_command
from tests.live.groups.other_kinds import share
from tests.live.groups.raw_descriptions import share_offsets
from tests.live.groups.share_consumers import empty_share
from tests.live.groups.topics import make_topic

pytestmark = [pytest.mark.live, pytest.mark.timeout(120)]

EXECUTE = ("--execute", "--yes")
RECORDS = 10
# Two records are accepted: the group's start offset may be behind them.
ACCEPTED = [(0, 0), (0, 1)]


@pytest.fixture(params=["cluster", "kafka_4_4"])
def broker(request: pytest.FixtureRequest) -> Cluster:
    """Return brokers of 4.3 and of 4.4."""
    found = request.getfixturevalue(request.param)
    assert isinstance(found, Cluster)
    return found


@pytest.fixture
def topic(broker: Cluster) -> str:
    """Return a topic with records in each of its two partitions."""
    return make_topic(broker.bootstrap, partitions=2, records=RECORDS)


def starts(broker: Cluster, group: str) -> dict[int, int]:
    """Return the start offset of a group by partition; -1 is unknown."""
    return {partition: start for (_, partition), (start, _) in share_offsets(broker.bootstrap, group).items()}


def lags(broker: Cluster, group: str) -> dict[int, int]:
    """Return the lag of a group by partition."""
    return {partition: lag for (_, partition), (_, lag) in share_offsets(broker.bootstrap, group).items()}


def accepted(topic: str) -> list[tuple[str, int, int]]:
    """Return the accepted records of a topic."""
    return [(topic, partition, offset) for partition, offset in ACCEPTED]


def test_start_offsets_are_clamped_altered_and_restored(broker: Cluster, topic: str, tmp_path: Path) -> None:
    with empty_share(broker.bootstrap, topic, accepted=accepted(topic)) as name:
        before = starts(broker, name)
        reset = run_command(
            broker.bootstrap, "reset", name, "--topic", topic, "--to-offset", "500", *EXECUTE, home=tmp_path
        )
        assert starts(broker, name) == {0: RECORDS, 1: RECORDS}
        undone = run_command(broker.bootstrap, "undo", *EXECUTE, home=tmp_path)
        assert starts(broker, name) == before
    assert (reset.code, undone.code) == (0, 0)
    assert "clamped from 500 to the log end offset" in reset.out
    assert "The delivery state before the run is lost" in undone.err


def test_acknowledged_records_beyond_a_start_offset_are_lag_again(broker: Cluster, topic: str, tmp_path: Path) -> None:
    with empty_share(broker.bootstrap, topic, accepted=accepted(topic)) as name:
        first = run_command(broker.bootstrap, "reset", name, "--topic", topic, "--to-earliest", *EXECUTE, home=tmp_path)
        assert lags(broker, name) == {0: RECORDS, 1: RECORDS}
    assert (first.code, "This discards the delivery state of 1 share group" in first.err) == (0, True)


def test_a_partition_without_a_start_offset_has_none_after_an_undo(broker: Cluster, topic: str, tmp_path: Path) -> None:
    with empty_share(broker.bootstrap, topic, accepted=accepted(topic)) as name:
        pass
    fresh = make_topic(broker.bootstrap, partitions=2, records=RECORDS)
    run_command(broker.bootstrap, "reset", name, "--topic", fresh, "--to-latest", *EXECUTE, home=tmp_path)
    assert run_command(broker.bootstrap, "undo", *EXECUTE, home=tmp_path).code == 0
    assert {key[1] for key, (start, _) in share_offsets(broker.bootstrap, name).items() if start < 0} >= {0, 1}
    # The group starts with the earliest records, as it is configured.
    with empty_share(broker.bootstrap, fresh, topic, accepted=[(fresh, 0, 0), (fresh, 1, 0)], name=name):
        pass


def test_deleted_start_offsets_and_groups_come_back(broker: Cluster, topic: str, tmp_path: Path) -> None:
    with empty_share(broker.bootstrap, topic, accepted=accepted(topic)) as name:
        before = {partition: start for partition, start in starts(broker, name).items() if start >= 0}
    part = run_command(broker.bootstrap, "delete-offsets", name, "--topic", f"{topic}:0", *EXECUTE, home=tmp_path)
    whole = run_command(broker.bootstrap, "delete-offsets", name, "--topic", topic, *EXECUTE, home=tmp_path)
    assert (part.code, "Kafka deletes start offsets of whole topics only" in part.err) == (1, True)
    assert (whole.code, starts(broker, name)) == (0, {})
    assert run_command(broker.bootstrap, "undo", *EXECUTE, home=tmp_path).code == 0
    assert starts(broker, name) == before
    assert run_command(broker.bootstrap, "delete", name, *EXECUTE, home=tmp_path).code == 0
    assert run_command(broker.bootstrap, "undo", *EXECUTE, home=tmp_path).code == 0
    assert starts(broker, name) == before
    with open_admin(broker.bootstrap) as admin:
        assert admin.list_groups(types=["Share"]).succeeded[name].state == "Empty"


def test_a_share_group_with_members_is_refused(broker: Cluster, topic: str, tmp_path: Path) -> None:
    commands = (("reset", "--topic", topic, "--to-earliest"), ("delete-offsets", "--topic", topic), ("delete",))
    with share(broker.bootstrap, topic) as name:
        refused = [
            run_command(broker.bootstrap, command, name, *options, *EXECUTE, home=tmp_path)
            for command, *options in commands
        ]
    assert [(each.code, "it is Stable with 1 member" in each.err) for each in refused] == [(1, True)] * 3
