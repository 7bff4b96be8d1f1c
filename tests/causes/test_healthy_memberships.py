"""Groups whose members change for good reasons: none of them is in trouble."""

from collections.abc import Callable
from random import Random
from typing import NamedTuple

import pytest

from kafka_groups.causes.diagnosis import explain
from kafka_groups.causes.finding import CauseKind
from kafka_groups.model import GroupDescription, Member
from tests.causes.observed_group import ObservedGroup, description, member

_WINDOW_S = 25
_ALWAYS_S = 1000
_TIMES_S = range(0, _WINDOW_S + 1, 5)
_RATE = 50


class Stay(NamedTuple):
    """The time for which a member is in the group, in seconds from the first poll."""

    member: Member
    from_s: float = -_ALWAYS_S
    to_s: float = _ALWAYS_S


def _pod(number: int, generation: int = 0, host: str | None = None) -> Member:
    return member("app", member_id=f"app-{number}-{generation}", host=host or f"/host-{number}")


def _rolling_restart(random: Random) -> list[Stay]:
    """Return members that are replaced one after the other, on the same hosts or on new ones."""
    stays = []
    has_new_hosts = random.random() < 0.5
    time_s = random.uniform(-10, 20)
    for number in range(random.choice([2, 3, 5])):
        joined_s = time_s + random.uniform(1, 6)
        host = f"/new-host-{number}" if has_new_hosts else None
        stays += [Stay(_pod(number), to_s=time_s), Stay(_pod(number, 1, host), from_s=joined_s)]
        time_s = joined_s + random.uniform(0, 3)
    return stays


def _scale_out(random: Random) -> list[Stay]:
    """Return a member, and others that join it on the same host."""
    new = [Stay(_pod(number, host="/host-0"), from_s=random.uniform(-5, 25)) for number in range(1, 5)]
    return [Stay(_pod(0)), *new]


def _scale_in(random: Random) -> list[Stay]:
    """Return members of which some leave."""
    return [Stay(_pod(0)), *(Stay(_pod(number), to_s=random.uniform(-5, 25)) for number in range(1, 4))]


def _batch_runs(random: Random) -> list[Stay]:
    """Return the runs of a job that reads everything at each of them."""
    period_s = random.choice([6, 8, 10, 15, 20])
    first_s = random.uniform(-period_s, 0)
    length_s = random.uniform(1, period_s / 2)
    starts = [first_s + period_s * run for run in range(_WINDOW_S // period_s + 2)]
    return [Stay(_pod(0, run), start_s, start_s + length_s) for run, start_s in enumerate(starts)]


def _describe(members: list[Member], partitions: int, epoch: int | None) -> GroupDescription:
    owners = [
        member(
            each.client_id,
            {"orders": range(number, partitions, len(members))},
            member_id=each.member_id,
            host=each.host,
            epoch=epoch,
            target_epoch=epoch,
        )
        for number, each in enumerate(members)
    ]
    return description(*owners, group_epoch=epoch)


def _observe(stays: list[Stay], random: Random) -> ObservedGroup:
    """Return polls of a group that has read everything whenever it has members, and nothing while it has none."""
    partitions = random.choice([1, 3, 6])
    has_epochs = random.random() < 0.5
    changes_s = [time_s for stay in stays for time_s in (stay.from_s, stay.to_s)]
    polls = []
    for time_s in _TIMES_S:
        members = [stay.member for stay in stays if stay.from_s <= time_s < stay.to_s]
        epoch = sum(change_s <= time_s for change_s in changes_s) if has_epochs else None
        polls.append(_describe(members, partitions, epoch))
    read_s = [max(min(stay.to_s, time_s) for stay in stays if stay.from_s <= time_s) for time_s in _TIMES_S]
    group = ObservedGroup(*polls)
    committed = [int(10_000 + _RATE * time_s) for time_s in read_s]
    ends = [10_000 + _RATE * time_s + 1 for time_s in _TIMES_S]
    for number in range(partitions):
        group.partition("orders", number, committed=committed, ends=ends)
    return group


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("scenario", [_rolling_restart, _scale_out, _scale_in, _batch_runs])
def test_healthy_changes_of_members_are_no_trouble(scenario: Callable[[Random], list[Stay]], seed: int) -> None:
    random = Random(seed)
    diagnosis = explain(_observe(scenario(random), random).evidence)
    assert [each.finding.summary for each in diagnosis.found if each.cause.kind is CauseKind.TROUBLE] == []
