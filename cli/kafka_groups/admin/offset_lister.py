"""List offsets of groups of any kind: committed offsets, and the start offsets of share groups, each by its own API."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kafka_groups.admin.driver import ApiDriver
from kafka_groups.admin.handlers.list_consumer_group_offsets import ListConsumerGroupOffsetsHandler
from kafka_groups.admin.lookup import CoordinatorStrategy
from kafka_groups.kinds import has_start_offsets
from kafka_groups.model import Failure, GroupOffsets, Results, TopicPartition
from kafka_groups.protocol.errors import GROUP_ID_NOT_FOUND


class OffsetLister:
    """The drivers of one call: OffsetFetch, and DescribeShareGroupOffsets for share groups.

    `partitions_by_group` maps each group to its partitions, or to None for all. A group whose type is not known is
    requested by OffsetFetch, which refuses a share group with GROUP_ID_NOT_FOUND; it is then requested as one. `types`
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
        wanted = tuple(groups)
        share_groups = [group for group in wanted if has_start_offsets(types.get(group))]
        requested = {*share_groups}
        others = [group for group in wanted if group not in requested]
        self._fetch: ApiDriver[str, GroupOffsets] = ApiDriver(
            others, handler=fetch, lookup=CoordinatorStrategy(), known=coordinators
        )
        self._share = [self._share_driver(share_groups)] if share_groups else []
        self._requested = requested
        # The number of failures that `follow_up` has seen.
        self._seen = 0

    def drivers(self) -> Sequence[ApiDriver[str, GroupOffsets]]:
        """Return the drivers to run first."""
        return [self._fetch, *self._share]

    def follow_up(self) -> Sequence[ApiDriver[str, GroupOffsets]]:
        """Return the driver for the groups that OffsetFetch has just refused as groups of another type."""
        if len(self._fetch.failed) == self._seen:
            return ()
        self._seen = len(self._fetch.failed)
        refused = [
            group
            for group, failure in self._fetch.failed.items()
            if failure.code == GROUP_ID_NOT_FOUND and group and group not in self._requested
        ]
        if not refused:
            return ()
        self._requested.update(refused)
        self._coordinators = {**self._coordinators, **self._fetch.locations}
        driver = self._share_driver(refused)
        self._share.append(driver)
        return [driver]

    def locations(self) -> dict[str, int]:
        """Return the broker id of each group's coordinator, as the drivers found it last."""
        return {group: broker for driver in self.drivers() for group, broker in driver.locations.items()}

    def results(self) -> Results[str, GroupOffsets]:
        """Return each group's offsets, or its failure.

        A group that is no share group either fails as OffsetFetch did. Brokers return no start offset of a group that
        is absent; it has an empty result there, as OffsetFetch returns it, too.
        """
        fetched = self._fetch_handler.with_unstable(self._fetch.results())
        succeeded = dict(fetched.succeeded)
        failed: dict[str, Failure] = dict(fetched.failed)
        for driver in self._share:
            for group, offsets in driver.completed.items():
                succeeded[group] = offsets
                failed.pop(group, None)
            for group, failure in driver.failed.items():
                failed.setdefault(group, failure)
        return Results(succeeded=succeeded, failed=failed)

    def _share_driver(self, groups: Iterable[str]) -> ApiDriver[str, GroupOffsets]:
        # Imported here, as most commands read no share group.
        from kafka_groups.admin.handlers.list_share_group_offsets import ListShareGroupOffsetsHandler

        handler = ListShareGroupOffsetsHandler(self._partitions_by_group)
        return ApiDriver(groups, handler=handler, lookup=CoordinatorStrategy(), known=self._coordinators)
