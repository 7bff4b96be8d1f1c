"""The file of `lag --polls`: read before a command, and written after each poll."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kafka_groups.errors import ExportError, IncompleteResultError, PollsFileError
from kafka_groups.exit_codes import ResultStatus
from kafka_groups.files import SpecialFileError, read_regular
from kafka_groups.groups.lag.polls import Polls
from kafka_groups.groups.lag.polls_file import PollsScope, format_file, format_section, read_section, split_file
from kafka_groups.name_lists import first_names
from kafka_groups.options.export import export_text

_MAX_CLUSTERS: Final = 3


def load_sections(name: str) -> Mapping[str, str]:
    """Return the polls of each cluster as text, by cluster id. Raises PollsFileError, also if there is no file."""
    if not Path(name).exists():
        msg = f"there is no file {name}; lag --polls {name} begins one"
        raise PollsFileError(msg)
    return split_file(_read_text(name), name=name)


def read_polls_of(sections: Mapping[str, str], cluster_id: str, *, name: str) -> Polls:
    """Return the polls of a cluster. Raises PollsFileError if the file has none of it, or is damaged."""
    if cluster_id not in sections:
        others = first_names(sections, _MAX_CLUSTERS, more=" and {:,} more")
        has = f"the polls of cluster {others}" if others else "no polls"
        msg = f"{name} has {has}, and this is cluster {cluster_id}; lag --polls {name} adds its polls"
        raise PollsFileError(msg)
    return read_section(sections[cluster_id], name=name)


@dataclass
class _ClusterPolls:
    """The polls of a cluster, and how many had ended when they were written; those of the lowest rank are kept."""

    cluster_id: str
    polls: Polls
    rank: int
    saved: int = 0


class PollsFile:
    """The file that keeps the polls of clusters between runs. Raises PollsFileError if it cannot be read.

    Polls of a cluster stay as they are until this run has polled it, also those that another run writes meanwhile.
    """

    def __init__(self, name: str, scope: PollsScope) -> None:
        self._name = name
        self._scope = scope
        self._clusters: list[_ClusterPolls] = []
        self._is_failure_reported = False
        self._status = _status_of(name)
        self._sections = split_file(_read_text(name), name=name, scope=scope)

    def open(self, cluster_id: str, rank: int = 0) -> Polls:
        """Return the polls of a cluster. Of several with one id, the file keeps those of the lowest rank."""
        self._read_again()
        section = self._sections.get(cluster_id)
        polls = Polls() if section is None else read_section(section, name=self._name)
        self._clusters.append(_ClusterPolls(cluster_id, polls, rank))
        return polls

    def save(self) -> None:
        """Write the file if a poll ended since it was written. Raises ExportError if it cannot be written."""
        changed = [each for each in self._clusters if each.polls.ended != each.saved]
        if not changed:
            return
        self._read_again()
        for each in sorted(changed, key=lambda each: each.rank, reverse=True):
            self._sections[each.cluster_id] = format_section(each.polls, each.cluster_id)
        text = format_file(self._scope, self._sections)
        export_text(self._name, text, what="the polls", is_read_back=True)
        self._status = _status_of(self._name)
        for each in changed:
            each.saved = each.polls.ended
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

    def _read_again(self) -> None:
        """Read what another run has written meanwhile of clusters that this run has not polled."""
        status = _status_of(self._name)
        if status == self._status:
            return
        self._status = status
        own = {each.cluster_id for each in self._clusters}
        # What another run has made of the file cannot be worse than what it had: the polls of this run are written.
        with suppress(PollsFileError):
            found = split_file(_read_text(self._name), name=self._name, scope=self._scope)
            self._sections |= {cluster_id: section for cluster_id, section in found.items() if cluster_id not in own}


@contextmanager
def open_polls(name: str, scope: PollsScope, *, print_messages: Callable[[Iterable[str]], None]) -> Iterator[PollsFile]:
    """Yield the file of polls, which is written when the context ends.

    Raises PollsFileError for a file that cannot be read, or that has another kind, isolation level or topics, and
    ExportError if the file cannot be written. If a signal ends the command, that is only a message.
    """
    file = PollsFile(name, scope)
    try:
        yield file
    except (KeyboardInterrupt, SystemExit):
        print_messages(file.try_to_save())
        raise
    except BaseException:
        file.close()
        raise
    file.close()


def _status_of(name: str) -> tuple[int, int, int] | None:
    """Return what changes when another run replaces the file; None if there is none."""
    try:
        status = Path(name).stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size


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
