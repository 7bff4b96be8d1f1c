"""The group compared with the other groups of the cluster: which of them stopped at the same time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from kafka_groups.causes.evidence import Evidence, PartitionPolls
from kafka_groups.causes.series import lag_of, moves_at_all, produced, stands_still
from kafka_groups.model import TopicPartition

# Groups that stopped together have about the same lag in time: within this factor of each other.
_TOGETHER: Final = 2.0
# The lag in time of groups that just stopped differs by commit intervals.
_COMMIT_MS: Final = 30_000
# One group may stop on a leader by chance.
_MIN_GROUPS: Final = 2


class ComparedGroup(NamedTuple):
    """A group with its coordinator and its partitions; `is_own` for the group of the evidence."""

    group: str
    coordinator: int | None
    partitions: Mapping[TopicPartition, PartitionPolls]
    is_own: bool = False

    def led_by(self, broker: int) -> ComparedGroup:
        """Return the group with those partitions alone that a broker leads at the last poll."""
        led = {key: polls for key, polls in self.partitions.items() if polls[-1].leader == broker}
        return self._replace(partitions=led)

    def led_by_others(self, broker: int) -> ComparedGroup:
        """Return the group with those partitions alone that other brokers lead."""
        others = {key: polls for key, polls in self.partitions.items() if polls[-1].leader not in (broker, None)}
        return self._replace(partitions=others)


def compared_groups(evidence: Evidence) -> list[ComparedGroup]:
    """Return the group itself, and then the others that were observed."""
    broker = evidence.last.group.coordinator
    own = ComparedGroup(evidence.group, broker.id if broker else None, evidence.partitions, is_own=True)
    return [own, *(ComparedGroup(other.group, other.coordinator, other.partitions) for other in evidence.others)]


def stopped_together(groups: Iterable[ComparedGroup], least_ms: float = 0) -> list[ComparedGroup]:
    """Return the groups that stand still for about as long as the group itself; none if that one moves.

    The group itself must have a lag of `least_ms` in time.

    A group that has been dead for days stands still, too, and is not evidence.
    """
    still = {each.group: each for each in groups if stands_still(each.partitions.values())}
    own = next((each for each in still.values() if each.is_own), None)
    if own is None:
        return []
    own_ms = _stopped_for_ms(own)
    if own_ms < least_ms:
        return []
    return [each for each in still.values() if _is_near(_stopped_for_ms(each), own_ms)]


def anybody_moves(groups: Iterable[ComparedGroup]) -> bool:
    """Return whether the commit of a group moves."""
    return any(moves_at_all(each.partitions.values()) for each in groups)


def groups_stopped_on(evidence: Evidence, broker: int) -> list[str]:
    """Return the groups that stopped on a leader together, and read from others.

    The list is empty if the group stopped alone, or if any group still reads from that leader.
    """
    groups = compared_groups(evidence)
    together = stopped_together(group.led_by(broker) for group in groups)
    reading = {group.group for group in groups if anybody_moves([group.led_by_others(broker)])}
    names = [group.group for group in together if group.group in reading]
    is_shared = len(names) >= _MIN_GROUPS and evidence.group in names
    return names if is_shared and not anybody_moves(group.led_by(broker) for group in groups) else []


def _stopped_for_ms(group: ComparedGroup) -> float:
    """Return the lag in time: how long producers wrote what is unread, at their present rate, in ms."""
    written = sum(map(produced, group.partitions.values()))
    polls = next(iter(group.partitions.values()))
    return sum(map(lag_of, group.partitions.values())) * (polls[-1].at_ms - polls[0].at_ms) / written


def _is_near(first_ms: float, second_ms: float) -> bool:
    low, high = sorted((first_ms, second_ms))
    return high <= _TOGETHER * low or high - low <= _COMMIT_MS
