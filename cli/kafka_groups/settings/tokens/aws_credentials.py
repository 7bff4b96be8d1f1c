"""AWS credentials by botocore: its default chain, a profile or a role, and its errors as sentences without secrets."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, NoReturn

from kafka_groups.errors import TokenFailedError
from kafka_groups.settings.commands import CommandFailedError, run_command
from kafka_groups.settings.limits import Limit

_SESSION_NAME: Final = "kafka-groups"
# The longest that one connection to AWS, and one response, may take, in seconds.
_LONGEST_CONNECT_S: Final = 5.0
_LONGEST_READ_S: Final = 10.0
_MFA: Final = (
    "the profile needs an MFA code, which this tool does not prompt for; export credentials of a session, as "
    "'aws configure export-credentials' prints them"
)
_NO_CREDENTIALS: Final = (
    "no AWS credentials were found; set sasl.aws.profile.name or AWS_PROFILE, or AWS_ACCESS_KEY_ID and "
    "AWS_SECRET_ACCESS_KEY, or run where a role is attached"
)
_NO_REGION: Final = "the names of the bootstrap servers have no AWS region; set sasl.aws.region or AWS_REGION"
_SEE_REASON: Final = "run 'aws sts get-caller-identity' to see the reason"


@dataclass(frozen=True, kw_only=True, slots=True)
class AwsIdentity:
    """Who signs: by default what botocore's chain finds, else a profile, and a role that its credentials assume.

    `sts_region` is the region of the Security Token Service, which is asked for a role.
    """

    profile: str | None = None
    role_arn: str | None = None
    session_name: str | None = None
    external_id: str | None = field(default=None, repr=False)
    sts_region: str | None = None

    @property
    def place(self) -> str:
        """The identity as errors name it."""
        if self.role_arn:
            return f"the AWS role {self.role_arn}"
        return f"the AWS profile '{self.profile}'" if self.profile else "AWS's default credentials"


@dataclass(frozen=True, kw_only=True, slots=True)
class AwsCredentials:
    """Keys to sign with (botocore's ReadOnlyCredentials), for a region.

    `expires_at` is in seconds since 1970, None for the keys of a user.
    """

    keys: Any = field(repr=False)
    region: str
    expires_at: float | None = None


class _CredentialProcess:
    """What botocore uses of subprocess.Popen, for the command of a profile; it is killed at the limit."""

    def __init__(self, words: Sequence[str], limit: Limit) -> None:
        self.returncode = 0
        self._printed = b""
        try:
            self._printed = run_command(words, limit)
        except CommandFailedError:
            self.returncode = 1

    def communicate(self) -> tuple[bytes, bytes]:
        """Return what the command printed to stdout. What it printed to stderr is not used."""
        return self._printed, b""


def load_credentials(identity: AwsIdentity, region: str | None, limit: Limit) -> AwsCredentials:
    """Return credentials for the region; without one, the region of the environment or of the profile.

    Raises TokenFailedError, without secrets, if there are no credentials, or no region.
    """
    try:
        session = _create_session(identity, limit)
        region = region or os.environ.get("AWS_REGION") or session.get_config_variable("region")
        if not region:
            _fail(identity, _NO_REGION)
        credentials = _assume_role(session, identity, region) if identity.role_arn else session.get_credentials()
        keys = credentials and credentials.get_frozen_credentials()
    except TokenFailedError:
        raise
    except Exception as error:  # noqa: BLE001 # botocore has errors of several trees, and their texts may have secrets.
        _fail(identity, _explain(error, identity))
    if not keys or not keys.access_key or not keys.secret_key:
        _fail(identity, _NO_CREDENTIALS)
    # Only credentials that botocore renews have this attribute.
    expiry: datetime | None = getattr(credentials, "_expiry_time", None)
    return AwsCredentials(keys=keys, region=region, expires_at=expiry.timestamp() if expiry else None)


def _create_session(identity: AwsIdentity, limit: Limit) -> Any:
    from botocore.config import Config
    from botocore.session import Session

    session = Session(profile=identity.profile)
    remaining_s = max(limit.remaining_s(), 0.1)
    # Also for the clients of profiles with a role or with single sign-on.
    timeouts = Config(
        connect_timeout=min(_LONGEST_CONNECT_S, remaining_s),
        read_timeout=min(_LONGEST_READ_S, remaining_s),
        retries={"total_max_attempts": 2, "mode": "standard"},
    )
    session.set_default_client_config(timeouts)

    def refuse_prompt(_prompt: str) -> NoReturn:
        _fail(identity, _MFA)

    def start_process(words: Sequence[str], **_pipes: int) -> _CredentialProcess:
        return _CredentialProcess(words, limit)

    chain = session.get_component("credential_provider")
    # By default, botocore prompts for the MFA code of a profile, and waits for a credential_process without a limit.
    chain.get_provider("assume-role")._prompter = refuse_prompt  # noqa: SLF001
    chain.get_provider("custom-process")._popen = start_process  # noqa: SLF001
    return session


def _assume_role(session: Any, identity: AwsIdentity, region: str) -> Any:
    from botocore.credentials import RefreshableCredentials

    client = session.create_client("sts", region_name=identity.sts_region or region)
    parameters = {"RoleArn": identity.role_arn, "RoleSessionName": identity.session_name or _SESSION_NAME}
    if identity.external_id:
        parameters["ExternalId"] = identity.external_id
    keys = client.assume_role(**parameters)["Credentials"]
    return RefreshableCredentials(
        access_key=keys["AccessKeyId"],
        secret_key=keys["SecretAccessKey"],
        token=keys["SessionToken"],
        expiry_time=keys["Expiration"],
        refresh_using=None,
        method="assume-role",
    )


def _fail(identity: AwsIdentity, reason: str) -> NoReturn:
    msg = f"cannot sign a token with {identity.place}: {reason}"
    raise TokenFailedError(msg)


def _explain(error: Exception, identity: AwsIdentity) -> str:
    """Return why botocore has no credentials, and the next step."""
    names = {each.__name__ for each in type(error).__mro__}
    for kind, explain in _EXPLANATIONS.items():
        if kind in names:
            return explain(error, identity)
    return f"botocore failed with {type(error).__name__}; {_SEE_REASON}"


def _explain_profile(error: Any, _identity: AwsIdentity) -> str:
    files = "neither in ~/.aws/config nor in ~/.aws/credentials"
    return f"the profile '{error.kwargs['profile']}' is {files}; correct sasl.aws.profile.name or AWS_PROFILE"


def _explain_absence(_error: Any, _identity: AwsIdentity) -> str:
    return _NO_CREDENTIALS


def _explain_sign_in(_error: Any, identity: AwsIdentity) -> str:
    option = f" --profile {identity.profile}" if identity.profile else ""
    return f"the session of its single sign-on has expired, or there is none; run aws sso login{option}"


def _explain_refusal(error: Any, _identity: AwsIdentity) -> str:
    """Return why a service of AWS refused a request. Only a denied right has a text that is known to have no secret."""
    details = error.response.get("Error", {})
    code = details.get("Code", "unknown")
    lead = f"{error.operation_name} was refused ({code})"
    if code in {"AccessDenied", "AccessDeniedException"}:
        reason = " ".join(str(details.get("Message", "")).split())
        return f"{lead}: {reason}; check the trust policy of the role, and the rights of the caller"
    return f"{lead}; check the AWS credentials, and the clock of this machine"


def _explain_network(error: Any, _identity: AwsIdentity) -> str:
    return f"AWS cannot be reached ({type(error).__name__}); check the network, the proxy and sasl.aws.sts.region"


def _explain_retrieval(error: Any, _identity: AwsIdentity) -> str:
    # The rest of the text is what a command printed, or what a server returned.
    return f"its source ({error.kwargs['provider']}) returned no credentials; {_SEE_REASON}"


def _explain_configuration(error: Any, _identity: AwsIdentity) -> str:
    # These texts have names of profiles, keys and files, and no values.
    return f"{' '.join(str(error).split())}; correct the AWS configuration"


# By the names of botocore's errors, because older versions do not have all of them. The first one applies.
_EXPLANATIONS: Final[Mapping[str, Callable[[Any, AwsIdentity], str]]] = {
    "ProfileNotFound": _explain_profile,
    "NoCredentialsError": _explain_absence,
    **dict.fromkeys(("SSOError", "TokenRetrievalError", "LoginError", "NoAuthTokenError"), _explain_sign_in),
    "ClientError": _explain_refusal,
    **dict.fromkeys(("ConnectionError", "HTTPClientError"), _explain_network),
    "CredentialRetrievalError": _explain_retrieval,
    **dict.fromkeys(
        (
            "ConfigNotFound",
            "ConfigParseError",
            "InvalidConfigError",
            "MissingDependencyException",
            "PartialCredentialsError",
        ),
        _explain_configuration,
    ),
}
