"""A journal in an object store: objects that are only created, and a plan that is read back before any change."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from kafka_groups.changes.change import Outcome, Status
from kafka_groups.changes.journal import RunHead, begin_run
from kafka_groups.changes.journal_location import JournalLocation, open_journal
from kafka_groups.changes.retention import delete_runs, old_runs
from kafka_groups.changes.runs import list_runs, read_run
from kafka_groups.errors import JournalError, SettingsError
from kafka_groups.files.root_directory import RootDirectory
from tests.changes.plans import CHANGES, NOON, plan
from tests.pipeline.store.object_stores import new_bucket, object_store

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with pytest.MonkeyPatch.context() as patch, object_store() as variables:
        for name, value in variables.items():
            patch.setenv(name, value)
        yield variables["AWS_ENDPOINT_URL"]


@pytest.fixture
def journal(endpoint: str) -> JournalLocation:
    return open_journal(f"s3://{new_bucket(endpoint)}/team/journal")


def test_a_run_is_read_as_it_was_written(journal: JournalLocation) -> None:
    writer = begin_run(journal, RunHead("reset", plan(*CHANGES[:2]), ("b1:9092",)))
    begun = read_run(journal, writer.id)
    writer.record([(0, Outcome(CHANGES[0], Status.DONE))])
    writer.record([(1, Outcome(CHANGES[1], Status.UNKNOWN))])
    writer.finish()
    finished = read_run(journal, writer.id)
    assert (begun.plan.changes, begun.outcomes, begun.is_finished) == (CHANGES[:2], {}, False)
    assert [finished.outcomes[at].status for at in (0, 1)] == [Status.DONE, Status.UNKNOWN]
    assert (finished.is_finished, finished.sequence) == (True, None)
    assert [(listed.run.id, listed.status) for listed in list_runs(journal).runs] == [(writer.id, "partly done")]


def test_objects_are_only_created(journal: JournalLocation, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr(RootDirectory, "write_small", refuse)
    writer = begin_run(journal, RunHead("reset", plan(*CHANGES[:1])))
    with pytest.raises(FileExistsError):
        journal.create(writer.id, b"another plan\n")
    writer.finish()
    with pytest.raises(JournalError, match="File exists; the changes were made"):
        writer.finish()


def test_a_plan_that_reads_back_differently_stops_the_run(
    journal: JournalLocation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RootDirectory, "read_small", lambda *_: b"{}\n")
    with pytest.raises(JournalError, match=r"the store returned another plan than the one .*; nothing was changed"):
        begin_run(journal, RunHead("reset", plan(*CHANGES[:1])))


def test_two_writers_at_once_lose_nothing(journal: JournalLocation) -> None:
    ids: list[str] = []

    def write(command: str) -> None:
        for _ in range(3):
            writer = begin_run(journal, RunHead(command, plan(*CHANGES[:1])))
            writer.record([(0, Outcome(CHANGES[0], Status.DONE))])
            writer.finish()
            ids.append(writer.id)

    threads = [threading.Thread(target=write, args=(name,)) for name in ("reset", "delete")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    listed = list_runs(journal)
    assert sorted(each.run.id for each in listed.runs) == sorted(ids)
    assert (len(ids), listed.notes, {each.status.value for each in listed.runs}) == (6, (), {"done"})


def test_old_runs_are_removed_with_all_their_objects(journal: JournalLocation) -> None:
    old = begin_run(journal, RunHead("reset", plan()), clock=lambda: NOON)
    old.finish()
    recent = begin_run(journal, RunHead("reset", plan()))
    delete_runs(journal, old_runs(journal, before=NOON.replace(day=24)))
    assert [listed.run.id for listed in list_runs(journal).runs] == [recent.id]


@pytest.mark.parametrize("address", ["s3://bucket", "ftp://host/journal", "s3://"])
def test_an_address_that_is_no_journal_is_refused(address: str) -> None:
    with pytest.raises(SettingsError, match=r"^--journal: .* is no address of a journal"):
        open_journal(address)
