"""From selectors to groups: which ids are asked about, and what their listing already told."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from kafka_groups.admin import GroupAdmin
from kafka_groups.commands.options import Selectors
from kafka_groups.model import Failure, GroupListing


@dataclass(frozen=True, kw_only=True)
class Selection:
    """The groups to ask about, by id. `listings` has those that were listed, `skipped` other kinds than can be asked.

    `absent` are ids that were named and that no broker lists; `failures` are brokers that did not list.
    """

    groups: tuple[str, ...]
    named: frozenset[str]
    listings: Mapping[str, GroupListing] = field(default_factory=dict)
    skipped: tuple[GroupListing, ...] = ()
    absent: tuple[str, ...] = ()
    failures: tuple[Failure, ...] = ()


def select_groups(
    admin: GroupAdmin,
    selectors: Selectors,
    *,
    states: Collection[str] | None = None,
    types: Collection[str] | None = None,
    consumers_only: bool = True,
) -> Selection:
    """Resolve selectors. Ids that were named, and nothing else, cost no listing.

    With `consumers_only`, groups of other kinds (share, streams, Connect) are left out unless they were named.
    """
    if not (selectors.every or selectors.match or states or types):
        groups = tuple(sorted(group for group in selectors.named if not _is_excluded(group, selectors)))
        return Selection(groups=groups, named=frozenset(selectors.named))
    answers = admin.list_groups(states=states, types=types)
    wanted = {group: listing for group, listing in answers.found.items() if _is_wanted(group, selectors)}
    named = frozenset(selectors.named)
    skipped = tuple(
        listing
        for group, listing in wanted.items()
        if consumers_only and group not in named and not _is_consumer(listing)
    )
    left_out = {listing.group for listing in skipped}
    failures = tuple(answers.failed.values())
    absent = _absent(admin, selectors, wanted, filtered=bool(states or types)) if not failures else ()
    return Selection(
        groups=tuple(sorted(group for group in wanted if group not in left_out)),
        named=named,
        listings={group: listing for group, listing in wanted.items() if group not in left_out},
        skipped=skipped,
        absent=absent,
        failures=failures,
    )


def _absent(
    admin: GroupAdmin, selectors: Selectors, wanted: Mapping[str, GroupListing], *, filtered: bool
) -> tuple[str, ...]:
    missing = [group for group in selectors.named if group not in wanted and not _is_excluded(group, selectors)]
    if not missing or not filtered:
        return tuple(missing)
    # The brokers filtered: only a listing without filters tells a group of another state from none at all.
    everything = admin.list_groups().found
    return tuple(group for group in missing if group not in everything)


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
