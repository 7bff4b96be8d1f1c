"""Tokens of Amazon MSK's IAM access control: a URL signed with AWS credentials (aws-msk-iam-sasl-signer 1.0.2)."""

from __future__ import annotations

import re
import threading
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from concurrent.futures import Future, wait
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.util import find_spec
from typing import Final
from urllib.parse import parse_qs, quote, urlsplit

from kafka_groups import __version__
from kafka_groups.errors import SettingsError, TokenFailedError
from kafka_groups.settings.limits import Limit
from kafka_groups.settings.pairs import Setting
from kafka_groups.settings.tokens.aws_credentials import AwsCredentials, AwsIdentity, load_credentials
from kafka_groups.settings.tokens.token import Token, parse_token

_REGION: Final = "sasl.aws.region"
_STS_REGION: Final = "sasl.aws.sts.region"
_ROLE: Final = "sasl.aws.role.arn"
_ROLE_TEXT: Final = re.compile(r"arn:[\w-]+:iam::\d{12}:role/.+")
_REGION_TEXT: Final = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)+")
# The host names of AWS: b-1.name.id.c2.kafka.us-east-1.amazonaws.com, and kafka-serverless in the place of kafka.
_REGION_OF_AWS: Final = re.compile(r"\.kafka(?:-serverless)?\.([a-z]+(?:-[a-z]+)+-\d+)\.")
# In other host names, the ids of the regions that exist: us-east-1, us-gov-west-1, eusc-de-east-1.
_REGION_OF_HOST: Final = re.compile(
    r"(?<![a-z0-9])((?:af|ap|ca|cn|eu|eusc|il|me|mx|sa|us)(?:-(?:gov|iso[a-z]?|de))?"
    r"-(?:north|south|central|(?:north|south)?(?:east|west))-\d)(?![a-z0-9])"
)
# Options of IAMLoginModule that change who logs in, and that this tool does not use.
_REFUSED_OPTIONS: Final = ("awsRoleAccessKeyId", "awsRoleSecretAccessKey", "awsRoleSessionToken")
_SERVICE: Final = "kafka-cluster"
_REFUSED: Final = "check that the IAM policy of this identity allows kafka-cluster:Connect on the cluster"
_ACTION: Final = "kafka-cluster:Connect"
_LIFETIME_S: Final = 900
_TICK_S: Final = 0.1


@dataclass(frozen=True, kw_only=True, slots=True)
class AwsToken:
    """A token that this process signs; the network is used only for roles, single sign-on and metadata endpoints.

    Without a `region`, it is that of the environment or of the profile.
    """

    identity: AwsIdentity
    region: str | None = None

    @property
    def place(self) -> str:
        """The source as errors name it."""
        return self.identity.place

    @property
    def is_read_each_time(self) -> bool:
        """Whether each authentication reads the source again."""
        return False

    def fetch(self, limit: Limit) -> Token:
        """Sign a token. Raises TokenFailedError if there are no credentials, or no region."""
        future: Future[Token] = Future()
        # A name lookup, and the commands of some profiles, have no timeout in botocore, so that the limit is kept here.
        threading.Thread(target=self._complete, args=(future, limit), name="sign token", daemon=True).start()
        while not limit.is_over():
            if wait([future], timeout=_TICK_S).done:
                return future.result()
        msg = f"cannot sign a token with {self.place}: its source returned no credentials in time; check the network"
        raise TokenFailedError(msg)

    def _complete(self, future: Future[Token], limit: Limit) -> None:
        try:
            future.set_result(sign_token(load_credentials(self.identity, self.region, limit), self.place))
        except Exception as error:  # noqa: BLE001 # The thread that waits raises it.
            future.set_exception(error)


