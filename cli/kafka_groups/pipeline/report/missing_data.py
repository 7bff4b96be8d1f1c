"""Missing data: sentences on lag and verdicts that are unknown, partial or old in a report."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from typing import Final

from kafka_groups.groups.selection import Selectors
from kafka_groups.pipeline.build.backlogs import describe_backlogs
from kafka_groups.pipeline.build.coverage import describe_missing_commits
from kafka_groups.pipeline.build.sentences import capitalize_first, format_minute, list_names, name_cluster
from kafka_groups.pipeline.build.stale_groups import describe_stale_groups
from kafka_groups.pipeline.report.known_groups import KnownGroup, KnownGroups
from kafka_groups.pipeline.report.period import FRESH_MS, PeriodTables, date_of
from kafka_groups.pipeline.tables import TOPIC_DAILY

_HOUR_MS: Final = 3_600_000
_NOT_SAMPLED: Final = "the tables have no lag for this period; run sample or backfill, then build."
_SAMPLED: Final = (
    "the tables have no lag for this period, although log end offsets were sampled: no group had a commit then, or "
    "build has not run since."
)
_LOOKBACK_DAYS: Final = "SELECT max(lookback_days) AS lookback_days FROM {rows} WHERE date = {date}"


def describe_missing_data(
    tables: PeriodTables, groups: KnownGroups, selected_groups: Sequence[KnownGroup], selectors: Selectors
) -> Iterator[str]:
    """Yield sentences on missing data: on the chosen groups, then on clusters, then on stale groups.

    `selected_groups` are the selected ones among `groups`. Raises StorageError.
    """
    has_no_lag = bool(selected_groups) and all(group.status is None for group in selected_groups)
    if groups.evaluated_ms and has_no_lag and not selectors.selects_all():
        yield "No lag of the selected groups is known in this period."
    yield from _describe_unknown_partitions(groups, selected_groups)
    yield from _describe_outdated_groups(groups, selected_groups)
    yield from _describe_clusters(tables, groups, selected_groups)
    yield from _describe_stale_groups(tables, selectors)


def _describe_unknown_partitions(groups: KnownGroups, selected_groups: Sequence[KnownGroup]) -> Iterator[str]:
    for cluster, partial_groups in _group_by_cluster(group for group in selected_groups if group.unknown_partitions):
        subject = "1 group has" if len(partial_groups) == 1 else f"{len(partial_groups):,} groups have"
        partitions_text = (
            "partitions without a known log end offset for ten minutes, which lag and verdict do not include"
        )
        names = list_names(map(_name_with_partitions, partial_groups))
        yield name_cluster(f"{subject} {partitions_text}: {names}.", cluster, groups.coverages)


def _name_with_partitions(group: KnownGroup) -> str:
    """Return a group's id with two numbers: unknown partitions, and all existing partitions with a commit."""
    existing_partitions = group.day.existing_partitions if group.day is not None else None
    return f"{group.key.group} ({group.unknown_partitions:,} of {existing_partitions or 0:,})"


def _describe_outdated_groups(groups: KnownGroups, selected_groups: Sequence[KnownGroup]) -> Iterator[str]:
    for cluster, outdated_groups in _group_by_cluster(group for group in selected_groups if group.is_outdated):
        group_count = len(outdated_groups)
        subject = "the coordinator of 1 group" if group_count == 1 else f"the coordinators of {group_count:,} groups"
        consequence = "did not respond to samples for ten minutes, so lag and verdict are derived from older commits"
        names = list_names(group.key.group for group in outdated_groups)
        yield name_cluster(f"{subject} {consequence}: {names}.", cluster, groups.coverages)


