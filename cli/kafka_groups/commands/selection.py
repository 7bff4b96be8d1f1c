"""From selectors to groups: which ids are asked about, and what their listing already told."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from kafka_groups.admin import GroupAdmin
from kafka_groups.commands.options import Selectors
from kafka_groups.model import Failure, GroupListing

# A question that is not the command's last leaves half of the time that is left to those after it.
NOT_LAST: Final = 0.5


@dataclass(frozen=True, kw_only=True)
class Selection:
    """The groups to ask about, by id. `listings` has those that were listed, `skipped` other kinds than can be asked.

    `absent` are ids that were named and that no broker lists; `unsure` those that were not listed while a
    broker failed to list; `failures` are those brokers'.
    """

    groups: tuple[str, ...]
    named: frozenset[str]
    listings: Mapping[str, GroupListing] = field(default_factory=dict)
    skipped: tuple[GroupListing, ...] = ()
    absent: tuple[str, ...] = ()
    unsure: tuple[str, ...] = ()
    failures: tuple[Failure, ...] = ()


def select_groups(
    admin: GroupAdmin,
    selectors: Selectors,
    *,
    states: Collection[str] | None = None,
    types: Collection[str] | None = None,
) -> Selection:
    """Groups to ask about. Ids that were named, and nothing else, cost no listing.

    Groups of other kinds than consumer groups (share, streams, Connect) are left out unless they were named.
    """
    if not (selectors.every or selectors.match or states or types):
        groups = tuple(sorted(group for group in selectors.named if not _is_excluded(group, selectors)))
        return Selection(groups=groups, named=frozenset(selectors.named))
    listed = list_selected(admin, selectors, states=states, types=types, share=NOT_LAST)
    skipped = tuple(
        listing for group, listing in listed.listings.items() if group not in listed.named and not _is_consumer(listing)
    )
    left_out = {listing.group for listing in skipped}
    # A broker that did not list may be the one that has a named group: it is asked about all the same.
    asked = [group for group in (*listed.groups, *listed.unsure) if group not in left_out]
    return replace(listed, groups=tuple(sorted(asked)), skipped=skipped, unsure=())


def list_selected(
    admin: GroupAdmin,
    selectors: Selectors,
    *,
    states: Collection[str] | None,
    types: Collection[str] | None,
    share: float = 1.0,
) -> Selection:
    """Listed groups of every kind; all of them if nothing is selected."""
    answers = admin.list_groups(states=states, types=types, share=share)
    wanted = {group: listing for group, listing in answers.succeeded.items() if _is_wanted(group, selectors)}
    missing = [group for group in selectors.named if group not in wanted and not _is_excluded(group, selectors)]
    absent = () if answers.failed else _absent(admin, missing, filtered=bool(states or types))
    return Selection(
        groups=tuple(sorted(wanted)),
        named=frozenset(selectors.named),
        listings=wanted,
        absent=absent,
        unsure=tuple(missing) if answers.failed and not (states or types) else (),
        failures=tuple(answers.failed.values()),
    )


def _absent(admin: GroupAdmin, missing: Sequence[str], *, filtered: bool) -> tuple[str, ...]:
    if not missing or not filtered:
        return tuple(missing)
    # The brokers filtered: only a listing without filters tells a group of another state from none at all.
    everything = admin.list_groups(share=NOT_LAST)
    return tuple(group for group in missing if group not in everything.succeeded) if not everything.failed else ()


def anything_listed(selection: Selection, *, brokers: int) -> bool:
    """Whether anything was answered: a group, or an empty list of a broker that could be asked."""
    return bool(selection.groups) or (not selection.absent and len(selection.failures) < brokers)


def _is_wanted(group: str, selectors: Selectors) -> bool:
    if _is_excluded(group, selectors):
        return False
    if group in selectors.named:
        return True
    if selectors.match is not None:
        return selectors.match.fullmatch(group) is not None
    return selectors.every or selectors.is_empty()


def _is_excluded(group: str, selectors: Selectors) -> bool:
    return selectors.exclude is not None and selectors.exclude.fullmatch(group) is not None


def _is_consumer(listing: GroupListing) -> bool:
    """Whether the consumer-group APIs can answer for this group: classic and simple ones, and KIP-848."""
    if listing.type in ("Share", "Streams"):
        return False
    return listing.protocol_type in ("consumer", "")
