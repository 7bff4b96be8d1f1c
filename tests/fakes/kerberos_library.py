"""A fake of the library gssapi, whose contexts follow a script: tokens, wrapped messages and errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import Lock
from types import SimpleNamespace
from typing import Any, NamedTuple

BASE = 2**32 - 1_765_328_384
ALICE = "alice@KAFKA.TEST"


class FakeError(Exception):
    """What gssapi raises: a major code, and a minor one, which is relative to Kerberos's first one."""

    def __init__(self, code: int | None, text: str = "") -> None:
        super().__init__(text)
        self.maj_code = 851968
        self.min_code = 0 if code is None else BASE + code
        self.text = text

    def get_all_statuses(self, code: int, is_maj: bool) -> list[str]:  # The method has gssapi's signature.
        """Return the texts of a code."""
        return ["A major text"] if is_maj else [self.text]


class _Message(NamedTuple):
    message: bytes


class FakeContext:
    """A context that needs one response; wrapped messages begin with `W`."""

    def __init__(self, library: FakeLibrary, host: str, options: Mapping[str, Any]) -> None:
        self._library = library
        self.host = host
        self.options = options
        self.complete = False

    def step(self, token: bytes | None) -> bytes | None:
        """Return the ticket, then nothing."""
        if token is None:
            self._library.get_ticket(self.host)
            return f"ticket for {self.host}".encode()
        if token != b"proof":
            raise FakeError(None)
        self.complete = True
        return None

    def unwrap(self, data: bytes) -> _Message:
        """Return a message of the broker."""
        if not data.startswith(b"W"):
            raise FakeError(None)
        return _Message(data[1:])

    def wrap(self, data: bytes, encrypt: bool) -> _Message:  # The method has gssapi's signature.
        """Return a message for the broker."""
        assert not encrypt
        return _Message(b"W" + data)


class FakeLibrary:
    """The module. `acquire` is called with the options of each acquisition, `get_ticket` with the name of a service."""

    def __init__(
        self,
        acquire: Callable[[Mapping[str, Any]], None] = lambda _options: None,
        get_ticket: Callable[[str], None] = lambda _service: None,
    ) -> None:
        self.get_ticket = get_ticket
        self.acquired: list[Mapping[str, Any]] = []
        self.contexts: list[FakeContext] = []
        self._acquire = acquire
        self._lock = Lock()
        self.exceptions = SimpleNamespace(GSSError=FakeError)
        self.MechType = SimpleNamespace(kerberos="krb5")
        self.NameType = SimpleNamespace(hostbased_service="service", kerberos_principal="principal")
        self.RequirementFlag = SimpleNamespace(mutual_authentication=2)

    def Name(self, text: str, kind: str) -> tuple[str, str]:  # noqa: N802 # The method has gssapi's name.
        """Return a name with its type."""
        return text, kind

    def Credentials(self, **options: Any) -> SimpleNamespace:  # noqa: N802 # The method has gssapi's name.
        """Return the credentials of alice."""
        self._acquire(options)
        with self._lock:
            self.acquired.append(options)
        return SimpleNamespace(name=ALICE)

    def SecurityContext(self, *, name: tuple[str, str], **options: Any) -> FakeContext:  # noqa: N802
        """Return a context for a service."""
        context = FakeContext(self, name[0], options)
        with self._lock:
            self.contexts.append(context)
        return context
