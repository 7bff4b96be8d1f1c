"""The file of `lag --polls`: read before a command, and written after each poll."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from kafka_groups.admin import Deadline, GroupAdmin
from kafka_groups.errors import ExportError, IncompleteResultError, PollsFileError
from kafka_groups.exit_codes import ResultStatus
from kafka_groups.files import SpecialFileError, read_regular
from kafka_groups.groups.lag.polls import Polls
from kafka_groups.groups.lag.polls_file import format_polls, read_polls
from kafka_groups.options.cluster_session import ClusterSession
from kafka_groups.options.export import export_text


def load_polls(admin: GroupAdmin, name: str, *, timeout: Deadline) -> Polls:
    """Return the polls of a file that must exist. Raises PollsFileError, as `open_polls` does."""
    if not Path(name).exists():
        msg = f"there is no file {name}; lag --polls {name} begins one"
        raise PollsFileError(msg)
    return read_polls(_read_text(name), name=name, cluster_id=admin.cluster_id(timeout=timeout))


class PollsFile:
    """Polls, and the file that keeps them between runs.

    `isolation` is the level of their log ends, and `topics` narrow them, none for all topics.
    """

    def __init__(self, polls: Polls, name: str, *, cluster_id: str, isolation: str, topics: Sequence[str] = ()) -> None:
        self.polls = polls
        self._name = name
        self._cluster_id = cluster_id
        self._isolation = isolation
        self._topics = topics
        self._saved_polls = 0
        self._is_failure_reported = False

    def save(self) -> None:
        """Write the file if a poll ended since it was written. Raises ExportError if it cannot be written."""
        ended = self.polls.ended
        if ended == self._saved_polls:
            return
        text = format_polls(self.polls, self._cluster_id, self._isolation, self._topics)
        export_text(self._name, text, what="the polls", is_read_back=True)
        self._saved_polls = ended
        self._is_failure_reported = False

    def try_to_save(self) -> list[str]:
        """Write the file, and return a note if that fails for the first time since it succeeded."""
        try:
            self.save()
        except ExportError as error:
            if not self._is_failure_reported:
                self._is_failure_reported = True
                return [f"Error: {error}"]
        return []

    def close(self) -> None:
        """Write the file at the end. Raises ExportError, or IncompleteResultError if the failure was reported."""
        try:
            self.save()
        except ExportError:
            if self._is_failure_reported:
                raise IncompleteResultError(ResultStatus.FAILED) from None
            raise


@contextmanager
def open_polls(
    session: ClusterSession, name: str, *, isolation: str, topics: Sequence[str] = ()
) -> Iterator[PollsFile]:
    """Yield the polls of a file, which is written when the context ends.

    Raises PollsFileError for a file that cannot be read, or that has another kind, cluster, isolation level or topics,
    and ExportError if the file cannot be written. If a signal ends the command, that is only a note.
    """
    cluster_id = session.admin.cluster_id(timeout=session.deadline)
    polls = read_polls(_read_text(name), name=name, cluster_id=cluster_id, isolation=isolation, topics=topics)
    file = PollsFile(polls, name, cluster_id=cluster_id, isolation=isolation, topics=topics)
    try:
        yield file
    except (KeyboardInterrupt, SystemExit):
        session.print_messages(file.try_to_save())
        raise
    except BaseException:
        file.close()
        raise
    file.close()


def _read_text(name: str) -> str:
    try:
        return read_regular(name).decode("utf-8")
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError as error:
        msg = f"{name} is not a file of lag --polls: it is not UTF-8; use another file"
        raise PollsFileError(msg) from error
    except SpecialFileError as error:
        msg = f"cannot use {name} as the file of --polls: {error.strerror}"
        raise PollsFileError(msg) from error
    except OSError as error:
        msg = f"cannot read {name}: {error.strerror}"
        raise PollsFileError(msg) from error