def sign_token(credentials: AwsCredentials, place: str) -> Token:
    """Return the token of the credentials: a presigned URL (AWS Signature Version 4), in base64url without padding.

    It expires after 15 minutes, or with the credentials. `place` is for errors.
    """
    from botocore.auth import SigV4QueryAuth
    from botocore.awsrequest import AWSRequest

    region = credentials.region
    endpoint = f"https://kafka.{region}.amazonaws.com/"
    request = AWSRequest(method="GET", url=endpoint, params={"Action": _ACTION})
    SigV4QueryAuth(credentials.keys, _SERVICE, region, expires=_LIFETIME_S).add_auth(request)
    signed_at = parse_qs(urlsplit(request.url).query)["X-Amz-Date"][0]
    expires_at = datetime.strptime(signed_at, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC).timestamp() + _LIFETIME_S
    if credentials.expires_at is not None:
        expires_at = min(expires_at, credentials.expires_at)
    # AWS's own libraries add their name behind the signature, too.
    url = f"{request.url}&User-Agent={quote(f'kafka-groups/{__version__}', safe='')}"
    text = urlsafe_b64encode(url.encode()).decode().rstrip("=")
    return replace(parse_token(text, place=place, expires_at=expires_at), hint=_REFUSED)


def select_aws(settings: Mapping[str, Setting]) -> AwsToken:
    """Return the source that the settings describe. Raises SettingsError for a region or a JAAS text that is wrong.

    The same error names the extra if botocore is not installed.
    """
    if find_spec("botocore") is None:
        raise SettingsError("Amazon MSK IAM needs botocore, which is missing; run pip install 'kafka-groups[aws]'")
    _check_jaas(settings.get("sasl.jaas.config"))
    identity = AwsIdentity(
        profile=_text(settings, "sasl.aws.profile.name"),
        role_arn=_role(settings),
        session_name=_text(settings, "sasl.aws.role.session.name"),
        external_id=_text(settings, "sasl.aws.role.external.id"),
        sts_region=_region(settings, _STS_REGION),
    )
    servers = _text(settings, "bootstrap.servers") or ""
    return AwsToken(identity=identity, region=_region(settings, _REGION) or find_region(servers))


def find_region(servers: str) -> str | None:
    """Return the id of the AWS region that the names of servers have, None without one.

    The last one counts, because an earlier one may be part of a cluster's name.
    """
    names = servers.lower()
    regions = _REGION_OF_AWS.findall(names) or _REGION_OF_HOST.findall(names)
    return str(regions[-1]) if regions else None


def _text(settings: Mapping[str, Setting], key: str) -> str | None:
    return settings[key].value or None if key in settings else None


def _region(settings: Mapping[str, Setting], key: str) -> str | None:
    region = _text(settings, key)
    if region is not None and not _REGION_TEXT.fullmatch(region):
        msg = f"{settings[key].source}={region} is no AWS region; write for example eu-central-1"
        raise SettingsError(msg)
    return region


def _role(settings: Mapping[str, Setting]) -> str | None:
    role = _text(settings, _ROLE)
    if role is not None and not _ROLE_TEXT.fullmatch(role):
        msg = f"{settings[_ROLE].source}: the role is no ARN; write arn:aws:iam::ACCOUNT:role/NAME"
        raise SettingsError(msg)
    return role


def _check_jaas(setting: Setting | None) -> None:
    """Raise SettingsError for options of Java's IAMLoginModule that cannot be parsed, or that are not supported."""
    if setting is None:
        return
    from kafka_groups.settings.jaas import parse_jaas

    jaas = parse_jaas(setting.value)
    if not jaas.module:
        msg = f"{setting.source}: it names no login module; write software.amazon.msk.auth.iam.IAMLoginModule required;"
        raise SettingsError(msg)
    if jaas.options is None:
        msg = f'{setting.source}: the options of {jaas.module} cannot be parsed; write them as awsProfileName="…";'
        raise SettingsError(msg)
    refused = next((name for name in _REFUSED_OPTIONS if name in jaas.options), None)
    if refused is not None:
        msg = f"{setting.source}: the option {refused} is not supported; put the key into a profile (awsProfileName)"
        raise SettingsError(msg)
