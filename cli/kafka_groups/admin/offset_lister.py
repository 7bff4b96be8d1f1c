"""List offsets of groups of any kind: committed offsets, and the start offsets of share groups, each by its own API."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from kafka_groups.admin.driver import ApiDriver
from kafka_groups.admin.handlers.list_consumer_group_offsets import ListConsumerGroupOffsetsHandler
from kafka_groups.admin.lookup import CoordinatorStrategy
from kafka_groups.commits import CommitTuple, PartitionCommit, TopicCommits
from kafka_groups.errors import UnsupportedVersionError
from kafka_groups.kinds import has_start_offsets
from kafka_groups.model import Failure, GroupOffsets, Results, TopicPartition
from kafka_groups.protocol.errors import GROUP_ID_NOT_FOUND


class OffsetLister:
    """The drivers of one call: OffsetFetch, and DescribeShareGroupOffsets for share groups.

    `partitions_by_group` maps each group to its partitions, or to None for all. A group whose type is not known is
    requested by OffsetFetch. Neither API returns an error for a group of the other's kinds, but no offsets. So a group
    without any is requested by the other API, too, if its type is not known, or is or may be another one now. `types`
    are the types known from earlier calls, `coordinators` maps groups to broker ids.
    """

    def __init__(
        self,
        fetch: ListConsumerGroupOffsetsHandler,
        groups: Iterable[str],
        partitions_by_group: Mapping[str, Sequence[TopicPartition] | None],
        *,
        types: Mapping[str, str | None],
        coordinators: Mapping[str, int],
    ) -> None:
        self._coordinators = coordinators
        self._partitions_by_group = partitions_by_group
        self._fetch_handler = fetch
        share_groups: list[str] = []
        others: list[str] = []
        for group in groups:
            (share_groups if has_start_offsets(types.get(group)) else others).append(group)
        self._fetch = [self._fetch_driver(others)]
        self._share = [self._share_driver(share_groups)] if share_groups else []
        self._of_unknown_type = dict.fromkeys(group for group in others if types.get(group) is None and group)
        self._known_as_share = dict.fromkeys(share_groups)
        self._known_as_other = dict.fromkeys(group for group in others if group not in self._of_unknown_type)
        # Groups that were listed as another kind and have no commits.
        self._maybe_recreated: set[str] = set()
        # The number of results that `follow_up` has seen.
        self._seen = 0

    def drivers(self) -> Sequence[ApiDriver[str, GroupOffsets]]:
        """Return the drivers to run first."""
        return [*self._fetch, *self._share]

    def follow_up(self, described_types: Mapping[str, str | None] | None) -> Sequence[ApiDriver[str, GroupOffsets]]:
        """Return the drivers for groups that have another kind of offsets than was requested.

        `described_types` are the types of the groups that were described meanwhile. It is None if the call describes
        none: then only a second request shows whether a group without commits is a share group since it was listed.
        """
        described = described_types or {}
        number = len(described) + sum(len(each.failed) + len(each.completed) for each in self.drivers())
        if self._seen == number:
            return ()
        self._seen = number
        no_commits = [group for group in self._of_unknown_type if self._lacks_commits(group)]
        no_commits += [group for group in self._known_as_other if has_start_offsets(described.get(group))]
        if described_types is None:
            without = [group for group in self._known_as_other if self._lacks_commits(group)]
            self._maybe_recreated.update(without)
            no_commits += without
        no_starts = [group for group in self._known_as_share if self._lacks_start_offsets(group)]
        for group in (*no_commits, *no_starts):
            for requested in (self._of_unknown_type, self._known_as_share, self._known_as_other):
                requested.pop(group, None)
        self._coordinators = {**self._coordinators, **self.locations()}
        added: list[ApiDriver[str, GroupOffsets]] = []
        if no_commits:
            self._share.append(self._share_driver(no_commits))
            added.append(self._share[-1])
        if no_starts:
            self._fetch.append(self._fetch_driver(no_starts))
            added.append(self._fetch[-1])
        return added

    def _lacks_commits(self, group: str) -> bool:
        """Return whether a response has shown no commits of the group.

        OffsetFetch refuses the topics that the user may not describe for a share group, too.
        """
        (fetch, *_) = self._fetch
        if group in fetch.completed:
            return not fetch.completed[group].has_commits()
        failure = fetch.failed.get(group)
        return failure is not None and failure.code == GROUP_ID_NOT_FOUND

    def _lacks_start_offsets(self, group: str) -> bool:
        """Return whether a response has shown that the group has no start offsets."""
        (share, *_) = self._share
        if group in share.completed:
            return not self._has_start_offsets(group, share.completed[group])
        failure = share.failed.get(group)
        return failure is not None and failure.code == GROUP_ID_NOT_FOUND

    def locations(self) -> dict[str, int]:
        """Return the broker id of each group's coordinator, as the drivers found it last."""
        return {group: broker for driver in self.drivers() for group, broker in driver.locations.items()}

    def results(self, types: Mapping[str, str | None]) -> Results[str, GroupOffsets]:
        """Return each group's offsets, or its failure; `types` are the types that are known now.

        A group of unknown type, or one that may have been recreated, is a share group here if it has start offsets. If
        they cannot be read, nobody knows whether it has.
        """
        succeeded: dict[str, GroupOffsets] = {}
        failed: dict[str, Failure] = {}
        for fetch in self._fetch:
            fetched = self._fetch_handler.with_unstable(fetch.results())
            succeeded.update(fetched.succeeded)
            failed.update(fetched.failed)
        for driver in self._share:
            for group, offsets in driver.completed.items():
                fetched_offsets = succeeded.get(group)
                has_commits = fetched_offsets is not None and fetched_offsets.has_commits()
                is_share = has_start_offsets(types.get(group)) and not has_commits
                is_unread = group not in succeeded and group not in failed
                if is_share or is_unread or self._has_start_offsets(group, offsets):
                    succeeded[group] = _with_refused(offsets, fetched_offsets)
                    failed.pop(group, None)
            for group, failure in driver.failed.items():
                is_unknown = types.get(group) is None or group in self._maybe_recreated
                if has_start_offsets(types.get(group)) or (is_unknown and not _lacks_share_groups(failure)):
                    succeeded.pop(group, None)
                    failed[group] = failure
        return Results(succeeded=succeeded, failed=failed)

    def _has_start_offsets(self, group: str, offsets: GroupOffsets) -> bool:
        """Return whether the response is certainly that of a share group."""
        is_named = self._partitions_by_group[group] is not None
        return bool(offsets.failed) or (offsets.has_commits() if is_named else len(offsets) > 0)

    def _fetch_driver(self, groups: Iterable[str]) -> ApiDriver[str, GroupOffsets]:
        return ApiDriver(groups, handler=self._fetch_handler, lookup=CoordinatorStrategy(), known=self._coordinators)

    def _share_driver(self, groups: Iterable[str]) -> ApiDriver[str, GroupOffsets]:
        # Imported here, as most commands read no share group.
        from kafka_groups.admin.handlers.list_share_group_offsets import ListShareGroupOffsetsHandler

        handler = ListShareGroupOffsetsHandler(self._partitions_by_group)
        return ApiDriver(groups, handler=handler, lookup=CoordinatorStrategy(), known=self._coordinators)


def _with_refused(starts: GroupOffsets, fetched: GroupOffsets | None) -> GroupOffsets:
    """Return start offsets with the partitions that OffsetFetch refused: a share group's response only lacks them."""
    if fetched is None or not fetched.failed:
        return starts
    refused = {key: why for key, why in fetched.failed.items() if starts.get(key) is None}
    known = [(topic, CommitTuple(_without(rows, topic, refused))) for topic, rows in starts.topics]
    return GroupOffsets(
        [(topic, rows) for topic, rows in known if len(rows)], {**refused, **starts.failed}, lags=starts.lags
    )


def _without(rows: TopicCommits, topic: str, keys: Collection[TopicPartition]) -> list[PartitionCommit]:
    return [row for row in rows if TopicPartition(topic, row[0]) not in keys]


def _lacks_share_groups(failure: Failure) -> bool:
    """Return whether the group is no share group, or the cluster has none."""
    return failure.code == GROUP_ID_NOT_FOUND or failure.name == UnsupportedVersionError.name
