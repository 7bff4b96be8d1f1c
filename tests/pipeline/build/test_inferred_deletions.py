"""A commit that samples do not see any more was removed, unless they may not have been able to request it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.pipeline.build.builds import built, read
from tests.pipeline.fact_rows import NOON, Row, at, commit, ends, event

MINUTES = range(40)
LEFT = 10  # the last minute at which the group was there


def sampled(cluster: str, minute: int, *, listed: bool = True, seen: bool = True) -> list[Row]:
    """Return one sample: the listing, the commits and, a second later each, the log ends."""
    own: dict[str, Any] = {"cluster_id": cluster}
    listing = event(60 * minute, "state_seen", "Snapshot", source=0, origin="sample", **own) | {"source_offset": None}
    seen_commit = commit(60 * minute + 1, minute, **own)
    return [*([listing] if listed else []), *([seen_commit] if seen else []), ends(60 * minute + 2, 500, **own)]


def samples(cluster: str, minutes: Iterable[int], **others: Any) -> Iterator[Row]:
    """Yield samples that list the group until LEFT, and the rows of `others` from then on."""
    for minute in minutes:
        yield from sampled(cluster, minute, **({} if minute <= LEFT else others))


GONE = {"listed": False, "seen": False}
FACTS: dict[str, list[Row]] = {
    "deleted": [*samples("deleted", MINUTES, **GONE)],
    "just deleted": [*samples("just deleted", range(LEFT + 9), **GONE)],
    "back again": [
        row for minute in MINUTES for row in sampled("back again", minute, **(GONE if minute == LEFT + 1 else {}))
    ],
    "one run": [*samples("one run", [*range(LEFT + 1), MINUTES[-1]], **GONE)],
    "broker away": [
        *samples("broker away", MINUTES, **GONE),
        *(
            ends(60 * m + 2, 7 if m <= LEFT else None, cluster_id="broker away", topic="of that broker")
            for m in MINUTES
        ),
    ],
    "coordinator away": [
        *samples("coordinator away", MINUTES, **GONE),
        *(
            ends(60 * m + 2, 7 if m <= LEFT else None, cluster_id="coordinator away", topic="__consumer_offsets")
            for m in MINUTES
        ),
    ],
    "coordinators there": [
        *samples("coordinators there", MINUTES, **GONE),
        *(ends(60 * m + 2, 7, cluster_id="coordinators there", topic="__consumer_offsets") for m in MINUTES),
        *(ends(60 * m + 2, None, cluster_id="coordinators there", topic="never responds") for m in MINUTES),
    ],
    "not answered": [*samples("not answered", MINUTES, seen=False)],
    "one commit removed": [
        *samples("one commit removed", MINUTES, seen=False),
        *(commit(60 * m + 1, 7, cluster_id="one commit removed", partition=1) for m in MINUTES),
        *(ends(60 * m + 2, 500, cluster_id="one commit removed", partition=1) for m in MINUTES),
    ],
    "kept in the topic": [
        *samples("kept in the topic", MINUTES, **GONE),
        commit(30, 1, source=1, cluster_id="kept in the topic"),
        *(commit(60 * m, 1, source=m + 9, cluster_id="kept in the topic", group="other") for m in MINUTES),
    ],
    "removed before by its clock": [
        *samples("removed before by its clock", MINUTES, **GONE),
        commit(30, 1, source=1, cluster_id="removed before by its clock"),
        commit(60 * LEFT - 30, None, source=2, cluster_id="removed before by its clock"),
        *(commit(60 * m, 1, source=m + 9, cluster_id="removed before by its clock", group="other") for m in MINUTES),
    ],
    "ingest ended": [*samples("ingest ended", MINUTES, **GONE), commit(30, 1, source=1, cluster_id="ingest ended")],
}


def facts() -> dict[str, list[Row]]:
    tables: dict[str, list[Row]] = {"offset_commits": [], "partition_offsets": [], "group_events": []}
    for row in (row for rows in FACTS.values() for row in rows):
        name = "offset_commits" if "committed_offset" in row else "group_events"
        tables["partition_offsets" if "observed_at" in row else name].append(row)
    return tables


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Row]]:
    storage = built(tmp_path_factory.mktemp("tables"), facts())
    return {name: read(storage, name) for name in ("lag_history", "group_status")}


def last_minute(tables: dict[str, list[Row]], cluster: str) -> int:
    """Return the last minute in which the group has lag."""
    rows = (row for row in tables["lag_history"] if row["cluster_id"] == cluster)
    newest: datetime = max(row["observed_at"] for row in rows if (row["group"], row["partition"]) == ("g", 0))
    return round((newest - NOON).total_seconds()) // 60


@pytest.mark.parametrize(
    ("cluster", "until"),
    [
        ("deleted", LEFT),
        ("one commit removed", LEFT),
        ("removed before by its clock", LEFT),
        ("ingest ended", LEFT),
        # All coordinators listed their groups, whichever brokers lead the other partitions.
        ("coordinators there", LEFT),
        # That is known only once two samples missed it, and ten minutes have passed.
        ("just deleted", LEFT + 8),
        ("one run", MINUTES[-1]),
        ("back again", MINUTES[-1]),
        # A group may be on the coordinator that is away; one that is listed may have failed.
        ("broker away", MINUTES[-1]),
        ("coordinator away", MINUTES[-1]),
        ("not answered", MINUTES[-1]),
        # Its removal would have been read.
        ("kept in the topic", MINUTES[-1]),
    ],
)
def test_a_group_has_lag_until_samples_do_not_see_it_any_more(
    tables: dict[str, list[Row]], cluster: str, until: int
) -> None:
    assert last_minute(tables, cluster) == until


def test_a_deleted_group_has_no_verdict_any_more(tables: dict[str, list[Row]]) -> None:
    status = [row for row in tables["group_status"] if row["cluster_id"] == "deleted"]

    assert {row["evaluated_at"].minute for row in status} == {*range(LEFT + 1)}


def test_commits_end_with_their_topic_before_the_new_log_end_is_known(tmp_path: Path) -> None:
    facts = {
        "offset_commits": [commit(0, 10)],
        "partition_offsets": [ends(1, 20, topic_id="A"), ends(61, None, topic_id="B"), ends(121, 25, topic_id="B")],
    }

    (row,) = read(built(tmp_path, facts), "lag_history")

    assert (row["lag"], row["observed_at"]) == (10, at(1))
