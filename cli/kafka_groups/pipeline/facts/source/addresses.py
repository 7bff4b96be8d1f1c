"""A quick check of bootstrap addresses: librdkafka would retry until its timeout where nothing listens."""

from __future__ import annotations

import re
import socket
from typing import Final

_ADDRESS: Final = re.compile(r"(?:\w+://)?(?:\[(?P<v6>[^\]]+)\]|(?P<host>[^:/\[\]]+))(?::(?P<port>[0-9]+))?")
_DEFAULT_PORT: Final = 9092  # librdkafka's port for an address without one.
_MAX_TIMEOUT_S: Final = 5.0


def unreachable_reason(servers: str, timeout_s: float) -> str | None:
    """Return why no connection can be opened to any of these addresses (comma-separated), as part of a sentence.

    Return None if a connection can be opened to any address. Return None also if the check of an address is
    inconclusive: nothing responded within the timeout (at most five seconds), or the address has another form.
    """
    reasons: list[str] = []
    for address in servers.split(","):
        if not address.strip():
            continue
        match = _ADDRESS.fullmatch(address.strip())
        if match is None:
            return None
        host = match["v6"] or match["host"]
        port = int(match["port"] or _DEFAULT_PORT)
        try:
            socket.create_connection((host, port), timeout=min(timeout_s, _MAX_TIMEOUT_S)).close()
        except (TimeoutError, OverflowError, UnicodeError):
            return None
        except socket.gaierror as error:
            # A resolver that cannot be reached shows nothing about the name.
            is_temporary = error.errno == socket.EAI_AGAIN
            reasons.append(f"the host name {host!r} {'cannot be resolved now' if is_temporary else 'has no address'}")
        except OSError as error:
            reasons.append(error.strerror or str(error))
        else:
            return None
    # Addresses often have the same reason, which is named once.
    return "; ".join(dict.fromkeys(reasons)) or None
