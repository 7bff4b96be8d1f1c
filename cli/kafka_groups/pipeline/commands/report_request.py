"""The request of `pipeline report`: the groups that its selectors choose, and the number that each output shows."""

from __future__ import annotations

from typing import Final, NamedTuple

from kafka_groups.groups.selection import Selectors
from kafka_groups.pipeline.report.limits import GroupLimit

# The number of groups in a table, which a person reads.
_DEFAULT_TOP: Final = 20
# Programs get more groups. Each has up to a thousand points, and a million points are some 100 MB of JSON.
_DEFAULT_TOP_BY_FORMAT: Final = {"json": 1_000, "ndjson": 1_000, "csv": None}
_MATCHES_NOTHING: Final = "(?!)"


class GroupChoice(NamedTuple):
    """The chosen groups: `groups` by id, and those whose full id matches `match`, without those that match `exclude`.

    All groups are chosen if there is neither an id nor a pattern to match.
    """

    groups: tuple[str, ...]
    match: str | None
    exclude: str | None

    @property
    def has_pattern(self) -> bool:
        """True if the user gave a pattern, which may match no group."""
        return (self.match or self.exclude) is not None and self.match != _MATCHES_NOTHING


class GroupLimits(NamedTuple):
    """The limits of groups: `shown` in the output, `on_page` on the page, `drawn` with points in either."""

    shown: GroupLimit
    on_page: GroupLimit
    drawn: GroupLimit


def choose_groups(selectors: Selectors) -> GroupChoice:
    """Return the groups that the selectors choose; named groups that are excluded are not among them."""
    match_pattern = selectors.match.pattern if selectors.match else None
    exclude_pattern = selectors.exclude
    if exclude_pattern is None:
        return GroupChoice(selectors.named, match_pattern, None)
    named_groups = tuple(group for group in selectors.named if exclude_pattern.fullmatch(group) is None)
    if selectors.named and not named_groups and match_pattern is None:
        # All named groups are excluded, so no group is selected, instead of all groups.
        match_pattern = _MATCHES_NOTHING
    return GroupChoice(named_groups, match_pattern, exclude_pattern.pattern)


def choose_limits(top: int | None, named_groups: tuple[str, ...], output_format: str, *, has_page: bool) -> GroupLimits:
    """Return the limits of a report; without --top, all named groups are shown in addition to the first ones."""
    if top is None:
        exempt_groups = frozenset(named_groups)
        shown_limit = GroupLimit(_DEFAULT_TOP_BY_FORMAT.get(output_format, _DEFAULT_TOP), exempt_groups)
        page_limit = GroupLimit(_DEFAULT_TOP, exempt_groups)
    else:
        shown_limit = GroupLimit(top)
        page_limit = GroupLimit(top)
    if output_format != "csv":
        return GroupLimits(shown_limit, page_limit, drawn=shown_limit)
    # CSV has no points.
    return GroupLimits(shown_limit, page_limit, drawn=page_limit if has_page else GroupLimit(0))