def _describe_clusters(
    tables: PeriodTables, groups: KnownGroups, selected_groups: Sequence[KnownGroup]
) -> Iterator[str]:
    """Yield sentences on clusters without a lag, or with an old one, and on commits that were not read."""
    since_ms, until_ms = tables.period
    last_sample_ms = {cluster: coverage.last_sample_ms or -1 for cluster, coverage in groups.coverages.items()}
    if not groups.evaluated_ms and len(groups.coverages) != 1:
        yield capitalize_first(_NOT_SAMPLED)
        return
    for cluster in sorted(groups.coverages.keys() - groups.evaluated_ms.keys()):
        sentence = _SAMPLED if last_sample_ms[cluster] >= since_ms else _NOT_SAMPLED
        yield name_cluster(sentence, cluster, groups.coverages)
    if not groups.evaluated_ms:
        return
    for cluster, evaluated_ms in sorted(groups.evaluated_ms.items()):
        if until_ms - evaluated_ms > FRESH_MS:
            is_sampled = last_sample_ms[cluster] >= until_ms - FRESH_MS
            reason_text = "no group has had a commit" if is_sampled else "nothing was sampled"
            since_text = f"since {format_minute(evaluated_ms)}, or build has not run since"
            yield name_cluster(
                f"{reason_text} {since_text}: lag and verdicts are from that time.", cluster, groups.coverages
            )
    yield from _describe_lag(groups, selected_groups, since_ms)
    consequence = "verdicts are derived from samples, and rebalances are unknown"
    yield from describe_missing_commits(groups.coverages, consequence)
    yield from describe_backlogs(tables.storage, tables.queries, groups.coverages)


def _describe_lag(groups: KnownGroups, selected_groups: Sequence[KnownGroup], since_ms: int) -> Iterator[str]:
    """Yield sentences on lag that begins later than the period, and on time lags that are unknown."""
    existing_groups = [group for group in selected_groups if group.deletion is None and group.status is not None]
    for cluster, cluster_groups in _group_by_cluster(sorted(existing_groups, key=lambda group: group.key)):
        statuses = [group.status for group in cluster_groups if group.status is not None]
        first_ms = min(status.first_ms for status in statuses)
        if first_ms - since_ms > _HOUR_MS:
            sentence = f"no log end offsets are known before {format_minute(first_ms)}: lag begins there."
            yield name_cluster(sentence, cluster, groups.coverages)
        groups_without_time_lag = [
            group for group in cluster_groups if group.status is not None and group.status.has_unknown_time_lag
        ]
        share_group_ids = [
            group.key.group
            for group in groups_without_time_lag
            if group.event is not None and group.event.is_share_group
        ]
        if share_group_ids:
            sentence = f"the time lag of share groups is not measured: {list_names(share_group_ids)}."
            yield name_cluster(sentence, cluster, groups.coverages)
        if group_ids := [
            group.key.group for group in groups_without_time_lag if group.key.group not in share_group_ids
        ]:
            subject = "1 group" if len(group_ids) == 1 else f"{len(group_ids):,} groups"
            reason_text = "for a part of the period, because no log end offset is known from before their commits"
            sentence = f"the time lag of {subject} is unknown {reason_text}: {list_names(group_ids)}."
            yield name_cluster(sentence, cluster, groups.coverages)


def _describe_stale_groups(tables: PeriodTables, selectors: Selectors) -> Iterator[str]:
    """Yield sentences on stale groups, as of the day that was built last, if the period ends on that day or later."""
    dates = tables.storage.dates(TOPIC_DAILY)
    if not dates or dates[-1] > date_of(tables.period.until_ms).isoformat():
        return
    (row,) = tables.queries.select(TOPIC_DAILY, _LOOKBACK_DAYS, date=date.fromisoformat(dates[-1]))
    yield from describe_stale_groups(tables.storage, row["lookback_days"] or 0, is_wanted=selectors.selects)


def _group_by_cluster(groups: Iterable[KnownGroup]) -> list[tuple[str, list[KnownGroup]]]:
    """Return the groups of each cluster in their order, by cluster id."""
    groups_by_cluster = defaultdict[str, list[KnownGroup]](list)
    for group in groups:
        groups_by_cluster[group.key.cluster_id].append(group)
    return sorted(groups_by_cluster.items())
