"""A check: its subject, its status, and what was found or what to do."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from kafka_groups.errors import AdminError
from kafka_groups.model import Failure


class Status(StrEnum):
    """The status of a check."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"
    SKIPPED = "skipped"


class Check(NamedTuple):
    """A check of a server, a broker, the cluster, a group or a topic.

    `server` is the address of a bootstrap server or of a broker, as host:port; `broker` is the broker's id. Without any
    of them the check is about the cluster. A failed check has a `failure`, whose message contains the subject.
    """

    check: str
    status: Status
    detail: str
    server: str | None = None
    broker: int | None = None
    group: str | None = None
    topic: str | None = None
    failure: Failure | None = None

    @property
    def subject(self) -> str:
        """Return what the check is about, as people call it."""
        if self.broker is not None:
            return f"broker {self.broker}{f' ({self.server})' if self.server else ''}"
        if self.group is not None:
            return f"group {self.group}"
        if self.topic is not None:
            return f"topic {self.topic}"
        return self.server or "cluster"


class Subject(NamedTuple):
    """What several checks are about; the fields are those of `Check`."""

    server: str | None = None
    broker: int | None = None
    group: str | None = None
    topic: str | None = None

    def check(self, check: str, status: Status, detail: str) -> Check:
        """Return a check of this subject that did not fail."""
        return Check(check, status, detail, *self)

    def failed(self, check: str, detail: str, error: AdminError) -> Check:
        """Return a failed check of this subject; `error` has the text that stands alone."""
        failure = Failure.of(error, group=self.group, topic=self.topic, broker=self.broker)
        return Check(check, Status.FAILED, detail, *self, failure)
