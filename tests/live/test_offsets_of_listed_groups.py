"""Offsets of listed groups without commits, which are requested as start offsets, too."""

from __future__ import annotations

import pytest

from tests.live.conftest import Cluster
from tests.live.groups.clients import run_command
from tests.live.groups.members import stable
from tests.live.groups.topics import make_topic

pytestmark = pytest.mark.live


@pytest.mark.parametrize("brokers", ["cluster", "kafka_4_4", "kafka_2_8", "without_kinds"])
@pytest.mark.parametrize("selector", ["--match", "--named"])
def test_a_listed_group_without_commits_has_no_offsets(
    request: pytest.FixtureRequest, brokers: str, selector: str
) -> None:
    cluster = request.getfixturevalue(brokers)
    assert isinstance(cluster, Cluster)
    with stable(cluster.bootstrap, make_topic(cluster.bootstrap)) as group:
        selectors = ("--match", group) if selector == "--match" else (group, "--type", "Classic")
        listed = run_command(cluster.bootstrap, "offsets", *selectors, "--format", "json")
    note = [] if selector == "--match" else [f"Consumer group '{group}' has no committed offsets."]
    assert (listed.code, listed.notes) == (0, note)
    assert [(each["group"], each["offsets"]) for each in listed.json["groups"]] == [(group, [])]
