"""The log offsets of partitions that a reset needs: both ends of the logs, and what its specification looks up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from kafka_groups.admin.api import Admin, OffsetSpec, TimePlan
from kafka_groups.changes.specifications.specification import Specification
from kafka_groups.groups import steps
from kafka_groups.model import Failure, Results, TopicPartition


class PartitionLogs(NamedTuple):
    """Both ends of the logs, and the offsets that the specification looks up."""

    starts: Mapping[TopicPartition, int | None]
    ends: Mapping[TopicPartition, int | None]
    found: Mapping[OffsetSpec, Mapping[TopicPartition, int | None]]
    failed: Mapping[TopicPartition, Failure]


def read_logs(
    admin: Admin,
    specification: Specification,
    partitions: Iterable[Sequence[TopicPartition]],
    plan: TimePlan,
) -> PartitionLogs:
    """Read both ends of the logs, and what the specification looks up, for all groups together."""
    keys = list(dict.fromkeys(key for each in partitions for key in each))
    ends: Results[TopicPartition, int | None] = (
        admin.list_offsets(keys, timeout=plan.until(steps.LOG_ENDS)) if keys else Results()
    )
    known = list(ends.succeeded)
    if not known:
        return PartitionLogs(starts={}, ends={}, found={}, failed=ends.failed)
    found = {
        spec: admin.list_offsets(known, spec=spec, timeout=plan.until(steps.OFFSETS))
        for spec in specification.lookups()
    }
    starts = admin.list_offsets(known, spec=OffsetSpec.earliest(), timeout=plan.until(steps.LOG_STARTS))
    failed = dict(ends.failed)
    for results in (*found.values(), starts):
        failed |= results.failed
    offsets = {spec: results.succeeded for spec, results in found.items()}
    return PartitionLogs(starts=starts.succeeded, ends=ends.succeeded, found=offsets, failed=failed)
