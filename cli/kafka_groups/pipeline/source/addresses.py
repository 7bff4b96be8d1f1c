"""Whether anybody listens where brokers should be. librdkafka tries until the deadline, whatever its options are."""

from __future__ import annotations

import re
import socket
import time
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Final

_ADDRESS: Final = re.compile(r"(?:\w+://)?(?:\[(?P<v6>[^\]]+)\]|(?P<host>[^:/\[\]]+))(?::(?P<port>\d+))?")
_PORT: Final = 9092  # librdkafka's, where an address names none
_PATIENCE_S: Final = 5.0


def why_unreachable(servers: str, timeout_s: float) -> str | None:
    """Return why none of these addresses (as in bootstrap.servers) can be reached: no such name, refused, no route.

    None if one takes a connection, and if that cannot be determined soon: then librdkafka is to find out.
    """
    found = [_ADDRESS.fullmatch(part.strip()) for part in servers.split(",") if part.strip()]
    wait_s = min(timeout_s, _PATIENCE_S)
    reasons_found: SimpleQueue[str | None] = SimpleQueue()
    for address in found:
        if address is None:
            return None
        place = (address["v6"] or address["host"], int(address["port"] or _PORT))
        # A name may take long to be looked up, and nothing ends that: no thread is waited for.
        Thread(target=_try, args=(place, wait_s, reasons_found), daemon=True).start()
    until = time.monotonic() + wait_s
    reasons = []
    for _ in found:
        try:
            reason = reasons_found.get(timeout=max(0.0, until - time.monotonic()))
        except Empty:
            return None
        if reason is None:
            return None
        reasons.append(reason)
    return "; ".join(dict.fromkeys(reasons)) or None


def _try(place: tuple[str, int], wait_s: float, reasons: SimpleQueue[str | None]) -> None:
    reasons.put(_refusal(*place, wait_s))


def _refusal(host: str, port: int, wait_s: float) -> str | None:
    try:
        socket.create_connection((host, port), timeout=wait_s).close()
    except TimeoutError:
        return None
    except socket.gaierror as error:
        # A resolver that is away says nothing of the name.
        away = f"the host name {host!r} cannot be resolved now"
        return away if error.errno == socket.EAI_AGAIN else f"the host name {host!r} has no address"
    except (OSError, OverflowError, UnicodeError) as error:
        return getattr(error, "strerror", None) or str(error)
    return None
