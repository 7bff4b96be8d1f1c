"""Notes on known resets on a real broker: those of other tools, and those of this tool's journal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.live.groups.clients import run_command
from tests.live.groups.members import commit_from_outside, simple
from tests.live.groups.topics import make_topic

if TYPE_CHECKING:
    from tests.live.conftest import Cluster

pytestmark = pytest.mark.live


def test_each_reset_is_one_note_and_no_rewind(cluster: Cluster, tmp_path: Path) -> None:
    topic = make_topic(cluster.bootstrap, partitions=1, records=9)
    bootstrap = cluster.bootstrap
    poll = ("lag", "--polls", str(tmp_path / "polls"), "--format", "json", "--fail-if", "verdict==REWIND")
    with simple(bootstrap, commits=[(topic, 0, 8)]) as name:
        first = run_command(bootstrap, *poll, name, home=tmp_path)
        commit_from_outside(bootstrap, [name], [(topic, 0, 5)])
        by_others = run_command(bootstrap, *poll, name, home=tmp_path)
        reset = ("reset", name, "--topic", topic, "--to-offset", "2", "--execute", "--yes")
        assert run_command(bootstrap, *reset, home=tmp_path).code == 0
        by_us = run_command(bootstrap, *poll, name, home=tmp_path)
        after = run_command(bootstrap, *poll, name, home=tmp_path)
    assert [result.code for result in (first, by_others, by_us, after)] == [0] * 4
    notes = [[note["text"] for note in result.json["notes"]] for result in (first, by_others, by_us, after)]
    assert [len(texts) for texts in notes] == [0, 1, 1, 0]
    assert f"its offset on {topic}-0 from 8 to 5 was set back between " in notes[1][0]
    assert "A poll saw the group without members" in notes[1][0]
    assert f"its offset on {topic}-0 from 5 to 2 was set back between " in notes[2][0]
    assert "of the journal did this" in notes[2][0]
