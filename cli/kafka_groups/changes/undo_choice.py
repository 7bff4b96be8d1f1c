"""Which run `undo` takes: the one with the ID that the user gives, or the newest one on the cluster.

The newest run is the one that the user has just made, whatever became of it. If it changed nothing, an older run is
somebody's intention, and is never taken in its place.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from kafka_groups.changes.change import Action
from kafka_groups.changes.journal_location import JournalLocation
from kafka_groups.changes.run_record import Run
from kafka_groups.changes.run_status import RunStatus
from kafka_groups.changes.runs import ListedRun, RunList, list_runs, read_run
from kafka_groups.errors import JournalError

_LIST: Final = "`kafka-groups undo --list` lists all runs"


def choose_named_run(location: JournalLocation, run_id: str, *, cluster_id: str) -> Run:
    """Return the run with an ID; raise JournalError if there is none, or if it belongs to another cluster."""
    run = read_run(location, run_id)
    if run.plan.cluster_id != cluster_id:
        msg = f"{run.id} changed cluster {run.plan.cluster_id}, and this is {cluster_id}; name its brokers with -b"
        raise JournalError(msg)
    return run


def choose_newest_run(location: JournalLocation, *, cluster_id: str, bootstrap_servers: Collection[str]) -> Run:
    """Return the newest run on the cluster that is no undo and is not undone.

    Raises JournalError if there is none, if it cannot be undone or changed nothing, or if it is not certain that it is
    the newest one, or that its cluster is the one with these bootstrap servers.
    """
    listed = list_runs(location)
    candidates = [each for each in listed.runs if _is_candidate(each, cluster_id)]
    if not candidates:
        msg = f"no recorded change of cluster {cluster_id} can be undone; {_LIST}"
        raise JournalError(msg)
    newest = candidates[0]
    _require_order(listed, candidates)
    if (reason := _refusal(newest)) is not None:
        older = next((each for each in candidates[1:] if _refusal(each) is None), None)
        step = "" if older is None else f"; the run before it that can be undone is {older.run.id} ({_describe(older)})"
        msg = f"the newest run, {newest.run.id} ({_describe(newest)}), {reason}{step}; give the ID of a run to undo it"
        raise JournalError(msg)
    _require_servers(newest.run, bootstrap_servers)
    return newest.run


def _is_candidate(listed: ListedRun, cluster_id: str) -> bool:
    run = listed.run
    is_of_cluster = run.is_whole and run.plan.cluster_id == cluster_id
    return is_of_cluster and run.command != "undo" and listed.status is not RunStatus.UNDONE


def _describe(listed: ListedRun) -> str:
    return f"{listed.run.command}, {listed.status}, {listed.run.created_at:%Y-%m-%d %H:%M:%S} UTC"


def _refusal(listed: ListedRun) -> str | None:
    """Return why a run is not taken without its ID; None if it is."""
    run = listed.run
    if listed.status is RunStatus.PARTLY_UNDONE:
        return "is partly undone"
    if listed.status in {RunStatus.UNCHANGED, RunStatus.FAILED}:
        return "changed nothing"
    if run.changed():
        return None
    if any(change.action is Action.REMOVE_MEMBER for change in run.plan.changes):
        return "removed members, which cannot be undone"
    return "changed no commit, so nothing can be restored"


def _require_order(listed: RunList, candidates: list[ListedRun]) -> None:
    """Raise JournalError if another run may be the newest one."""
    newest = candidates[0].run
    if newest.sequence is None:
        msg = f"run {newest.id} was recorded without an order, by an earlier version; give its ID to undo it"
        raise JournalError(msg)
    twins = [each.run.id for each in candidates if each.run.sequence == newest.sequence]
    if len(twins) > 1:
        msg = f"the runs {' and '.join(sorted(twins))} were made at the same time; give the ID of one of them"
        raise JournalError(msg)
    # Runs without a sequence, of earlier versions, are listed after all others. Only their times show their order.
    second = newest.created_at.replace(microsecond=0)
    unordered = [each.run for each in candidates if each.run.sequence is None and each.run.created_at >= second]
    if unordered:
        latest = max(unordered, key=lambda run: (run.created_at, run.id))
        msg = (
            f"run {latest.id} was recorded without an order, by an earlier version, and it may be the newest; "
            "give the ID of a run"
        )
        raise JournalError(msg)
    # The order of a record that cannot be read is unknown. Its ID has the second in which it began.
    incomplete = [each.run.id for each in listed.runs if not each.run.is_whole]
    if unread := [each for each in (*listed.damaged, *incomplete) if _second_of(each) >= _second_of(newest.id)]:
        msg = f"the record of run {max(unread)} cannot be read, and it may be the newest; give the ID of a run"
        raise JournalError(msg)


def _require_servers(run: Run, bootstrap_servers: Collection[str]) -> None:
    """Raise JournalError if a run and this command share no server: two clusters may have one id."""
    then = set(map(_normalize, run.bootstrap_servers))
    now = set(map(_normalize, bootstrap_servers))
    if then & now:
        return
    msg = (
        f"run {run.id} changed a cluster with this id through {', '.join(run.bootstrap_servers) or 'unknown servers'}, "
        f"and this is {', '.join(bootstrap_servers)}; if it is the same cluster, give the ID of the run"
    )
    raise JournalError(msg)


def _normalize(server: str) -> str:
    host, _, port = server.rpartition(":")
    return f"{host.rstrip('.').lower()}:{port}"


def _second_of(run_id: str) -> str:
    return run_id.rpartition("-")[0]
