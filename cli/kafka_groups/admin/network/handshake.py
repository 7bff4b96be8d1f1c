"""The handshake of a connection: ApiVersions (KIP-511), and SASL authentication if there are credentials (KIP-152)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from kafka_groups import __version__
from kafka_groups.admin.network.sasl.client import SaslClient
from kafka_groups.admin.network.sasl.mechanisms import create_client
from kafka_groups.errors import AuthenticationFailedError, MalformedResponseError, UnsupportedVersionError
from kafka_groups.protocol import INT16, Cursor, SchemaError, Struct
from kafka_groups.protocol.errors import ILLEGAL_SASL_STATE, UNSUPPORTED_SASL_MECHANISM, UNSUPPORTED_VERSION
from kafka_groups.protocol.messages import API_VERSIONS, SASL_AUTHENTICATE, SASL_HANDSHAKE, Api
from kafka_groups.settings import KerberosCredentials, TokenCredentials

if TYPE_CHECKING:
    from kafka_groups.admin.network.authentication_step import AuthenticationStep, StepSource
    from kafka_groups.settings import ConnectionSettings, Endpoint, SaslCredentials

Versions = Mapping[int, tuple[int, int]]


class HandshakeRequest(NamedTuple):
    """One request of a handshake. Its body may hold a password, so its repr leaves the body out."""

    api: Api
    version: int
    body: Mapping[str, Any]

    def __repr__(self) -> str:
        return f"HandshakeRequest({self.api!r}, version={self.version})"


class Handshake:
    """The handshake of one connection. `versions` maps API keys to the broker's version ranges; it is None at first.

    `session_lifetime_s` is how long the broker accepts requests after the authentication, None without a limit; the
    client may authenticate again on the same connection (KIP-368). While the handshake `is_waiting`, the next request
    needs the result of `step`. Credentials with a token, and those of Kerberos, need the source of their `steps`, and
    those of Kerberos the `host` of the connection.
    `mechanisms` are those that the broker offers, None before its SaslHandshake response; `is_mechanism_accepted` is
    whether that response had no error.
    With `may_be_old`, the peer may know only the first version of ApiVersions; one that `is_old` is known for it.
    `note_age` receives whether the peer needed that version, as soon as its versions are known.
    """

    def __init__(
        self,
        client_id: str,
        credentials: SaslCredentials | None = None,
        *,
        may_be_old: bool = True,
        is_old: bool = False,
        note_age: Callable[[bool], None] = lambda _is_old: None,
        steps: StepSource | None = None,
        host: str = "",
    ) -> None:
        self.client_id = client_id
        self.credentials = credentials
        self.versions: Versions | None = None
        self.session_lifetime_s: float | None = None
        self.mechanisms: tuple[str, ...] | None = None
        self.is_mechanism_accepted = False
        self.step: AuthenticationStep[Any] | None = None
        self.is_waiting = False
        self._steps = steps
        self._host = host
        self._sasl_client: SaslClient | None = None
        self._may_be_old = may_be_old and not is_old
        self._is_old = is_old
        self._note_age = note_age

    def first_request(self) -> HandshakeRequest:
        """Return the first request. A token or a ticket is fetched meanwhile."""
        self._begin_step()
        return _api_versions_request(API_VERSIONS.lowest if self._is_old else API_VERSIONS.highest)

    def older_request(self) -> HandshakeRequest | None:
        """Return another first request, for a peer that closed the connection at the first one; None the next time.

        Some old brokers and proxies close the connection at a version of ApiVersions that they do not know, where
        others respond with an error (KIP-511).
        """
        if not self._may_be_old:
            return None
        self._may_be_old = False
        self._is_old = True
        return _api_versions_request(API_VERSIONS.lowest)

    def prepare_renewal(self) -> bool:
        """Return whether another authentication can begin: what it needs is there.

        Raises AuthenticationFailedError if there will be no token or no ticket; the next call tries it again.
        """
        if self._steps is None:
            return True
        if self.step is None:
            self._begin_step()
        assert self.step is not None
        try:
            return self.step.result() is not None
        except AuthenticationFailedError:
            self.step = None
            raise

    def renewal_request(self) -> HandshakeRequest:
        """Return the request that begins another authentication on the same connection (KIP-368)."""
        return self._handshake_request()

    def resume(self) -> HandshakeRequest | None:
        """Return the request that needs the result of `step`, None while there is none.

        Raises AuthenticationFailedError if there is no token or no ticket.
        """
        assert self.step is not None
        result = self.step.result()
        if result is None:
            return None
        self.step = None
        assert self.credentials is not None
        self._sasl_client = create_client(self.credentials, result)
        return self._first_message()

    def next_request(self, request: HandshakeRequest, payload: bytes) -> HandshakeRequest | None:
        """Return the request after this one and its response; None if the handshake is complete, or `is_waiting`.

        Raises MalformedResponseError if the peer does not speak Kafka's protocol, AuthenticationFailedError if it
        refuses the credentials.
        """
        if request.api is API_VERSIONS:
            return self._read_versions(request, payload)
        try:
            response = request.api.read_response(request.version, payload)
        except SchemaError as error:
            msg = f"cannot read the {request.api.name} response: {error}"
            raise MalformedResponseError(msg) from error
        if request.api is SASL_HANDSHAKE:
            return self._start_authentication(response)
        return self._continue_authentication(response)

    def _read_versions(self, request: HandshakeRequest, payload: bytes) -> HandshakeRequest | None:
        try:
            # A broker that does not know the version of this ApiVersions request responds in version 0 (KIP-511).
            is_unsupported = INT16.read(False, False)(Cursor(payload, 4)) == UNSUPPORTED_VERSION
            response = API_VERSIONS.read_response(0 if is_unsupported else request.version, payload)
        except SchemaError as error:
            raise MalformedResponseError("the peer does not speak Kafka's protocol; check host and port") from error
        if is_unsupported and request.version > 0:
            return _api_versions_request(0)
        if response["error_code"]:
            msg = f"the broker refused the ApiVersions request (error {response['error_code']})"
            raise MalformedResponseError(msg)
        self.versions = {api["api_key"]: (api["min_version"], api["max_version"]) for api in response["api_keys"]}
        self._note_age(self._is_old)
        if self.credentials is None:
            return None
        return self._handshake_request()

    def _handshake_request(self) -> HandshakeRequest:
        assert self.credentials is not None
        return self._request(SASL_HANDSHAKE, {"mechanism": self.credentials.mechanism})

    def _begin_step(self) -> None:
        if self._steps is not None:
            self.step = self._steps.request(self._host)

    def _start_authentication(self, response: Struct) -> HandshakeRequest | None:
        assert self.credentials is not None
        self.mechanisms = tuple(response["mechanisms"])
        if response["error_code"] == ILLEGAL_SASL_STATE:
            msg = "this listener does not use SASL: use PLAINTEXT or SSL, or connect to a SASL listener"
            raise AuthenticationFailedError(msg)
        if response["error_code"] == UNSUPPORTED_SASL_MECHANISM:
            others = ", ".join(response["mechanisms"])
            offer = f"set sasl.mechanism to one that it supports: {others}" if others else "it names no other"
            msg = f"the broker does not support the SASL mechanism {self.credentials.mechanism}; {offer}"
            raise AuthenticationFailedError(msg)
        if response["error_code"]:
            msg = f"the broker refused the SaslHandshake request (error {response['error_code']})"
            raise AuthenticationFailedError(msg)
        self.is_mechanism_accepted = True
        if self.step is not None:
            self.is_waiting = True
            return self.resume()
        self._sasl_client = create_client(self.credentials)
        return self._first_message()

    def _first_message(self) -> HandshakeRequest:
        assert self._sasl_client is not None
        self.is_waiting = False
        return self._request(SASL_AUTHENTICATE, {"auth_bytes": self._sasl_client.first_message()})

    def _continue_authentication(self, response: Struct) -> HandshakeRequest | None:
        assert self._sasl_client is not None
        assert self.credentials is not None
        if response["error_code"]:
            reason = response["error_message"] or f"error {response['error_code']}"
            if self._steps is not None:
                self._steps.discard()
            raise AuthenticationFailedError(self._sasl_client.describe_refusal(reason))
        message = self._sasl_client.evaluate_challenge(response["auth_bytes"])
        if message is not None:
            return self._request(SASL_AUTHENTICATE, {"auth_bytes": message})
        self.session_lifetime_s = max(0, response.get("session_lifetime_ms", 0)) / 1000 or None
        return None

    def _request(self, api: Api, body: Mapping[str, Any]) -> HandshakeRequest:
        return HandshakeRequest(api, agreed_version(self.versions or {}, api), body)


class Handshakes:
    """The handshakes of the connections of one pool. Peers that need the first version of ApiVersions are known."""

    def __init__(self, settings: ConnectionSettings, *, wakeup: Callable[[], None], clock: Callable[[], float]) -> None:
        self._client_id = settings.client_id
        self._credentials = settings.credentials
        self._steps = _step_source(settings, wakeup, clock)
        # Whether each peer that responded needed the first version.
        self._ages: dict[Endpoint, bool] = {}

    def create(self, endpoint: Endpoint, *, is_first: bool) -> Handshake:
        """Return the handshake of a new connection; `is_first` is whether the peer has no other one."""
        age = self._ages.get(endpoint)
        return Handshake(
            self._client_id,
            self._credentials,
            # A broker that closes a further connection may limit them.
            may_be_old=is_first or age is None,
            is_old=bool(age),
            note_age=partial(self._ages.__setitem__, endpoint),
            steps=self._steps,
            # A dot at the end makes a name absolute for the resolver, and is no part of the name.
            host=endpoint.host.removesuffix("."),
        )

    def close(self) -> None:
        """End what fetches a token or a ticket."""
        if self._steps is not None:
            self._steps.close()


def _step_source(
    settings: ConnectionSettings, wakeup: Callable[[], None], clock: Callable[[], float]
) -> StepSource | None:
    """Return the source of the steps that the credentials need, None for a user with a password."""
    credentials = settings.credentials
    if isinstance(credentials, TokenCredentials):
        from kafka_groups.admin.network.tokens import Tokens

        return Tokens(credentials.source, timeout_s=settings.timeout_s, wakeup=wakeup, clock=clock)
    if isinstance(credentials, KerberosCredentials):
        from kafka_groups.admin.network.tickets import Tickets

        return Tickets(credentials, timeout_s=settings.timeout_s, wakeup=wakeup, clock=clock)
    return None


def agreed_version(versions: Versions, api: Api) -> int:
    """Return the highest version that broker and tool support; UnsupportedVersionError if there is none."""
    low, high = versions.get(api.key, (0, -1))
    version = min(high, api.highest)
    if version < max(low, api.lowest):
        offer = f"supports {api.name} versions {low} to {high}" if high >= 0 else f"does not support {api.name}"
        release = f" (Kafka {api.first_release})" if api.first_release is not None else ""
        msg = f"the broker {offer}; this tool needs version {api.lowest} to {api.highest}{release}"
        raise UnsupportedVersionError(msg)
    return version


def _api_versions_request(version: int) -> HandshakeRequest:
    body = {"client_software_name": "kafka-groups", "client_software_version": __version__}
    return HandshakeRequest(API_VERSIONS, version, body)
