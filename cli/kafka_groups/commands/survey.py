"""All that is asked of the cluster to describe groups, as few requests as it takes, each failure kept apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kafka_groups.admin import EARLIEST, LATEST, GroupOffsets
from kafka_groups.commands.cluster_session import Session
from kafka_groups.commands.selection import NOT_LAST, Selection
from kafka_groups.lag import join_offsets
from kafka_groups.model import Broker, Failure, GroupDescription, GroupListing, OffsetRow, Results, TopicPartition

_NOT_FOUND = 69
_TOPIC_DENIED = 29


@dataclass(frozen=True, kw_only=True)
class Survey:
    """Groups with everything their rows are made of. Offsets stay packed until `rows_of` is asked for a group."""

    descriptions: Mapping[str, GroupDescription]
    offsets: Mapping[str, GroupOffsets]
    ends: Mapping[str, Mapping[int, int]]
    starts: Mapping[str, Mapping[int, int]]

    def rows_of(self, group: str) -> list[OffsetRow]:
        """The rows of one group's offsets view; none if its commits are not known."""
        if group not in self.offsets:
            return []
        return join_offsets(
            group,
            members=self.descriptions[group].members,
            committed=self.offsets[group].by_topic(),
            ends=self.ends,
            starts=self.starts,
        )


def survey_groups(
    asked: Session,
    selection: Selection,
    *,
    with_offsets: bool,
    with_starts: bool,
    with_epochs: bool,
    only_offsets: bool,
) -> Survey:
    """Ask for states and members, then commits, then log ends. What fails is added to the session's failures.

    With `only_offsets`, a group whose commits could not be told has nothing to show, and is left out.
    """
    asked.failures += [*selection.failures, *map(not_found, selection.absent)]
    tell_skipped(asked, selection)
    descriptions = _describe(asked, selection, with_epochs=with_epochs, with_offsets=with_offsets)
    if not with_offsets:
        return Survey(descriptions=descriptions, offsets={}, ends={}, starts={})
    offsets = asked.admin.list_consumer_group_offsets(dict.fromkeys(descriptions), share=NOT_LAST)
    asked.failures += without_vanished(asked, selection, offsets.failed)
    asked.failures += refusals(offsets.succeeded)
    partitions = _partitions(descriptions.values(), offsets.succeeded.values())
    ends = asked.admin.list_offsets(partitions, at=LATEST, share=NOT_LAST if with_starts else 1.0)
    asked.failures += ends.failed.values()
    starts: Results[TopicPartition, int | None] = Results()
    if with_starts:
        # A partition whose end could not be told would only fail once more.
        starts = asked.admin.list_offsets([key for key in partitions if key in ends.succeeded], at=EARLIEST)
        asked.failures += starts.failed.values()
    shown = {
        group: description
        for group, description in descriptions.items()
        if group in offsets.succeeded or not only_offsets
    }
    return Survey(
        descriptions=shown,
        offsets=offsets.succeeded,
        ends=_by_topic(ends.succeeded),
        starts=_by_topic(starts.succeeded),
    )


def refusals(offsets: Mapping[str, GroupOffsets]) -> list[Failure]:
    """A failure for each partition that a broker would not tell the commit of."""
    return [failure for group, told in offsets.items() for failure in told.failures(group)]


def without_vanished(asked: Session, selection: Selection, failed: Mapping[str, Failure]) -> list[Failure]:
    """These failures, but for groups that nobody named and that went away after they were listed: those are a note."""
    vanished = {
        group for group, failure in failed.items() if group not in selection.named and failure.code == _NOT_FOUND
    }
    if vanished:
        asked.note(f"{len(vanished):,} of the listed groups vanished before they were asked about.")
    return [failure for group, failure in failed.items() if group not in vanished]


def _describe(
    asked: Session, selection: Selection, *, with_epochs: bool, with_offsets: bool
) -> dict[str, GroupDescription]:
    brokers = asked.admin.brokers()
    told = {
        group: _from_listing(listing, brokers)
        for group, listing in selection.listings.items()
        if listing.state == "Empty" and (listing.type == "Classic" or not with_epochs)
    }
    share = NOT_LAST if with_offsets else 1.0
    answers = asked.admin.describe_groups([group for group in selection.groups if group not in told], share=share)
    asked.failures += without_vanished(asked, selection, answers.failed)
    # One undescribable topic hides a KIP-848 group's members, but not its visible commits.
    denied = {
        group: GroupDescription(group=group, type="Consumer", state=None, protocol_type="consumer", coordinator=None)
        for group, failure in answers.failed.items()
        if with_offsets and failure.code == _TOPIC_DENIED
    }
    everything: dict[str, GroupDescription] = {**told, **answers.succeeded, **denied}
    return {group: everything[group] for group in selection.groups if group in everything}


def _from_listing(listing: GroupListing, brokers: Mapping[int, Broker]) -> GroupDescription:
    """What a listing tells of an Empty group is all there is to tell in the offsets view."""
    return GroupDescription(
        group=listing.group,
        type=listing.type,
        state=listing.state,
        protocol_type=listing.protocol_type,
        coordinator=brokers.get(listing.coordinator),
    )


def _partitions(descriptions: Iterable[GroupDescription], offsets: Iterable[GroupOffsets]) -> list[TopicPartition]:
    topics: dict[str, set[int]] = {}
    for group in offsets:
        for topic, partitions in group.partitions():
            topics.setdefault(topic, set()).update(partitions)
    for description in descriptions:
        for member in description.members:
            for assigned in member.assignment:
                topics.setdefault(assigned.topic, set()).update(assigned.partitions)
    return [TopicPartition(topic, partition) for topic, found in topics.items() for partition in sorted(found)]


def _by_topic(offsets: Mapping[TopicPartition, int | None]) -> dict[str, dict[int, int]]:
    topics: dict[str, dict[int, int]] = {}
    for (topic, partition), offset in offsets.items():
        if offset is not None:
            topics.setdefault(topic, {})[partition] = offset
    return topics


def not_found(group: str) -> Failure:
    """The failure of an id that was named and that no broker knows."""
    return Failure(group=group, code=_NOT_FOUND, name="GROUP_ID_NOT_FOUND", message="there is no such group")


def tell_skipped(asked: Session, selection: Selection) -> None:
    """Note the groups of kinds that consumer-group APIs cannot answer for, and that nothing matches at all."""
    if selection.skipped:
        kinds = sorted(
            {
                listing.type if listing.type in ("Share", "Streams") else listing.protocol_type
                for listing in selection.skipped
            }
        )
        count = len(selection.skipped)
        told = "1 group of another kind is" if count == 1 else f"{count:,} groups of other kinds are"
        asked.note(f"{told} left out ({', '.join(filter(None, kinds))}).")
    if not selection.groups and not selection.failures and not selection.absent:
        asked.note("No group matches.")
