"""From selectors to groups: which groups a caller means, and what a listing already returned about them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from kafka_groups.admin.api import Admin, Step, TimePlan
from kafka_groups.errors import AdminError, MissingFromResponseError
from kafka_groups.groups import steps
from kafka_groups.groups.notes import Note, NoteKind
from kafka_groups.kinds import Operation, label_of, supports
from kafka_groups.model import Failure, GroupListing
from kafka_groups.protocol.errors import GROUP_ID_NOT_FOUND, broker_error


class Selectors(NamedTuple):
    """The groups that a caller means. `named` has each id once, in the given order."""

    named: tuple[str, ...] = ()
    match: re.Pattern[str] | None = None
    all_groups: bool = False
    exclude: re.Pattern[str] | None = None
    states: tuple[str, ...] | None = None
    types: tuple[str, ...] | None = None

    def is_empty(self) -> bool:
        """Return whether nothing selects a group."""
        return not (self.named or self.match or self.all_groups)

    def needs_listing(self) -> bool:
        """Return whether groups are listed to find the selected ones."""
        return bool(self.all_groups or self.match or self.states or self.types)

    def ids_without_listing(self) -> tuple[str, ...]:
        """Return the named ids if no group is listed: whether they exist is known only when they are read."""
        return () if self.needs_listing() else self.named

    def selects_all(self) -> bool:
        """Return whether every listed group is selected."""
        return self.exclude is None and (self.all_groups or self.is_empty())

    def excludes(self, group: str) -> bool:
        """Return whether the group is excluded."""
        return self.exclude is not None and self.exclude.fullmatch(group) is not None

    def selects(self, group: str) -> bool:
        """Return whether a listed group is selected; every group is if nothing selects one."""
        if self.excludes(group):
            return False
        if group in self.named:
            return True
        if self.match is not None:
            return self.match.fullmatch(group) is not None
        return self.all_groups or self.is_empty()


class Selection(NamedTuple):
    """The selected groups, by id.

    `named` are the ids that the caller named, `listings` the groups that were listed. `skipped` are listed groups that
    do not support the operation. `unlisted` are named ids that were not listed while a broker failed to list its
    groups. `failures` are those brokers', and those of named ids that no broker lists.
    `anything_listed` says whether anything was listed: a group, or an empty list of a broker.
    """

    groups: tuple[str, ...]
    named: frozenset[str]
    listings: Mapping[str, GroupListing] = MappingProxyType({})
    skipped: tuple[GroupListing, ...] = ()
    unlisted: tuple[str, ...] = ()
    failures: tuple[Failure, ...] = ()
    anything_listed: bool = True

    def notes(self) -> list[Note]:
        """Return notes on the groups that were skipped, and if nothing matches at all."""
        is_empty = not self.groups and not self.failures
        return [*(note_skipped(self.skipped) if self.skipped else ()), *([NO_MATCH] if is_empty else [])]

    def without_deleted(self, *failed: Mapping[str, Failure]) -> tuple[list[Failure], list[Note]]:
        """Return the failures, and a note instead of those of groups that nobody named and that were just deleted."""
        failures = [(group, failure) for by_group in failed for group, failure in by_group.items()]
        deleted = {
            group for group, failure in failures if group not in self.named and failure.code == GROUP_ID_NOT_FOUND
        }
        text = f"{len(deleted):,} of the listed groups were deleted before they were read."
        notes = [Note(NoteKind.DELETED_MEANWHILE, None, text)] if deleted else []
        return [failure for group, failure in failures if group not in deleted], notes


NO_MATCH: Final = Note(NoteKind.NO_MATCH, None, "No group matches.")


def note_skipped(skipped: Iterable[GroupListing]) -> list[Note]:
    """Return a note on groups of kinds that an operation does not support."""
    listings = list(skipped)
    if not listings:
        return []
    kinds = ", ".join(sorted({label_of(group) for group in listings} - {""}))
    subject = "1 group of another kind is" if len(listings) == 1 else f"{len(listings):,} groups of other kinds are"
    return [Note(NoteKind.SKIPPED_GROUPS, None, f"{subject} skipped ({kinds}).")]


def listing_steps(selectors: Selectors) -> tuple[Step, ...]:
    """Return the steps of a listing of the selected groups; none if no group is listed."""
    is_filtered = bool(selectors.states or selectors.types)
    if is_filtered and selectors.named:
        return (steps.LISTING, steps.UNFILTERED_LISTING)
    return (steps.LISTING,) if selectors.needs_listing() else ()


def select_groups(
    admin: Admin,
    selectors: Selectors,
    *,
    operation: Operation,
    plan: TimePlan | None = None,
) -> Selection:
    """Return the groups to read. Ids that were named, and nothing else, cost no listing.

    Groups that do not support the operation are skipped unless they were named. The plan has the `listing_steps`.
    """
    if not selectors.needs_listing():
        groups = tuple(sorted(group for group in selectors.named if not selectors.excludes(group)))
        return Selection(groups=groups, named=frozenset(selectors.named))
    listed = list_selected(admin, selectors, operation=operation, plan=plan)
    skipped = tuple(
        group
        for group in listed.listings.values()
        if group.group not in listed.named and not supports(group, operation)
    )
    ids = {group.group for group in skipped}
    # The broker that failed to list its groups may be the coordinator of a named one, which is read all the same.
    groups = tuple(sorted(group for group in (*listed.groups, *listed.unlisted) if group not in ids))
    # A group that was listed and is skipped does not make up for a named one that is absent.
    is_absent = any(failure.group is not None for failure in listed.failures)
    anything_listed = bool(groups) or (listed.anything_listed and not is_absent)
    return listed._replace(groups=groups, skipped=skipped, unlisted=(), anything_listed=anything_listed)


def list_selected(
    admin: Admin,
    selectors: Selectors,
    *,
    operation: Operation | None = None,
    plan: TimePlan | None = None,
) -> Selection:
    """Return the listed groups of every type that are selected; all of them if nothing selects one.

    The error of an absent id suggests a listed group that supports the `operation`. The plan has the `listing_steps`.
    """
    plan = plan or TimePlan()
    results = admin.list_groups(states=selectors.states, types=selectors.types, timeout=plan.until(steps.LISTING))
    selected = (
        results.succeeded
        if selectors.selects_all()
        else {group: listing for group, listing in results.succeeded.items() if selectors.selects(group)}
    )
    missing = [group for group in selectors.named if group not in selected and not selectors.excludes(group)]
    is_filtered = bool(selectors.states or selectors.types)
    absent: Collection[str] = () if results.failed else missing
    failures = [*results.failed.values()]
    everything = results
    if absent and is_filtered:
        # The brokers filtered, so only an unfiltered listing distinguishes a group of another state from an absent one.
        everything = admin.list_groups(timeout=plan.until(steps.UNFILTERED_LISTING))
        failures += everything.failed.values()
        absent = () if everything.failed else [group for group in missing if group not in everything.succeeded]
    is_any_broker_left = not absent and len(results.failed) < len(admin.brokers(timeout=plan.deadline))
    return Selection(
        groups=tuple(sorted(selected)),
        named=frozenset(selectors.named),
        listings=selected,
        unlisted=tuple(missing) if results.failed and not is_filtered else (),
        failures=(*failures, *_absent(absent, everything.succeeded, operation)),
        anything_listed=bool(selected) or is_any_broker_left,
    )


def _absent(
    groups: Collection[str], listings: Mapping[str, GroupListing], operation: Operation | None
) -> tuple[Failure, ...]:
    """Return the failures of named ids that no broker lists; each suggests the nearest id."""
    if not groups:
        return ()
    # Imported here, as most commands name no absent group.
    from kafka_groups.groups.suggestions import nearest_groups, with_nearest_groups

    return with_nearest_groups(map(not_found, groups), nearest_groups(groups, listings, operation))


def not_found(group: str) -> Failure:
    """Return the failure of a named id that no broker knows."""
    return Failure.of(broker_error(GROUP_ID_NOT_FOUND), group=group)


def not_listed(group: str) -> Failure:
    """Return the failure of a named id that no broker listed while one of them failed."""
    error: AdminError = MissingFromResponseError("no broker lists it, and not every broker responded")
    return Failure.of(error, group=group)
