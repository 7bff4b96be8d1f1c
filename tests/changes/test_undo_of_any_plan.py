"""Any plan on any commits: its undo restores all of them."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from kafka_groups.changes.change import Action, Change, to_change
from kafka_groups.model import CommittedOffset, TopicPartition
from tests.changes.recorded_runs import change, take_back
from tests.fakes.scripted_cluster import Commit, Group, ScriptedCluster

DELETE = Action.DELETE_GROUP

_commits = st.builds(
    Commit, st.integers(0, 2**63 - 1), st.integers(-1, 2**31 - 1), st.text(st.characters(codec="utf-8"), max_size=4)
)
_KEYS = [("t", 0), ("t", 1), ("u", 0)]
_groups = st.builds(
    Group,
    state=st.just("Empty"),
    commits=st.dictionaries(st.sampled_from(_KEYS), _commits, max_size=3),
)
_ACTIONS = (None, Action.COMMIT, Action.DELETE_OFFSETS)


@st.composite
def _planned_changes(draw: st.DrawFn, groups: dict[str, Group]) -> list[Change]:
    made: list[Change] = []
    for name, group in groups.items():
        before = {key: _committed(group, key) for key in _KEYS}
        is_deleted: bool = draw(st.booleans())
        if is_deleted and group.commits:
            made += [to_change(DELETE, name, TopicPartition(*key), at) for key, at in before.items() if at is not None]
            continue
        for key, at in before.items():
            action = draw(st.sampled_from(_ACTIONS))
            after = CommittedOffset(draw(st.integers(0, 2**63 - 1)), None, "") if action is Action.COMMIT else None
            if action is not None:
                made.append(to_change(action, name, TopicPartition(*key), at, after))
    return made


def _committed(group: Group, key: tuple[str, int]) -> CommittedOffset | None:
    found = group.commits.get(key)
    assert found is None or isinstance(found, Commit)
    return (
        None
        if found is None
        else CommittedOffset(found.offset, found.epoch if found.epoch >= 0 else None, found.metadata or "")
    )


def test_undo_after_any_run_restores_offset_epoch_and_metadata_of_each_partition(tmp_path: Path) -> None:
    with ScriptedCluster(brokers=1, topics={"t": {0: 1, 1: 1}, "u": {0: 1}}) as cluster, cluster.admin() as admin:

        @hypothesis_settings(max_examples=20)
        @given(st.dictionaries(st.sampled_from("abc"), _groups, min_size=1), st.booleans(), st.data())
        def check(groups: dict[str, Group], is_killed: bool, data: st.DataObject) -> None:
            before = {name: dict(group.commits) for name, group in groups.items()}
            changes = data.draw(_planned_changes(groups))
            if not changes:
                return
            cluster.groups = groups
            run_id = change(admin, tmp_path, *changes, is_killed=is_killed)
            assert set(take_back(admin, tmp_path, run_id)) <= {"done"}
            assert {name: dict(cluster.groups.get(name, Group()).commits) for name in before} == before
            (tmp_path / f"{run_id}.jsonl").unlink()

        check()
