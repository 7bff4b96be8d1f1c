"""List the lag of groups by partition, as values: for users of the library."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from kafka_groups.admin.api import Admin, Timeout, TimePlan, to_names
from kafka_groups.groups.descriptions import DescribedGroups, describe_groups, description_steps
from kafka_groups.groups.lag.rows import distinct_partitions, offset_rows
from kafka_groups.groups.log_offsets import Details
from kafka_groups.groups.selection import Selectors, listing_steps, select_groups
from kafka_groups.kinds import Operation
from kafka_groups.model import Failure, GroupDescription, OffsetRow, Results


class GroupLag(NamedTuple):
    """The lag of one group.

    `description` has its state and members. `rows` has each partition that a member owns or that has a commit, in the
    order of `kafka-groups describe`, once: if several members own it, with the first of them. `failures` has what is
    unknown: the members, or the offsets of single partitions.
    """

    description: GroupDescription
    rows: tuple[OffsetRow, ...]
    failures: tuple[Failure, ...] = ()

    @property
    def total(self) -> int | None:
        """Return the sum of the known lags, in messages; None if no partition has a known lag.

        A negative lag (the commit is beyond the log end) counts as 0, so that it hides no other partition's lag.
        """
        known = [row.lag for row in distinct_partitions(self.rows) if row.lag is not None]
        return sum(max(lag, 0) for lag in known) if known else None


def list_lag(
    admin: Admin,
    groups: Iterable[str] | None = None,
    *,
    log_start_offsets: bool = False,
    timeout: Timeout | None = None,
) -> Results[str, GroupLag]:
    """List the lag of consumer groups: each partition with its committed offset, log end offset, lag and member.

    Without `groups` it lists all consumer groups of the cluster. A row's `lag` is the log end offset minus the
    committed offset; None if nothing is committed or the log end is unknown. `log_start_offsets` costs one more request
    for each leader; without it, the rows' are None. `timeout` is for all requests of the call: seconds or a Deadline,
    30 s by default. A group that does not exist, that may not be described, or that is no consumer group is in
    `failed`, and so is one whose committed offsets cannot be read; so is, by its id, a broker that could not list its
    groups. A group that was listed and then deleted is in neither. Raises AdminError if the cluster cannot be reached
    at all.

        with GroupAdmin({"bootstrap.servers": "localhost:9092"}) as admin:
            for group, lag in list_lag(admin, ["billing"]).succeeded.items():
                print(group, lag.description.state, lag.total)
                for row in lag.rows:
                    print(row.topic, row.partition, row.committed_offset, row.log_end_offset, row.lag)
    """
    deadline = admin.deadline(timeout)
    selectors = Selectors(all_groups=True) if groups is None else Selectors(named=to_names(groups))
    details = Details(offsets=True, log_start_offsets=log_start_offsets, offsets_only=True)
    plan = TimePlan(deadline, (*listing_steps(selectors), *description_steps(details)))
    selection = select_groups(admin, selectors, operation=Operation.LIST_OFFSETS, plan=plan)
    described = describe_groups(admin, selection, details=details, operation=Operation.LIST_OFFSETS, plan=plan)
    by_item = _by_item(described.failures)
    found = {group: _lag_of(group, described, by_item) for group in described.descriptions}
    failed = {failure.group: failure for failure in reversed(described.failures) if failure.group is not None}
    names = selectors.named or selection.groups
    brokers = {failure.broker: failure for failure in selection.failures if failure.group is None}
    return Results(
        succeeded={group: found[group] for group in names if group in found},
        failed={**{group: failed[group] for group in names if group in failed and group not in found}, **brokers},
    )


def _by_item(failures: Iterable[Failure]) -> Mapping[object, Sequence[Failure]]:
    """Return the failures by group id, and those of log offsets, which name no group, by topic and partition."""
    by_item: dict[object, list[Failure]] = {}
    for failure in failures:
        item = failure.group if failure.group is not None else (failure.topic, failure.partition)
        by_item.setdefault(item, []).append(failure)
    return by_item


def _lag_of(group: str, described: DescribedGroups, by_item: Mapping[object, Sequence[Failure]]) -> GroupLag:
    rows = tuple(distinct_partitions(offset_rows(described, group)))
    # The failure of a log offset belongs to each group that has the partition.
    items = [group, *dict.fromkeys((row.topic, row.partition) for row in rows)]
    failures = tuple(failure for item in items for failure in by_item.get(item, ()))
    return GroupLag(description=described.descriptions[group], rows=rows, failures=failures)
