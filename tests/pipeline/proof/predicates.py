"""Causes of expected differences, as functions of a Difference: whether the facts of its seed show one for its row."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, time, timedelta
from typing import Final

from tests.pipeline.proof.causes import Commit, GroupFacts, KeyFacts, SeedFacts, seed_facts
from tests.pipeline.proof.consequences import time_of
from tests.pipeline.proof.differences import Difference, ExplainedDifferences

# Qualities of a time lag that is interpolated between points of the index, or is the age of the oldest point.
_FROM_POINTS: Final = frozenset({"interpolated", "lower_bound", "data_loss"})
_COUNTS: Final = frozenset({"member_count", "max_members"})
_RATE_WINDOW: Final = timedelta(minutes=10)

# The words of the old and of the new sentences, by the kind of the finding.
_REWORDED_FINDINGS: Final = {
    "idle_group": [("its last commit is of", "its last commit was on")],
    "retention_risk": [
        (": it is ", ": its commit is "),
        (" it was ", " its commit was "),
        ("log start: its commit is lost to it.", "log start offset; it can no longer read it."),
        ("log start: they are lost to it.", "log start offset; it can no longer read them."),
    ],
}


def _facts(difference: Difference) -> SeedFacts:
    assert difference.seed is not None
    return seed_facts(difference.seed)


def _key(difference: Difference) -> KeyFacts:
    """Return the facts of the group and partition of a row of lag_history."""
    row = difference.row
    return _facts(difference).keys[row["group"], row["topic"], row["partition"]]


def _keys(difference: Difference) -> Iterator[KeyFacts]:
    return _facts(difference).keys_of(difference.key[1])


def _group(difference: Difference) -> GroupFacts:
    return _facts(difference).groups.get(difference.key[1], GroupFacts())


def is_commit_on_other_topic(difference: Difference, _before: ExplainedDifferences) -> bool:
    """Return whether only the old code compares a commit with a log end of another topic id."""
    row = difference.old
    if row is None or difference.new is not None:
        return False
    key = _key(difference)
    return key.is_on_other_topic(row, key.partition.topic_id_at(row["observed_at"]))


def is_soon_after_topic_change(difference: Difference, _before: ExplainedDifferences) -> bool:
    """Return whether the commit changed the topic within the window of rates, so that the rate is now unknown."""
    is_unknown = difference.new is not None and difference.new["consume_rate"] is None
    return is_unknown and _is_within_rates(difference.row["observed_at"], _key(difference).topic_changes)


def is_soon_after_removed_row(difference: Difference, before: ExplainedDifferences) -> bool:
    """Return whether the rates of the old code include a row that the new code lacks, of another topic id."""
    row = difference.row
    removed = (
        explained.row["observed_at"]
        for explained in before.of("lag_history", difference.key, defect=37)
        if explained.new is None and explained.key[:4] == difference.key[:4]
    )
    return _is_within_rates(row["observed_at"], removed)


def _is_within_rates(at: datetime, times: Iterable[datetime]) -> bool:
    """Return whether one of the times is in the window of rates of a row with this time."""
    return any(timedelta(0) <= at - time <= _RATE_WINDOW for time in times)


def is_new_column(difference: Difference, _before: ExplainedDifferences) -> bool:
    """Return whether only new rows have a value, and it is that of commits whose times do not fall, as in all seeds."""
    old, new = difference.old, difference.new
    return old is not None and new is not None and "clock_jump_ms" not in old and new["clock_jump_ms"] == 0


def _day_of(difference: Difference) -> tuple[datetime, datetime]:
    """Return the midnights at which the day of a row begins and ends."""
    start = datetime.combine(time_of(difference.row).date(), time(), UTC)
    return start, start + timedelta(days=1)


def has_topic_change_on_day(difference: Difference, _before: ExplainedDifferences) -> bool:
    """Return whether a commit of the group changed the topic on the day, so that less was consumed."""
    since, until = _day_of(difference)
    return _consumed_more(difference) < 0 and any(
        since <= at < until for key in _keys(difference) for at in key.topic_changes
    )


def _consumed_more(difference: Difference) -> int:
    """Return by how much the new number of consumed records is larger than the old one."""
    old, new = difference.old, difference.new
    return 0 if old is None or new is None else new["records_consumed"] - old["records_consumed"]


def has_samples_before_records(difference: Difference, _before: ExplainedDifferences) -> bool:
    """Return whether samples of earlier days, behind the last record, differ from it, and the day has a record."""
    since, until = _day_of(difference)
    return _consumed_more(difference) != 0 and any(
        _has_samples_behind_records(key.commits_until(since)) and _has_record(key, since, until)
        for key in _keys(difference)
    )


def _has_samples_behind_records(commits: Sequence[Commit]) -> bool:
    """Return whether the last commit is a sample that shows another offset than the last record."""
    records = [commit for commit in commits if commit.is_record]
    return bool(records) and not commits[-1].is_record and commits[-1].offset != records[-1].offset


def _has_record(key: KeyFacts, since: datetime, until: datetime) -> bool:
    return any(commit.is_record and since <= commit.at < until for commit in key.commits)


def has_removal_on_day(difference: Difference, _before: ExplainedDifferences) -> bool:
    """Return whether a commit of the group was removed on the day."""
    since, until = _day_of(difference)
    return any(
        commit.offset is None and since <= commit.at < until for key in _keys(difference) for commit in key.commits
    )


def has_unseen_leave_after(difference: Difference, _before: ExplainedDifferences) -> bool:
    """Return whether a member whose join is lost left between a KIP-848 rebalance and the end of the next day."""
    row = difference.row
    since, until = row["started_at"], _day_of(difference)[1] + timedelta(days=1)
    return row["group_protocol"] == "consumer" and any(since <= at < until for at in _group(difference).unseen_leaves)


def has_unseen_leave_on_day(difference: Difference, _before: ExplainedDifferences) -> bool:
    """Return whether a member whose join is lost left on the day of a row, and the new number is unknown or less."""
    old, new = difference.old, difference.new
    if old is None or new is None:
        return False
    since, until = _day_of(difference)
    is_less = all(new[name] is None or new[name] < old[name] for name in _COUNTS & difference.columns)
    return is_less and any(since <= at < until for at in _group(difference).unseen_leaves)


def has_unseen_join_after(difference: Difference, _before: ExplainedDifferences) -> bool:
    """Return whether a KIP-848 group has an assignment of a member whose join is lost, from the row's rebalance on."""
    row = difference.row
    return row["group_protocol"] == "consumer" and any(
        row["started_at"] <= at for at in _group(difference).unseen_joins
    )


