"""List offsets of groups of any kind: committed offsets, and the start offsets of share groups, each by its own API."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kafka_groups.admin.driver import ApiDriver
from kafka_groups.admin.handlers.list_consumer_group_offsets import ListConsumerGroupOffsetsHandler
from kafka_groups.admin.lookup import CoordinatorStrategy
from kafka_groups.errors import UnsupportedVersionError
from kafka_groups.kinds import has_start_offsets
from kafka_groups.model import Failure, GroupOffsets, Results, TopicPartition
from kafka_groups.protocol.errors import GROUP_ID_NOT_FOUND


class OffsetLister:
    """The drivers of one call: OffsetFetch, and DescribeShareGroupOffsets for share groups.

    `partitions_by_group` maps each group to its partitions, or to None for all. A group whose type is not known is
    requested by OffsetFetch. Brokers return no commits of a share group there, so that a group without any is requested
    as a share group, too. `types` are the types known from earlier calls, `coordinators` maps groups to broker ids.
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
        self._fetch: ApiDriver[str, GroupOffsets] = ApiDriver(
            others, handler=fetch, lookup=CoordinatorStrategy(), known=coordinators
        )
        self._share = [self._share_driver(share_groups)] if share_groups else []
        self._of_unknown_type = dict.fromkeys(group for group in others if types.get(group) is None and group)
        # The number of results that `follow_up` has seen.
        self._seen = 0

    def drivers(self) -> Sequence[ApiDriver[str, GroupOffsets]]:
        """Return the drivers to run first."""
        return [self._fetch, *self._share]

    def follow_up(self) -> Sequence[ApiDriver[str, GroupOffsets]]:
        """Return the driver for the groups of unknown type that OffsetFetch has just returned no commits of."""
        seen, self._seen = self._seen, len(self._fetch.failed) + len(self._fetch.completed)
        if self._seen == seen or not self._of_unknown_type:
            return ()
        groups = [group for group in self._of_unknown_type if self._lacks_commits(group)]
        if not groups:
            return ()
        for group in groups:
            del self._of_unknown_type[group]
        self._coordinators = {**self._coordinators, **self._fetch.locations}
        driver = self._share_driver(groups)
        self._share.append(driver)
        return [driver]

    def _lacks_commits(self, group: str) -> bool:
        """Return whether a response has shown that the group has no commits."""
        if group in self._fetch.completed:
            offsets = self._fetch.completed[group]
            return not offsets.has_commits() and not offsets.failed
        failure = self._fetch.failed.get(group)
        return failure is not None and failure.code == GROUP_ID_NOT_FOUND

    def locations(self) -> dict[str, int]:
        """Return the broker id of each group's coordinator, as the drivers found it last."""
        return {group: broker for driver in self.drivers() for group, broker in driver.locations.items()}

    def results(self, types: Mapping[str, str | None]) -> Results[str, GroupOffsets]:
        """Return each group's offsets, or its failure; `types` are the types that are known now.

        Brokers return no error for a group that is no share group: no partitions if none were named, and named ones
        without a start offset. So a group of unknown type is a share group here if it has start offsets. If they cannot
        be read, nobody knows whether it has.
        """
        fetched = self._fetch_handler.with_unstable(self._fetch.results())
        succeeded = dict(fetched.succeeded)
        failed: dict[str, Failure] = dict(fetched.failed)
        for driver in self._share:
            for group, offsets in driver.completed.items():
                if has_start_offsets(types.get(group)) or self._has_start_offsets(group, offsets):
                    succeeded[group] = offsets
                    failed.pop(group, None)
            for group, failure in driver.failed.items():
                group_type = types.get(group)
                if has_start_offsets(group_type) or (group_type is None and not _lacks_share_groups(failure)):
                    succeeded.pop(group, None)
                    failed[group] = failure
        return Results(succeeded=succeeded, failed=failed)

    def _has_start_offsets(self, group: str, offsets: GroupOffsets) -> bool:
        """Return whether the response is certainly that of a share group."""
        is_named = self._partitions_by_group[group] is not None
        return bool(offsets.failed) or (offsets.has_commits() if is_named else len(offsets) > 0)

    def _share_driver(self, groups: Iterable[str]) -> ApiDriver[str, GroupOffsets]:
        # Imported here, as most commands read no share group.
        from kafka_groups.admin.handlers.list_share_group_offsets import ListShareGroupOffsetsHandler

        handler = ListShareGroupOffsetsHandler(self._partitions_by_group)
        return ApiDriver(groups, handler=handler, lookup=CoordinatorStrategy(), known=self._coordinators)


def _lacks_share_groups(failure: Failure) -> bool:
    """Return whether the group is no share group, or the cluster has none."""
    return failure.code == GROUP_ID_NOT_FOUND or failure.name == UnsupportedVersionError.name
