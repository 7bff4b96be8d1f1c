"""How many groups one describe request has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

# The response for this many groups with some ten members each has a few megabytes.
MAX_GROUPS: Final = 2_000
# Bytes of a group id that fits into a message of a broker, which has 32,767 at most.
_LONGEST_ID: Final = 32_000


def split_groups(keys: Sequence[str]) -> list[Sequence[str]]:
    """Return the groups of each describe request: at most MAX_GROUPS, and one with a very long id alone.

    If a broker's message on a long id does not fit into the response, it fails all groups of the request.
    """
    long = [key for key in keys if len(key.encode(errors="replace")) > _LONGEST_ID]
    others = [key for key in keys if key not in long] if long else keys
    batches = [others[first : first + MAX_GROUPS] for first in range(0, len(others), MAX_GROUPS)]
    return [*batches, *([key] for key in long)]
