"""Notes in JSON documents: each kind of note, and each note once in the document and once on stderr."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pytest

from kafka_groups.admin.api import RecordPosition, RecordTime
from kafka_groups.changes.change import Action, Change
from kafka_groups.changes.plan_file import format_plan
from kafka_groups.groups.notes import NoteKind
from kafka_groups.model import CommittedOffset, TopicPartition
from tests.changes.plans import plan
from tests.commands.change_commands import answer, journal_files
from tests.commands.recorded_changes import reset
from tests.fakes.command_line import Outcome, run
from tests.fakes.fake_admin import CLUSTER_ID, FakeCluster, failure, member, unreachable

if TYPE_CHECKING:
    from pytest_mock import MockerFixture

Prepare = Callable[[FakeCluster, Path], tuple[str, ...]]
RESET: Final = ("reset", "a", "--all-topics", "--to-earliest")
FIRST: Final = TopicPartition("t", 0)


class Case(NamedTuple):
    """A command whose document has a note on this group. What `prepare` returns are more arguments."""

    command: str
    group: str | None = None
    prepare: Prepare = lambda _cluster, _directory: ()


@pytest.fixture(autouse=True)
def groups(cluster: FakeCluster) -> None:
    """Add groups that commands have notes on; `a` has a commit on one of two partitions."""
    cluster.end("t", 100, 50, starts=(10, 0))
    cluster.add("a", commits={("t", 0): 60})
    cluster.add("bare", state="Stable", members=[member("m")])
    cluster.add("moving", state="PreparingRebalance", members=[member("m")], commits={("t", 0): 60})
    cluster.add("unreadable", state="Stable", members=[member("m")._replace(assignment=None)])
    cluster.add("twins", state="Stable", members=[member("m1", {"t": (0,)}), member("m2", {"t": (0,)})])
    cluster.add("queue", kind="Queue", protocol_type="queue")
    cluster.add("deleted", state="Stable")
    del cluster.descriptions["deleted"]


def remove_groups(cluster: FakeCluster, _: Path) -> tuple[str, ...]:
    """Remove all groups from the listing."""
    cluster.listings.clear()
    return ()


def assign_unknown_topic(cluster: FakeCluster, _: Path) -> tuple[str, ...]:
    """Add a group that is assigned partitions of a topic id that no topic has."""
    unknown = {"x": failure("UNKNOWN_TOPIC_ID", code=100, group="ids")}
    cluster.add("ids", state="Stable", kind="Consumer", members=[member("m")], unnamed_topics=unknown)
    return ()


def add_unreadable_worker(cluster: FakeCluster, _: Path) -> tuple[str, ...]:
    """Add a Connect group whose worker is unreadable."""
    cluster.add("workers", state="Stable", protocol_type="connect", members=[member("w")])
    return ()


def use_old_brokers(cluster: FakeCluster, _: Path) -> tuple[str, ...]:
    """Let the brokers know no open transactions."""
    cluster.is_stable = False
    return ()


def add_application(cluster: FakeCluster, _: Path) -> tuple[str, ...]:
    """Add a streams group with a commit on an internal topic."""
    commits = {("wc-counts-repartition", 0): 5, ("t", 0): 60}
    cluster.add("wc", kind="Streams", protocol_type="streams", commits=commits)
    return ()


def add_unknown_start_offset(cluster: FakeCluster, _: Path) -> tuple[str, ...]:
    """Add a share group whose only start offset is unknown."""
    cluster.add("s", kind="Share", protocol_type="share", commits={("t", 0): None})
    return ()


def write_plan(_: FakeCluster, directory: Path) -> tuple[str, ...]:
    """Write a plan with a row for another command."""
    file = directory / "plan.json"
    rows = (Change(Action.DELETE_OFFSETS, "a", "t", 0, 60), Change(Action.DELETE_GROUP, "bare"))
    file.write_text(format_plan(plan(*rows, cluster_id=CLUSTER_ID)))
    return ("--from-file", str(file))


def commit_on_deleted_topic(cluster: FakeCluster, _: Path) -> tuple[str, ...]:
    """Add a commit on a topic that does not exist."""
    cluster.add("a", commits={("t", 0): 60, ("gone", 0): 5})
    return ()


def change(_: FakeCluster, __: Path) -> tuple[str, ...]:
    """Record a reset."""
    reset()
    return ()


def change_without_topic_ids(cluster: FakeCluster, _: Path) -> tuple[str, ...]:
    """Record a reset on brokers that return no topic ids."""
    cluster.topic_ids["t"] = None
    reset()
    return ()


def change_and_take_back(cluster: FakeCluster, _: Path) -> tuple[str, ...]:
    """Record a reset, and commit the offset before it again."""
    reset()
    cluster.set_commits("a", {FIRST: CommittedOffset(60, None, "")})
    return ()


def damage_record(_: FakeCluster, __: Path) -> tuple[str, ...]:
    """Damage the record of a reset."""
    reset()
    journal_files()[0].write_text("damaged\n")
    return ()


def poll_before_reset(cluster: FakeCluster, directory: Path) -> tuple[str, ...]:
    """Poll a commit that the next poll finds set back, without a member."""
    cluster.admin.cluster_id.side_effect = lambda **_: CLUSTER_ID
    file = str(directory / "polls")
    assert run("lag", "a", "--polls", file).exit_code == 0
    cluster.add("a", commits={("t", 0): 20})
    return ("--polls", file)


def refuse_configurations(cluster: FakeCluster, directory: Path) -> tuple[str, ...]:
    """Refuse the configuration of a topic with an old record that is not processed."""
    cluster.admin.cluster_id.side_effect = lambda **_: CLUSTER_ID
    cluster.records = {RecordPosition("t", 0, 60): RecordTime(60, 1_000)}
    cluster.config_failures = {"t": failure("TOPIC_AUTHORIZATION_FAILED", code=29)}
    return ("--polls", str(directory / "polls"))


def add_many_groups(cluster: FakeCluster, _directory: Path) -> tuple[str, ...]:
    """Add more other groups than are compared."""
    for number in range(201):
        cluster.add(f"other-{number}", commits={("t", 0): 1})
    return ()


CASES: Mapping[NoteKind, Case] = {
    NoteKind.NO_MATCH: Case("lag --match nope"),
    NoteKind.NO_GROUPS: Case("list", prepare=remove_groups),
    NoteKind.SKIPPED_GROUPS: Case("offsets --all-groups"),
    NoteKind.DELETED_MEANWHILE: Case("describe --all-groups"),
    NoteKind.NO_ACTIVE_MEMBERS: Case("describe a", "a"),
    NoteKind.REBALANCING: Case("describe moving", "moving"),
    NoteKind.NO_OFFSETS: Case("offsets bare", "bare"),
    NoteKind.UNKNOWN_OFFSETS: Case("offsets s", "s", prepare=add_unknown_start_offset),
    NoteKind.NAME_OF_STATE: Case("describe --state stable", "stable"),
    NoteKind.UNKNOWN_TOPIC_ID: Case("describe ids", prepare=assign_unknown_topic),
    NoteKind.UNREADABLE_ASSIGNMENT: Case("lag unreadable", "unreadable"),
    NoteKind.UNREADABLE_WORKER: Case("describe workers", "workers", prepare=add_unreadable_worker),
    NoteKind.SHARED_PARTITIONS: Case("describe twins", "twins"),
    NoteKind.NO_GROUP_OF_TOPIC: Case("list --topic t:1 a"),
    NoteKind.NO_ORPHANS: Case("orphans a"),
    NoteKind.ISOLATION: Case("lag a --isolation committed"),
    NoteKind.CONDITION_UNCHECKED: Case("wait --match nope --until lag<=0"),
    NoteKind.SKIPPED_ROWS: Case("delete-offsets", prepare=write_plan),
    NoteKind.TIME_READ: Case("reset a --topic t --to-datetime 1764000000000"),
    NoteKind.OPEN_TRANSACTIONS_UNKNOWN: Case(" ".join(RESET), prepare=use_old_brokers),
    NoteKind.TOPIC_IDS_UNKNOWN: Case("undo", prepare=change_without_topic_ids),
    NoteKind.UNRESTORABLE: Case("delete a", prepare=commit_on_deleted_topic),
    NoteKind.INTERNAL_TOPICS: Case("reset wc --all-topics --to-earliest", "wc", prepare=add_application),
    NoteKind.LEFT_PARTITIONS: Case(" ".join(RESET), "a"),
    NoteKind.UNCHANGED: Case("undo", prepare=change_and_take_back),
    NoteKind.UNDO: Case("undo", prepare=change),
    NoteKind.JOURNAL: Case("undo --list", prepare=damage_record),
    NoteKind.SUMMARY: Case("delete a"),
    NoteKind.KNOWN_RESET: Case("lag a", "a", prepare=poll_before_reset),
    NoteKind.RETENTION_UNKNOWN: Case("lag a --time", prepare=refuse_configurations),
    NoteKind.OTHER_GROUPS_SAMPLED: Case("why a --samples 1", prepare=add_many_groups),
    NoteKind.WAITING: Case("wait nope --until lag<=0 --for 1ms", "nope"),
}


def notes_of(outcome: Outcome) -> list[tuple[str, str | None]]:
    """Return the kind and the group of each note of a document; each is printed once on stderr."""
    notes: list[dict[str, Any]] = json.loads(outcome.stdout)["notes"]
    assert [outcome.stderr.count(f"{note['text']}\n") for note in notes] == [1] * len(notes)
    return [(note["kind"], note["group"]) for note in notes]


def test_every_kind_of_note_has_a_case() -> None:
    # The note on one cluster of several profiles is in test_several_clusters; that on trouble is for terminals alone.
    assert CASES.keys() == set(NoteKind) - {NoteKind.SAME_CLUSTER, NoteKind.TROUBLE}


@pytest.mark.parametrize("kind", CASES)
def test_a_note_is_in_the_document_with_its_kind_and_group(
    cluster: FakeCluster, tmp_path: Path, kind: NoteKind
) -> None:
    case = CASES[kind]
    more = case.prepare(cluster, tmp_path)
    outcome = run(*case.command.split(), *more, "--format", "json")
    assert (kind.value, case.group) in notes_of(outcome)


@pytest.mark.parametrize("output_format", ["table", "csv", "ndjson"])
def test_other_formats_have_the_same_notes_on_stderr(output_format: str) -> None:
    assert run("describe", "a", "bare", "--format", output_format).stderr == run("describe", "a", "bare").stderr
    documented = json.loads(run("describe", "a", "bare", "--format", "json").stdout)["notes"]
    texts = [note["text"] for note in documented]
    assert run("describe", "a", "bare", "--format", output_format).stderr.splitlines() == texts


def test_notes_that_are_printed_before_the_prompt_are_in_the_document_and_not_printed_again(
    mocker: MockerFixture,
) -> None:
    outcome = answer(mocker, "y\n", *RESET, "--execute", "--format", "json")
    assert notes_of(outcome) == [("left_partitions", "a"), ("summary", None)]


def test_the_summary_of_outcomes_is_a_note_of_its_own_if_it_is_not_that_of_the_plan(
    mocker: MockerFixture, cluster: FakeCluster
) -> None:
    cluster.add("b", commits={("t", 0): 60, ("t", 1): 7})
    cluster.refused_items["b", FIRST] = failure("TIMEOUT", code=None, group="b")
    outcome = answer(mocker, "y\n", "reset", "b", "--all-topics", "--to-earliest", "--execute", "--format", "json")
    assert [note["text"] for note in json.loads(outcome.stdout)["notes"]] == [
        "1 group, 2 partitions, 57 records to read again, 0 records to skip.",
        "1 group, 1 partition, 7 records to read again, 0 records to skip.",
    ]
    assert notes_of(outcome) == [("summary", None)] * 2


@pytest.mark.parametrize("interrupts", [True, False])
def test_a_change_that_the_user_declines_or_interrupts_has_the_notes_of_the_plan(
    mocker: MockerFixture, interrupts: bool
) -> None:
    outcome = answer(mocker, "n\n", *RESET, "--execute", "--format", "json", interrupts=interrupts)
    assert outcome.exit_code == (130 if interrupts else 1)
    assert notes_of(outcome) == [("left_partitions", "a"), ("summary", None)]


@pytest.mark.parametrize(("error", "code"), [(KeyboardInterrupt(), 130), (unreachable(), 1)])
def test_a_command_that_ends_early_has_the_notes_that_were_printed(
    cluster: FakeCluster, error: BaseException, code: int
) -> None:
    cluster.refuse(error)
    outcome = run("lag", "--isolation", "committed", "--format", "json")
    assert (outcome.exit_code, json.loads(outcome.stdout)["status"]) == (code, "failed")
    assert notes_of(outcome) == [("isolation", None)]


def test_a_condition_that_is_not_checked_is_a_note_behind_that_on_the_selection() -> None:
    outcome = run("lag", "--match", "nope", "--fail-if", "lag>0", "--format", "json")
    assert outcome.exit_code == 1
    assert notes_of(outcome) == [("no_match", None), ("condition_unchecked", None)]


def test_a_note_on_several_groups_names_none(cluster: FakeCluster) -> None:
    for number in range(21):
        cluster.add(f"g{number:02}", commits={("t", 0): 1})
    notes = notes_of(run("describe", "--match", r"g\d+", "--format", "json"))
    assert notes == [("no_active_members", None)]
