"""Which run an undo without an ID takes: the newest one, whatever became of it, and never an older one in its place."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from kafka_groups.changes.change import Action, Change, Status
from kafka_groups.changes.undo_choice import choose_named_run, choose_newest_run
from kafka_groups.errors import JournalError
from tests.changes.written_runs import BACK, DONE, FAILED, RESETS, UNKNOWN, Journal

REMOVAL = Change(Action.REMOVE_MEMBER, "a", member_id="m")
SAME = RESETS[0]._replace(new_offset=5)
SERVERS = ("b1:9092", "b2:9092")


@pytest.fixture
def runs(tmp_path: Path) -> Journal:
    return Journal(tmp_path)


def choose(runs: Journal, *servers: str, cluster_id: str = "cluster") -> str:
    """Return the ID of the run that an undo without an ID takes."""
    return choose_newest_run(runs.location, cluster_id=cluster_id, bootstrap_servers=servers or SERVERS).id


def refusal(runs: Journal, *servers: str) -> str:
    """Return why an undo without an ID takes no run."""
    with pytest.raises(JournalError) as caught:
        choose(runs, *servers)
    return str(caught.value)


def make_old(runs: Journal, run_id: str) -> None:
    """Rewrite the record of a run as an earlier version wrote it: without a sequence."""
    content = runs.path(run_id).read_text()
    content = re.sub('"sequence": [0-9]+', '"sequence": null', content)
    runs.path(run_id).write_text(content.replace("journal/2", "journal/1"))


@pytest.mark.parametrize("step", [timedelta(seconds=1), timedelta(0), timedelta(days=-1)])
def test_the_newest_run_is_taken_whatever_the_clock_says(runs: Journal, step: timedelta) -> None:
    runs.run(step=step)
    newest = runs.run(step=step)
    assert choose(runs) == newest


@pytest.mark.parametrize("statuses", [(DONE, FAILED, DONE), (DONE, UNKNOWN, DONE), (UNKNOWN, UNKNOWN, UNKNOWN)])
def test_a_run_that_changed_a_part_is_taken(runs: Journal, statuses: tuple[Status, ...]) -> None:
    runs.run()
    newest = runs.run(RESETS, *statuses)
    assert choose(runs) == newest


def test_a_run_that_was_interrupted_is_taken(runs: Journal) -> None:
    newest = runs.run(finish=False)
    assert choose(runs) == newest


def test_an_undo_is_not_taken_and_the_run_that_it_undid_neither(runs: Journal) -> None:
    first, second = runs.run(), runs.run()
    runs.run(BACK, undoes=second)
    assert choose(runs) == first


def test_a_run_whose_undo_was_undone_is_taken_again(runs: Journal) -> None:
    newest = runs.run()
    undo = runs.run(BACK, undoes=newest)
    runs.run(RESETS, undoes=undo)
    assert choose(runs) == newest


@pytest.mark.parametrize(
    ("changes", "statuses", "head", "reason"),
    [
        ([SAME], (DONE,), {}, "(reset, unchanged, 2026-11-23 12:00:02 UTC), changed nothing"),
        ([], (), {"refused": 3}, "(reset, unchanged, 2026-11-23 12:00:02 UTC), changed nothing"),
        ([], (), {}, "(reset, unchanged, 2026-11-23 12:00:02 UTC), changed nothing"),
        ([], (), {"failures": 1}, "(reset, failed, 2026-11-23 12:00:02 UTC), changed nothing"),
        (RESETS, (FAILED, FAILED, FAILED), {}, "(reset, failed, 2026-11-23 12:00:02 UTC), changed nothing"),
        ([REMOVAL], (DONE,), {}, "removed members, which cannot be undone"),
        ([Change(Action.DELETE_GROUP, "a")], (DONE,), {}, "changed no commit, so nothing can be restored"),
    ],
)
def test_a_newest_run_that_changed_no_commit_is_named_and_the_one_before_it_needs_its_id(
    runs: Journal, changes: list[Change], statuses: tuple[Status, ...], head: dict[str, Any], reason: str
) -> None:
    before = runs.run()
    newest = runs.run(changes, *statuses, **head)
    text = refusal(runs)
    assert text.startswith(f"the newest run, {newest} (")
    assert reason in text
    assert f"the run before it that can be undone is {before} (reset, done, " in text
    assert text.endswith("give the ID of a run to undo it")


def test_a_newest_run_that_is_partly_undone_is_named(runs: Journal) -> None:
    before, newest = runs.run(), runs.run()
    runs.run(BACK[:2], undoes=newest, refused=1)
    text = refusal(runs)
    assert text.startswith(f"the newest run, {newest} (reset, partly undone, ")
    assert f"; the run before it that can be undone is {before} " in text


def test_runs_of_other_clusters_do_not_count(runs: Journal) -> None:
    runs.run()
    with pytest.raises(JournalError, match="no recorded change of cluster other can be undone"):
        choose(runs, cluster_id="other")


@pytest.mark.parametrize("servers", [("b1:9092",), ("x:1", "B1:9092"), ("b1.:9092",)])
def test_one_common_server_is_enough(runs: Journal, servers: tuple[str, ...]) -> None:
    newest = runs.run()
    assert choose(runs, *servers) == newest


@pytest.mark.parametrize("servers", [("b1:9093",), ("other:9092",)])
def test_a_run_through_other_servers_needs_its_id(runs: Journal, servers: tuple[str, ...]) -> None:
    newest = runs.run()
    assert refusal(runs, *servers) == (
        f"run {newest} changed a cluster with this id through b1:9092, and this is {servers[0]}; "
        "if it is the same cluster, give the ID of the run"
    )
    assert choose_named_run(runs.location, newest, cluster_id="cluster").id == newest


def test_two_runs_of_one_moment_need_an_id(runs: Journal) -> None:
    first = runs.run()
    path = runs.path(first)
    twin = runs.path("20261123-120001-abc")
    twin.write_text(path.read_text().replace(first, "20261123-120001-abc"))
    assert refusal(runs) == (
        f"the runs 20261123-120001-abc and {first} were made at the same time; give the ID of one of them"
    )


def test_runs_of_an_earlier_version_need_their_id(runs: Journal) -> None:
    old = runs.run()
    make_old(runs, old)
    assert refusal(runs) == f"run {old} was recorded without an order, by an earlier version; give its ID to undo it"
    newest = runs.run()
    assert choose(runs) == newest


@pytest.mark.parametrize("step", [timedelta(hours=-1), timedelta(milliseconds=-1)])
def test_a_later_run_of_an_earlier_version_may_be_the_newest(runs: Journal, step: timedelta) -> None:
    old = runs.run(step=step)
    newest = runs.run(step=step)
    make_old(runs, old)
    assert refusal(runs) == (
        f"run {old} was recorded without an order, by an earlier version, and it may be the newest; "
        "give the ID of a run"
    )
    assert choose_named_run(runs.location, newest, cluster_id="cluster").id == newest


def test_a_later_run_of_an_earlier_version_that_cannot_be_meant_does_not_matter(runs: Journal) -> None:
    old = runs.run(step=timedelta(hours=-1), command="undo")
    newest = runs.run(step=timedelta(hours=-1))
    make_old(runs, old)
    assert choose(runs) == newest


@pytest.mark.parametrize(("name", "is_refused"), [("20261123-130000-a3f9c1", True), ("20261123-110000-a3f9c1", False)])
@pytest.mark.parametrize("content", ["{}\n", '{"schema"'], ids=["damaged", "without a head"])
def test_a_record_that_cannot_be_read_may_be_the_newest(
    runs: Journal, name: str, is_refused: bool, content: str
) -> None:
    newest = runs.run()
    runs.path(name).write_text(content)
    if is_refused:
        assert (
            refusal(runs) == f"the record of run {name} cannot be read, and it may be the newest; give the ID of a run"
        )
    else:
        assert choose(runs) == newest


def test_a_run_of_another_cluster_is_refused_by_its_id(runs: Journal) -> None:
    newest = runs.run()
    with pytest.raises(JournalError, match=f"{newest} changed cluster cluster, and this is other; name its brokers"):
        choose_named_run(runs.location, newest, cluster_id="other")
