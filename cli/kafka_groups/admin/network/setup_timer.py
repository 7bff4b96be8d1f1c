"""The time in which a connection has to be set up, shared among the addresses of its host."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kafka_groups.admin.network.channel import Channel


class SetupTimer:
    """The deadline of one connection's set-up, which the peer's responses renew.

    An address that does not accept leaves the same time to each of those after it: `wakes_at` is when its turn ends.
    Times are seconds of the connection's clock.
    """

    def __init__(self, timeout_s: float, now: float) -> None:
        self.timeout_s = timeout_s
        self.deadline = now + timeout_s
        self.wakes_at = self.deadline
        self._remaining_addresses = 0

    def is_over(self, now: float) -> bool:
        """Return whether the set-up has taken too long."""
        return now >= self.deadline

    def renew(self, now: float) -> None:
        """Give the next step the whole time again: the broker is there, and authentication may take it a while."""
        self.deadline = self.wakes_at = now + self.timeout_s

    def suspend(self) -> None:
        """Stop the time: the set-up waits for something that is not the peer's, and that has a limit of its own."""
        self.deadline = self.wakes_at = inf

    def share(self, channel: Channel, now: float) -> None:
        """Share the remaining time among the address of the channel and those that were not tried."""
        self._remaining_addresses = channel.remaining_addresses
        turns = self._remaining_addresses + 1
        share_s = (self.deadline - now) / turns
        self.wakes_at = self.deadline if channel.is_connected else now + share_s

    def try_next_address(self, channel: Channel, now: float) -> None:
        """Go on to the next address if the turn of this one is over. AdminError if there is none."""
        is_due = self.wakes_at <= now < self.deadline
        if not channel.is_connected and channel.remaining_addresses and is_due:
            channel.try_next_address()
        if channel.is_connected or channel.remaining_addresses != self._remaining_addresses:
            self.share(channel, now)
