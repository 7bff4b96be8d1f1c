"""What a build reports as missing: sources that were not read, and groups whose facts are too old."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from kafka_groups.pipeline.build.stale_groups import describe_stale_groups
from tests.pipeline.build.builds import build_here, of, read_statuses
from tests.pipeline.fact_rows import Row, commit, ends, new_storage, put_all

DAY: Final = 86_400


def test_samples_alone_give_lag_and_verdicts_and_a_report_of_missing_data(tmp_path: Path) -> None:
    storage = new_storage(tmp_path)
    put_all(
        storage,
        "s",
        {
            "offset_commits": [commit(30 * step, 5) for step in range(5)],
            "partition_offsets": [ends(30 * step, 10 * step) for step in range(5)],
        },
    )

    done = build_here(storage)

    rows = sorted((row for row in read_statuses(storage) if row["topic"] is None), key=lambda row: row["evaluated_at"])
    # The first commit is above the log end.
    assert [row["rule"] for row in rows] == ["lag_unknown", *["incomplete"] * 4]
    assert [row["lag"] for row in rows] == [0, 5, 15, 25, 35]
    assert [sentence.split(":")[0] for sentence in done.missing] == [
        "No commits were read from __consumer_offsets",
        "No group records were read from __consumer_offsets",
        "No group states were sampled",
    ]
    assert build_here(storage).missing == done.missing


def test_a_group_whose_last_commit_is_too_old_is_named(tmp_path: Path) -> None:
    storage = new_storage(tmp_path)
    put_all(
        storage,
        "b",
        {
            "offset_commits": [
                commit(-3 * DAY, 1, source=1, group="old"),
                commit(-3 * DAY, 1, source=2, group="removed"),
                commit(-2 * DAY, None, source=3, group="removed"),
                commit(0, 1, source=4, group="young"),
            ]
        },
    )

    sentences = build_here(storage, lookback_days=1).missing

    assert (
        sentences[-1] == "1 group has no commit on the day before 2026-11-20 on cluster c, and no row since then: old."
    )


def test_groups_with_the_same_name_are_distinguished_by_their_clusters(tmp_path: Path) -> None:
    """Cluster `away` was not read since: nothing is known of its groups, so there is no sentence about them."""
    storage, facts = new_storage(tmp_path), list[Row]()
    for cluster in ("a", "b"):
        facts += of(cluster, [commit(-9 * DAY, 1, source=1, group="same"), commit(0, 1, source=2, group="young")])
    facts += of("away", [commit(-9 * DAY, 1, source=1, group="same")])
    put_all(storage, "b", {"offset_commits": facts})

    missing = build_here(storage).missing

    sentences = [
        "1 group has no commit in the 7 days before 2026-11-20 on cluster a, and no row since then: same.",
        "1 group has no commit in the 7 days before 2026-11-20 on cluster b, and no row since then: same.",
    ]
    assert [sentence for sentence in missing if "no row since then" in sentence] == sentences
    assert describe_stale_groups(storage, 7) == sentences
    assert describe_stale_groups(storage, 7, is_wanted=lambda group: group == "young") == []