def has_unseen_join_from_day_on(difference: Difference, _before: ExplainedDifferences) -> bool:
    return any(_day_of(difference)[0] <= at for at in _group(difference).unseen_joins)


def has_contradicted_sample(difference: Difference, _before: ExplainedDifferences) -> bool:
    """Return whether a sample of the day of a row, or of an earlier one, contradicts the records beside it."""
    until = _day_of(difference)[1]
    return any(at < until for key in _keys(difference) for at in key.contradicted_samples())


def has_pause_before(difference: Difference, _before: ExplainedDifferences) -> bool:
    """Return whether both time lags are from points of the index, and the samples paused before their day."""
    old, new = difference.old, difference.new
    if old is None or new is None or not {old["time_lag_quality"], new["time_lag_quality"]} <= _FROM_POINTS:
        return False
    return _key(difference).has_pause_before(new["observed_at"])


def is_generation_behind_lost_one(difference: Difference, _before: ExplainedDifferences) -> bool:
    """Return whether the generation before a classic one is lost, and the new row has null in all that differs."""
    row = difference.new
    if row is None or row["group_protocol"] != "classic" or any(row[name] is not None for name in difference.columns):
        return False
    return any(
        number == row["generation"] and row["started_at"] <= at and row["ended_at"] == at
        for at, number in _group(difference).lost_at
    )


