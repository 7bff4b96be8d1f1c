"""Notes of `describe`: which groups have no members, are rebalancing or have no rows."""

from __future__ import annotations

from kafka_groups.commits import CommitTuple
from kafka_groups.groups.descriptions import DescribedGroups
from kafka_groups.groups.notes import Note, NoteKind
from kafka_groups.model import Assignment, Failure, GroupDescription, GroupOffsets, Member
from kafka_groups.rendering.views.describe import DescribeView, note_states
from tests.note_texts import subjects_of

NAMELESS: frozenset[str] = frozenset()


def group(name: str, state: str | None = "Empty", *members: Member) -> GroupDescription:
    return GroupDescription(
        group=name, type="Classic", state=state, protocol_type="consumer", coordinator=None, members=members
    )


def member(*partitions: int) -> Member:
    return Member("m", None, "c", "/h", (Assignment("t", partitions),))


def described(
    *groups: GroupDescription, offsets: dict[str, GroupOffsets] | None = None, failures: tuple[Failure, ...] = ()
) -> DescribedGroups:
    return DescribedGroups(
        descriptions={each.group: each for each in groups},
        offsets=offsets or {},
        log_end_offsets={},
        log_start_offsets={},
        failures=failures,
        notes=(),
    )


def view(name: str) -> DescribeView:
    return DescribeView(name=name, verbose=False, output_format="table")


def test_empty_groups_are_reported_before_rebalancing_ones() -> None:
    groups = [group("a", "PreparingRebalance"), group("b"), group("c", "Stable"), group("d", None)]
    assert note_states(groups, named=NAMELESS) == [
        Note(NoteKind.NO_ACTIVE_MEMBERS, "b", "Consumer group 'b' has no active members."),
        Note(NoteKind.REBALANCING, "a", "Warning: Consumer group 'a' is rebalancing."),
    ]


def test_more_than_twenty_groups_that_the_user_did_not_name_are_counted() -> None:
    groups = [group(f"g{at:02}") for at in range(21)]
    kind = NoteKind.NO_ACTIVE_MEMBERS
    few, many = note_states(groups[:20], named=NAMELESS), note_states(groups, named=NAMELESS)
    assert few[19] == Note(kind, "g19", "Consumer group 'g19' has no active members.")
    assert many == [Note(kind, None, "21 consumer groups have no active members.")]


def test_a_named_group_has_a_note_of_its_own_beside_the_number_of_the_others() -> None:
    groups = [group(f"g{at:02}") for at in range(22)]
    kind = NoteKind.NO_ACTIVE_MEMBERS
    assert note_states(groups, named=frozenset({"g00"})) == [
        Note(kind, "g00", "Consumer group 'g00' has no active members."),
        Note(kind, None, "21 more consumer groups have no active members."),
    ]


def test_a_group_without_commits_and_assignments_has_no_rows() -> None:
    uncommitted = CommitTuple(((0, None, None, None),))
    groups = described(
        group("assigned", "Stable", member(0)),
        group("committed"),
        group("nothing"),
        group("unassigned", "Stable", member()),
        group("unknown"),
        offsets={
            "assigned": GroupOffsets(),
            "committed": GroupOffsets([("t", uncommitted)]),
            "nothing": GroupOffsets([("t", CommitTuple())]),
            "unassigned": GroupOffsets(),
        },
    )
    notes = view("offsets").notes_after_rows(groups, named=NAMELESS)
    assert subjects_of(notes) == [(NoteKind.NO_OFFSETS, group) for group in ("nothing", "unassigned", "unknown")]
    assert notes[0].text == "Consumer group 'nothing' has no committed offsets and no assigned partitions."


def test_only_the_view_of_offsets_reports_groups_without_rows() -> None:
    assert [view(name).notes_after_rows(described(group("a")), named=NAMELESS) for name in ("members", "state")] == [
        [],
        [],
    ]


def test_an_id_that_is_the_name_of_a_state_has_a_hint_in_the_view_of_states_only() -> None:
    absent = [Failure(group=name, code=69, name="GROUP_ID_NOT_FOUND", message="") for name in ("stable", "other")]
    groups = described(failures=(*absent, absent[0]._replace(name="TIMEOUT")))
    text = "'stable' was read as a group id; for groups in that state, use --in-state Stable"
    assert view("state").notes(groups, named=NAMELESS) == [Note(NoteKind.NAME_OF_STATE, "stable", text)]
    assert view("offsets").notes(groups, named=NAMELESS) == []
