"""AWS credentials: profiles, roles, the region of the environment, and errors without secrets."""

from __future__ import annotations

import shlex
import sys
import time
from pathlib import Path

import pytest

from kafka_groups.errors import TokenFailedError
from kafka_groups.settings.limits import Limit
from kafka_groups.settings.tokens.aws import AwsToken
from kafka_groups.settings.tokens.aws_credentials import AwsCredentials, AwsIdentity, load_credentials
from tests.settings.tokens.sts import (
    KEY,
    ROLE,
    ROLE_KEY,
    ROLE_SECRET,
    ROLE_TOKEN,
    SECRET,
    isolate_aws,
    scripted_sts,
)

DEV = f"[profile dev]\nregion=eu-north-1\naws_access_key_id=AKIADEV\naws_secret_access_key={SECRET}\n"
DEFAULT = "cannot sign a token with AWS's default credentials: "


def load(identity: AwsIdentity | None = None, region: str | None = "us-east-1") -> AwsCredentials:
    """Return the credentials of an identity, by default those of the default chain."""
    return load_credentials(identity or AwsIdentity(), region, Limit.after(10))


def failure(identity: AwsIdentity | None = None, region: str | None = "us-east-1") -> str:
    """Return the error of an identity without credentials: one line, without a secret."""
    with pytest.raises(TokenFailedError) as caught:
        load(identity, region)
    text = str(caught.value)
    assert "\n" not in text
    assert SECRET not in text
    assert "hidden-thing" not in text
    return text


def test_the_default_chain_has_the_keys_of_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    isolate_aws(monkeypatch, tmp_path)
    credentials = load()
    assert (credentials.keys.access_key, credentials.keys.secret_key) == (KEY, SECRET)
    assert (credentials.region, credentials.expires_at) == ("us-east-1", None)


def test_a_profile_takes_precedence_over_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    isolate_aws(monkeypatch, tmp_path, config=DEV)
    assert load(AwsIdentity(profile="dev")).keys.access_key == "AKIADEV"


def test_the_end_of_the_credentials_is_known(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    isolate_aws(monkeypatch, tmp_path)
    end = int(time.time()) + 3600
    monkeypatch.setenv("AWS_SESSION_TOKEN", "token")
    monkeypatch.setenv("AWS_CREDENTIAL_EXPIRATION", time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(end)))
    credentials = load()
    assert (credentials.keys.token, credentials.expires_at) == ("token", end)


