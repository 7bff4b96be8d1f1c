"""The rows of a file for one command: which changes, of which groups, for which cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kafka_groups.changes.change import Action
from kafka_groups.changes.plan_file import format_plan
from kafka_groups.changes.plan_rows import NO_FILE, PlanRows, read_plan_rows, read_reset_rows
from kafka_groups.errors import PlanFileError
from kafka_groups.groups.notes import Note, NoteKind
from kafka_groups.model import TopicPartition
from tests.changes.plans import CHANGES, plan
from tests.fakes.fake_admin import FakeCluster

if TYPE_CHECKING:
    from pytest_mock import MockerFixture

PLAN = format_plan(plan(*CHANGES))


@pytest.mark.parametrize(
    ("action", "others"), [(Action.COMMIT, 7), (Action.DELETE_OFFSETS, 7), (Action.DELETE_GROUP, 7)]
)
def test_changes_of_other_commands_are_skipped_with_a_note(action: Action, others: int) -> None:
    rows = read_plan_rows(PLAN, name="f", actions=(action,))
    assert rows.rows == tuple(change for change in CHANGES if change.action is action)
    text = f"{others} changes of the plan are for other commands and are skipped."
    assert rows.notes == (Note(NoteKind.SKIPPED_ROWS, None, text),)
    assert (rows.name, rows.cluster_id, rows.is_empty()) == ("f", "cluster", False)


def test_a_plan_for_one_command_alone_has_no_note() -> None:
    assert read_plan_rows(format_plan(plan(CHANGES[0])), name="f", actions=(Action.COMMIT,)).notes == ()


def test_reset_reads_a_plan_or_a_csv() -> None:
    assert read_reset_rows(PLAN, name="f", groups=()).rows == (*CHANGES[:2], CHANGES[7])
    rows = read_reset_rows("t,1,7\nt,0,5\n", name="f", groups=("g",))
    assert [(row.group, row.key, row.new_offset, row.before) for row in rows.rows] == [
        ("g", TopicPartition("t", 0), 5, None),
        ("g", TopicPartition("t", 1), 7, None),
    ]
    assert (rows.cluster_id, rows.notes) == (None, ())


def test_a_file_without_rows_for_the_command_is_empty_and_no_file_is_not() -> None:
    empty = read_plan_rows(format_plan(plan(CHANGES[0])), name="f", actions=(Action.DELETE_GROUP,))
    assert (empty.is_empty(), NO_FILE.is_empty()) == (True, False)
    assert (empty.groups, empty.named_topics()) == ((), {})


def test_rows_of_other_groups_are_skipped_with_a_note() -> None:
    rows = read_plan_rows(PLAN, name="f", actions=(Action.DELETE_GROUP,))
    kept = rows.select(lambda group: group == "empty")
    note = Note(NoteKind.SKIPPED_ROWS, None, "1 rows of the file belong to other groups and are skipped.")
    assert (kept.groups, kept.notes[1:]) == (("empty",), (note,))
    assert rows.select(lambda _: True) == rows
    assert rows.select(lambda _: False).is_empty()


def test_the_topics_of_all_rows_are_named_once_and_in_order() -> None:
    text = "b,t,1,1\na,u,0,1\na,t,10,1\na,t,9,1\nb,t,9,1\n"
    rows = read_reset_rows(text, name="f", groups=())
    assert rows.named_topics() == {"t": (1, 9, 10), "u": (0,)}
    assert rows.groups == ("a", "b")
    assert list(rows.by_partition("b")) == [("t", 1), ("t", 9)]


@pytest.mark.parametrize(("cluster_id", "is_same"), [("fake", True), ("other", False), (None, True)])
def test_a_plan_of_another_cluster_is_refused(mocker: MockerFixture, cluster_id: str | None, is_same: bool) -> None:
    cluster = FakeCluster(mocker)
    cluster.admin.cluster_id.return_value = "fake"
    rows = PlanRows("f", CHANGES[:1], cluster_id)
    if is_same:
        rows.require_cluster(cluster.admin)
    else:
        with pytest.raises(PlanFileError) as caught:
            rows.require_cluster(cluster.admin)
        assert str(caught.value) == "f is a plan of cluster other, and this is fake; nothing was changed"