def is_generation_behind_removal(difference: Difference, _before: ExplainedDifferences) -> bool:
    """Return whether a group of another type was removed before a classic generation, so that no member has left.

    A row on one side only begins before the removal if it is an old one, and after it if it is a new one.
    """
    row, new = difference.row, difference.new
    removed_at = _group(difference).removals_before.get((row["ended_at"], row["generation"]))
    if row["group_protocol"] != "classic" or removed_at is None:
        return False
    if new is None:
        return bool(row["started_at"] < removed_at)
    is_emptied = (new["members_before"], new["left"]) == (0, [])
    return is_emptied and (difference.old is not None or row["started_at"] >= removed_at)


def is_share_or_streams_rebalance(difference: Difference, _before: ExplainedDifferences) -> bool:
    """Return whether only the new code derives the row, and it is a rebalance of a share or streams group."""
    new = difference.new
    if difference.old is not None or new is None or new["group_protocol"] not in {"share", "streams"}:
        return False
    return new["started_at"] in _group(difference).share_and_streams


def ends_at_epoch_of_other_kind(difference: Difference, _before: ExplainedDifferences) -> bool:
    """Return whether a KIP-848 rebalance ended when the group began again as a share or streams group."""
    old, new = difference.old, difference.new
    if old is None or new is None or new["group_protocol"] != "consumer":
        return False
    is_earlier = old["ended_at"] is None or new["ended_at"] < old["ended_at"]
    return is_earlier and new["ended_at"] in _group(difference).share_and_streams


def has_share_or_streams_until_day(difference: Difference, _before: ExplainedDifferences) -> bool:
    """Return whether the group was a share or streams group by the end of the day, and only the old row has nulls."""
    old, new = difference.old, difference.new
    names = difference.columns & {"rebalances", "rebalance_ms"}
    if old is None or new is None or any(old[name] is not None or new[name] is None for name in names):
        return False
    return any(at < _day_of(difference)[1] for at in _group(difference).share_and_streams)


def is_removed_share_or_streams(difference: Difference, _before: ExplainedDifferences) -> bool:
    """Return whether the group was a share or streams group, and is now Dead instead of Empty or unknown."""
    old, new = difference.old, difference.new
    if old is None or new is None or new["state"] != "Dead" or old["state"] not in {"Empty", None}:
        return False
    return any(at <= time_of(new) for at in _group(difference).share_and_streams)


def has_share_or_streams(difference: Difference, _before: ExplainedDifferences) -> bool:
    """Return whether the group was a share or streams group, and the new code has more rebalances of it."""
    old, new = difference.old, difference.new
    if old is None or new is None or new["rebalances"] is None:
        return False
    return (old["rebalances"] or 0) <= new["rebalances"] and bool(_group(difference).share_and_streams)


def is_reworded_finding(difference: Difference, _before: ExplainedDifferences) -> bool:
    old, new = difference.old, difference.new
    if old is None or new is None or new["kind"] not in _REWORDED_FINDINGS:
        return False
    reworded: str = old["message"]
    for old_words, new_words in _REWORDED_FINDINGS[new["kind"]]:
        reworded = reworded.replace(old_words, new_words)
    return bool(reworded == new["message"])


def is_reworded_document(difference: Difference, _before: ExplainedDifferences) -> bool:
    """Return whether the missing data are the same sentences in the same order, except for two reworded kinds."""
    old, new = difference.old, difference.new
    return old is not None and new is not None and list(map(_reword, old["missing"])) == new["missing"]


def _reword(sentence: str) -> str:
    """Return a sentence on missing data of the old report in the words of the new one."""
    behind = re.fullmatch(r"(.*)is of (\S+), the last sample of (\S+): commits in between are (known .*)", sentence)
    if behind is not None:
        subject, read, sampled, rest = behind.groups()
        times = f"{subject}was written at {read}, and the last sample was taken at {sampled}"
        return f"{times}: commits in between, if there are any, are {rest}"
    return sentence.replace("lag and verdicts are as of then.", "lag and verdicts are from that time.")
