"""The workers of a Connect group at a poll, and what they run."""

from __future__ import annotations

from typing import NamedTuple

from kafka_groups.causes.evidence import GroupPoll
from kafka_groups.causes.finding import Fact
from kafka_groups.command_lines import command_line
from kafka_groups.members import ConnectorTasks, ConnectWorker
from kafka_groups.model import Member


class Worker(NamedTuple):
    """A member of a Connect group with its worker. `connectors` are none while the group rebalances."""

    member: Member
    worker: ConnectWorker

    @property
    def connectors(self) -> tuple[ConnectorTasks, ...]:
        """Return what the worker runs."""
        return self.worker.connectors or ()

    @property
    def tasks(self) -> int:
        """Return how many tasks the worker runs, connectors excluded."""
        return sum(len(connector.tasks) for connector in self.connectors)

    def fact(self, text: str, at_ms: int) -> Fact:
        """Return a row of evidence about the worker."""
        return Fact(
            text, at_ms, member_id=self.member.member_id, client_id=self.member.client_id, host=self.member.host
        )


def workers_of(poll: GroupPoll) -> list[Worker]:
    """Return the workers at a poll by URL, without those whose bytes are unreadable."""
    known = [Worker(member, member.worker) for member in poll.group.members if member.worker is not None]
    return sorted(known, key=lambda each: each.worker.url)


def settled_workers(poll: GroupPoll) -> list[Worker]:
    """Return the workers at a poll if the work of all of them is known, else none."""
    workers = workers_of(poll)
    is_known = len(workers) == len(poll.group.members) and all(each.worker.connectors is not None for each in workers)
    return workers if is_known else []


def leader_of(workers: list[Worker]) -> Worker | None:
    """Return the worker that leads the group; None if it is unknown."""
    return next((each for each in workers if each.member.member_id == each.worker.leader), None)


def status_command(workers: list[Worker]) -> str | None:
    """Return the command line that prints the states of all connectors and tasks; None without a REST URL."""
    leader = leader_of(workers)
    url = (leader or workers[0]).worker.url if workers else ""
    return command_line("curl", "-s", f"{url.rstrip('/')}/connectors?expand=status") if url else None