def test_the_region_is_that_of_the_environment_else_of_the_profile(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    isolate_aws(monkeypatch, tmp_path, config=DEV)
    dev = AwsIdentity(profile="dev")
    assert load(dev, None).region == "eu-north-1"
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    assert load(dev, None).region == "eu-west-1"
    monkeypatch.setenv("AWS_REGION", "eu-west-2")
    assert load(dev, None).region == "eu-west-2"
    assert load(dev, "us-east-1").region == "us-east-1"


def test_a_role_is_assumed_with_the_keys_of_a_profile(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    isolate_aws(monkeypatch, tmp_path, config=DEV)
    end = int(time.time()) + 900
    with scripted_sts(monkeypatch) as sts:
        sts.expiration = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(end))
        identity = AwsIdentity(
            profile="dev", role_arn=ROLE, session_name="me", external_id="x1", sts_region="us-west-2"
        )
        credentials = load(identity)
    keys = credentials.keys
    assert (keys.access_key, keys.secret_key, keys.token) == (ROLE_KEY, ROLE_SECRET, ROLE_TOKEN)
    assert (credentials.region, credentials.expires_at) == ("us-east-1", end)
    request = sts.requests[0]
    assert (request["Action"], request["RoleArn"], request["RoleSessionName"]) == ("AssumeRole", ROLE, "me")
    assert request["ExternalId"] == "x1"
    assert "Credential=AKIADEV/" in request["Authorization"]
    assert "/us-west-2/sts/" in request["Authorization"]


def test_a_role_has_a_session_name_and_the_region_of_the_brokers(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    isolate_aws(monkeypatch, tmp_path)
    with scripted_sts(monkeypatch) as sts:
        sts.expiration = "2100-01-01T00:00:00Z"
        load(AwsIdentity(role_arn=ROLE), "eu-west-1")
    request = sts.requests[0]
    assert (request["RoleSessionName"], "ExternalId" in request) == ("kafka-groups", False)
    assert "/eu-west-1/sts/" in request["Authorization"]


def test_a_profile_may_have_a_role_itself(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    profile = f"[profile reader]\nrole_arn={ROLE}\nsource_profile=dev\nregion=eu-west-1\n"
    isolate_aws(monkeypatch, tmp_path, config=DEV + profile)
    with scripted_sts(monkeypatch) as sts:
        sts.expiration = "2100-01-01T00:00:00Z"
        credentials = load(AwsIdentity(profile="reader"))
    assert credentials.keys.access_key == ROLE_KEY
    assert credentials.expires_at == 4_102_444_800


def test_a_refused_role_is_reported_with_the_reason(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    isolate_aws(monkeypatch, tmp_path)
    lead = f"cannot sign a token with the AWS role {ROLE}: AssumeRole was refused"
    with scripted_sts(monkeypatch) as sts:
        sts.refusal = ("AccessDenied", "User: me is not authorized\nto perform: sts:AssumeRole")
        assert failure(AwsIdentity(role_arn=ROLE)) == (
            f"{lead} (AccessDenied): User: me is not authorized to perform: sts:AssumeRole; "
            "check the trust policy of the role, and the rights of the caller"
        )
        sts.refusal = ("SignatureDoesNotMatch", "the request had hidden-thing")
        assert failure(AwsIdentity(role_arn=ROLE)) == (
            f"{lead} (SignatureDoesNotMatch); check the AWS credentials, and the clock of this machine"
        )


def test_an_unreachable_service_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    isolate_aws(monkeypatch, tmp_path)
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", "http://127.0.0.1:1/hidden-thing")
    assert failure(AwsIdentity(role_arn=ROLE)) == (
        f"cannot sign a token with the AWS role {ROLE}: AWS cannot be reached (EndpointConnectionError); "
        "check the network, the proxy and sasl.aws.sts.region"
    )


@pytest.mark.parametrize("identity", [AwsIdentity(), AwsIdentity(role_arn=ROLE)])
def test_missing_credentials_are_reported_with_the_ways_to_set_them(
    identity: AwsIdentity, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    isolate_aws(monkeypatch, tmp_path, keys=False)
    assert failure(identity) == (
        f"cannot sign a token with {identity.place}: no AWS credentials were found; set sasl.aws.profile.name or "
        "AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or run where a role is attached"
    )


def test_a_missing_region_is_reported_with_the_property(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    isolate_aws(monkeypatch, tmp_path)
    assert failure(region=None) == (
        f"{DEFAULT}the names of the bootstrap servers have no AWS region; set sasl.aws.region or AWS_REGION"
    )


def test_an_unknown_profile_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    isolate_aws(monkeypatch, tmp_path)
    problem = "neither in ~/.aws/config nor in ~/.aws/credentials; correct sasl.aws.profile.name or AWS_PROFILE"
    assert failure(AwsIdentity(profile="x")) == (
        f"cannot sign a token with the AWS profile 'x': the profile 'x' is {problem}"
    )
    monkeypatch.setenv("AWS_PROFILE", "y")
    assert failure(region=None) == f"{DEFAULT}the profile 'y' is {problem}"


def test_an_expired_single_sign_on_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sso = "sso_start_url=https://x.example\nsso_region=us-east-1\nsso_account_id=1\nsso_role_name=r\n"
    isolate_aws(monkeypatch, tmp_path, config=f"[profile sso]\n{sso}", keys=False)
    assert failure(AwsIdentity(profile="sso")) == (
        "cannot sign a token with the AWS profile 'sso': the session of its single sign-on has expired, or there is "
        "none; run aws sso login --profile sso"
    )


def test_what_a_credential_process_prints_is_not_repeated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    code = "import sys; sys.exit('password=hidden-thing')"
    command = f"credential_process={shlex.join([sys.executable, '-c', code])}\n"
    isolate_aws(monkeypatch, tmp_path, config=f"[profile p]\n{command}", keys=False)
    assert failure(AwsIdentity(profile="p")) == (
        "cannot sign a token with the AWS profile 'p': its source (custom-process) returned no credentials; "
        "run 'aws sts get-caller-identity' to see the reason"
    )


def test_a_profile_with_an_mfa_code_does_not_prompt(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    profile = f"[profile m]\nrole_arn={ROLE}\nsource_profile=dev\nmfa_serial=arn:aws:iam::123456789012:mfa/me\n"
    isolate_aws(monkeypatch, tmp_path, config=DEV + profile)
    assert "needs an MFA code, which this tool does not prompt for" in failure(AwsIdentity(profile="m"))


def test_a_profile_without_its_secret_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    isolate_aws(monkeypatch, tmp_path, keys=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    assert failure() == (
        f"{DEFAULT}Partial credentials found in env, missing: AWS_SECRET_ACCESS_KEY; correct the AWS configuration"
    )


def test_a_credential_process_may_print_keys(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    keys = {"Version": 1, "AccessKeyId": "AKIAPROCESS", "SecretAccessKey": SECRET}
    command = shlex.join([sys.executable, "-c", f"import json; print(json.dumps({keys}))"])
    isolate_aws(monkeypatch, tmp_path, config=f"[profile p]\ncredential_process={command}\n", keys=False)
    assert load(AwsIdentity(profile="p")).keys.access_key == "AKIAPROCESS"


@pytest.mark.slow
def test_a_credential_process_is_killed_at_the_limit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "late"
    code = f"import time; time.sleep(1); open({str(file)!r}, 'w')"
    command = shlex.join([sys.executable, "-c", code])
    isolate_aws(monkeypatch, tmp_path, config=f"[profile p]\ncredential_process={command}\n", keys=False)
    with pytest.raises(TokenFailedError):
        load_credentials(AwsIdentity(profile="p"), "us-east-1", Limit.after(0.3))
    time.sleep(1.2)
    assert not file.exists()


def test_a_source_that_hangs_ends_at_the_limit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    command = shlex.join([sys.executable, "-c", "import time; time.sleep(3)"])
    profiles = f"[profile s]\ncredential_process={command}\n[profile p]\nsource_profile=s\nrole_arn={ROLE}\n"
    isolate_aws(monkeypatch, tmp_path, config=profiles, keys=False)
    source = AwsToken(identity=AwsIdentity(profile="p"), region="us-east-1")
    started = time.monotonic()
    with pytest.raises(TokenFailedError, match="returned no credentials in time"):
        source.fetch(Limit.after(0.3))
    assert time.monotonic() - started < 2
