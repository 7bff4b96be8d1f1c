"""Two describes, one answer: a group whose kind was not known has been asked about in both ways."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from kafka_groups.admin.driver import ApiDriver
from kafka_groups.errors import UnsupportedVersionError
from kafka_groups.model import Broker, Failure, GroupDescription, Results
from kafka_groups.protocol.errors import GROUP_ID_NOT_FOUND


def merge_descriptions(
    groups: Sequence[str],
    consumer: ApiDriver[str, GroupDescription],
    classic: ApiDriver[str, GroupDescription],
    lost: Mapping[str, Failure],
    brokers: Mapping[int, Broker],
) -> Results[str, GroupDescription]:
    """Each group's description, under the coordinator that gave it, or the failure that says what is the matter.

    `lost` are groups whose coordinator could not be found, which neither describe was asked about.
    """
    found: dict[str, GroupDescription] = {}
    failed: dict[str, Failure] = {}
    for group in groups:
        driver = consumer if group in consumer.completed else classic
        if group in driver.completed:
            coordinator = brokers.get(driver.locations[group]) if group in driver.locations else None
            found[group] = replace(driver.completed[group], coordinator=coordinator)
        elif group in lost:
            failed[group] = lost[group]
        else:
            failed[group] = _telling(consumer.failed.get(group), classic.failed.get(group))
    return Results(succeeded=found, failed=failed)


def not_found(driver: ApiDriver[str, GroupDescription]) -> set[str]:
    """The groups that an API says are not there, or are of another kind."""
    return {group for group, failure in driver.failed.items() if failure.code == GROUP_ID_NOT_FOUND}


def with_moved(
    groups: Sequence[str], answers: Results[str, GroupDescription], moved: Results[str, GroupDescription]
) -> Results[str, GroupDescription]:
    """The answers, and those of them that the other API knew; the failures of the rest stay as they were."""
    found = {**answers.succeeded, **moved.succeeded}
    return Results(
        succeeded={group: found[group] for group in groups if group in found},
        failed={group: failure for group, failure in answers.failed.items() if group not in found},
    )


def _telling(consumer: Failure | None, classic: Failure | None) -> Failure:
    """Of the failures of both describes, the one that says what is the matter.

    Each API calls a group of the other kind GROUP_ID_NOT_FOUND, and an old broker lacks the newer one;
    when both say so, the newer API's message names what kind the group is not (Kafka shows that one too).
    """
    if consumer is None or classic is None:
        told = consumer or classic
        assert told is not None
        return told
    if consumer.name == UnsupportedVersionError.name:
        return classic
    return classic if consumer.code == GROUP_ID_NOT_FOUND != classic.code else consumer
