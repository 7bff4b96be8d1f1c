"""Names that a cluster returned some seconds ago, in a file that only the user can read."""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Final

from kafka_groups.files import PRIVATE, read_regular, write_atomically
from kafka_groups.settings import ConnectionSettings

_OLDEST_S: Final = 10.0


class NameCache:
    """The names of one kind in one cluster, as one user may see them."""

    def __init__(self, kind: str, settings: ConnectionSettings) -> None:
        # The import takes some milliseconds.
        from platformdirs import user_cache_path

        try:
            directory = user_cache_path("kafka-groups") / "completion"
        except RuntimeError:
            # This user has no home directory: nothing can be read there, and nothing written.
            directory = Path(os.devnull)
        self.path = directory / f"{_fingerprint(kind, settings)}.json"

    def read(self) -> Sequence[str] | None:
        """Return the names; None if there are none, they are old, or the file is not the user's own."""
        try:
            if not (_is_private(self.path.parent) and _is_private(self.path) and _is_fresh(self.path)):
                return None
            names = json.loads(read_regular(self.path))
        except (OSError, ValueError):
            return None
        return names if isinstance(names, list) and all(isinstance(name, str) for name in names) else None

    def write(self, names: Sequence[str]) -> None:
        """Write the names, and remove old files of other clusters. Does nothing if that is not possible."""
        with suppress(OSError):
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not _is_private(self.path.parent):
                return
            # An existing file would keep its mode.
            if _is_regular(self.path):
                self.path.unlink()
            write_atomically(self.path, json.dumps(names), mode=PRIVATE, is_read_back=True)
            for other in self.path.parent.iterdir():
                if _is_regular(other) and not _is_fresh(other):
                    other.unlink()


def _fingerprint(kind: str, settings: ConnectionSettings) -> str:
    """Return a hash of what decides which names a user sees: the brokers, and who the user is to them."""
    tls = settings.tls
    credentials = settings.credentials
    identity = (
        kind,
        sorted(map(str, settings.bootstrap)),
        tls and (tls.certificate_file, tls.certificate_pem),
        credentials and (credentials.mechanism, credentials.identity),
    )
    return sha256(json.dumps(identity).encode()).hexdigest()


def _is_private(path: Path) -> bool:
    status = path.lstat()
    return status.st_uid == os.geteuid() and not stat.S_IMODE(status.st_mode) & 0o077


def _is_regular(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except FileNotFoundError:
        return False


def _is_fresh(path: Path) -> bool:
    return 0 <= time.time() - path.lstat().st_mtime <= _OLDEST_S
