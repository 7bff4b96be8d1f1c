"""Tokens of Amazon MSK: the signature, the region, and how properties of Java select the source."""

from __future__ import annotations

import subprocess
import sys
from base64 import urlsafe_b64decode
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from kafka_groups import __version__
from kafka_groups.admin import GroupAdmin
from kafka_groups.admin.librdkafka import open_consumer
from kafka_groups.settings import ConnectionSettings, TokenCredentials
from kafka_groups.settings.librdkafka import client_properties, resolve_client
from kafka_groups.settings.limits import Limit
from kafka_groups.settings.tokens.aws import AwsToken, find_region, sign_token
from kafka_groups.settings.tokens.aws_credentials import AwsCredentials, AwsIdentity
from tests.fakes.sasl_cluster import SaslCluster
from tests.fakes.scripted_cluster import Group
from tests.settings import resolution
from tests.settings.tokens.sts import KEY, ROLE, SECRET, isolate_aws

if TYPE_CHECKING:
    from pytest_mock import MockerFixture

NOW = datetime(2026, 11, 27, 6, 30)  # noqa: DTZ001 # botocore's own times have no zone; they are UTC.
NOW_S = 1_795_761_000
# aws-msk-iam-sasl-signer-python 1.0.2 made these once, with botocore 1.44.8: __construct_auth_token at NOW, with the
# example key of AWS's documentation, for each region and session token.
GOLDEN = {
    ("us-east-1", None): (
        "aHR0cHM6Ly9rYWZrYS51cy1lYXN0LTEuYW1hem9uYXdzLmNvbS8_QWN0aW9uPWthZmthLWNsdXN0ZXIlM0FDb25uZWN0JlgtQW16LUFsZ29ya"
        "XRobT1BV1M0LUhNQUMtU0hBMjU2JlgtQW16LUNyZWRlbnRpYWw9QUtJQUlPU0ZPRE5ON0VYQU1QTEUlMkYyMDI2MTEyNyUyRnVzLWVhc3QtMS"
        "UyRmthZmthLWNsdXN0ZXIlMkZhd3M0X3JlcXVlc3QmWC1BbXotRGF0ZT0yMDI2MTEyN1QwNjMwMDBaJlgtQW16LUV4cGlyZXM9OTAwJlgtQW1"
        "6LVNpZ25lZEhlYWRlcnM9aG9zdCZYLUFtei1TaWduYXR1cmU9MmJlOWIyMjc1YTM2NzM5M2Y2YzE0ODA0YzljZTU0YjU4ODA2OTY3ZjYzM2Uz"
        "MTY2ODA4ZDBmZDJlZjM2NWVlNCZVc2VyLUFnZW50PWF3cy1tc2staWFtLXNhc2wtc2lnbmVyLXB5dGhvbiUyRjEuMC4y"
    ),
    ("eu-central-1", "IQoJb3JpZ2luX2VjEXAMPLE//session+token=="): (
        "aHR0cHM6Ly9rYWZrYS5ldS1jZW50cmFsLTEuYW1hem9uYXdzLmNvbS8_QWN0aW9uPWthZmthLWNsdXN0ZXIlM0FDb25uZWN0JlgtQW16LUFsZ"
        "29yaXRobT1BV1M0LUhNQUMtU0hBMjU2JlgtQW16LUNyZWRlbnRpYWw9QUtJQUlPU0ZPRE5ON0VYQU1QTEUlMkYyMDI2MTEyNyUyRmV1LWNlbn"
        "RyYWwtMSUyRmthZmthLWNsdXN0ZXIlMkZhd3M0X3JlcXVlc3QmWC1BbXotRGF0ZT0yMDI2MTEyN1QwNjMwMDBaJlgtQW16LUV4cGlyZXM9OTA"
        "wJlgtQW16LVNpZ25lZEhlYWRlcnM9aG9zdCZYLUFtei1TZWN1cml0eS1Ub2tlbj1JUW9KYjNKcFoybHVYMlZqRVhBTVBMRSUyRiUyRnNlc3Np"
        "b24lMkJ0b2tlbiUzRCUzRCZYLUFtei1TaWduYXR1cmU9MWZiOWNhMTliZjE1ZDE1NWZkZGEzYWNhYjg1Mjg0YWMwNzM2ZTk5ZDMwOTY4MzBhY"
        "mJjMzQyOTIwODZkY2I1MyZVc2VyLUFnZW50PWF3cy1tc2staWFtLXNhc2wtc2lnbmVyLXB5dGhvbiUyRjEuMC4y"
    ),
}
SERVERS = "b-1.prod.a1b2c3.c2.kafka.eu-central-1.amazonaws.com:9098"
HANDLER = "software.amazon.msk.auth.iam.IAMOAuthBearerLoginCallbackHandler"
IAM = "software.amazon.msk.auth.iam.IAMLoginModule"
BEARER = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
SASL_SSL = "security.protocol=SASL_SSL"
OTHER_WAY = "put the key into a profile (awsProfileName)"
MSK_IAM = (SASL_SSL, "sasl.mechanism=AWS_MSK_IAM")


def decode(token: str) -> str:
    """Return the signed URL of a token."""
    assert not token.endswith("=")
    return urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode()


def credentials_until(expires_at: float | None = None, region: str = "us-east-1", token: Any = None) -> AwsCredentials:
    """Return the example key, which may expire."""
    keys = SimpleNamespace(access_key=KEY, secret_key=SECRET, token=token)
    return AwsCredentials(keys=keys, region=region, expires_at=expires_at)


def resolve(*properties: str, bootstrap: str = SERVERS) -> ConnectionSettings:
    """Return the settings of -X properties."""
    return resolution.resolve(bootstrap=bootstrap, properties=properties)


def source_of(settings: ConnectionSettings) -> AwsToken:
    """Return the source of the settings' tokens; its tokens are sent by OAUTHBEARER."""
    assert isinstance(settings.credentials, TokenCredentials)
    assert settings.credentials.mechanism == "OAUTHBEARER"
    assert isinstance(settings.credentials.source, AwsToken)
    return settings.credentials.source


@pytest.fixture(autouse=True)
def _time(mocker: MockerFixture) -> None:
    mocker.patch("botocore.auth.get_current_datetime", return_value=NOW)


@pytest.mark.parametrize(("region", "session_token"), GOLDEN, ids=["keys of a user", "keys of a session"])
def test_a_token_is_that_of_awss_own_signer_except_the_user_agent(region: str, session_token: str | None) -> None:
    golden, name = decode(GOLDEN[region, session_token]).split("&User-Agent=")
    assert name == "aws-msk-iam-sasl-signer-python%2F1.0.2"
    token = sign_token(credentials_until(region=region, token=session_token), "the source")
    assert decode(token.text) == f"{golden}&User-Agent=kafka-groups%2F{__version__}"


@pytest.mark.parametrize(
    ("credentials_end", "token_end"), [(None, NOW_S + 900), (NOW_S + 3600.0, NOW_S + 900), (NOW_S + 60.0, NOW_S + 60)]
)
def test_a_token_ends_after_15_minutes_or_with_its_credentials(credentials_end: float | None, token_end: int) -> None:
    assert sign_token(credentials_until(credentials_end), "the source").expires_at == token_end


@pytest.mark.parametrize(
    ("servers", "region"),
    [
        (SERVERS, "eu-central-1"),
        ("boot-abc123.c1.kafka-serverless.us-east-1.amazonaws.com:9098", "us-east-1"),
        ("b-1.us-east-1-copy.a1b2c3.c2.kafka.eu-west-3.amazonaws.com:9098", "eu-west-3"),
        ("b-1.prod.a1b2c3.c3.kafka.cn-north-1.amazonaws.com.cn:9098", "cn-north-1"),
        ("b-1.prod.a1b2c3.c3.kafka.xx-new-southwest-12.amazonaws.com:9098", "xx-new-southwest-12"),
        ("B-1.PROD.A1B2C3.C2.KAFKA.US-GOV-WEST-1.AMAZONAWS.COM", "us-gov-west-1"),
        ("kafka.ap-southeast-2.corp.example:9098,other:1", "ap-southeast-2"),
        ("kafka-us-west-2.corp.example", "us-west-2"),
        ("prod-east-1.corp.example,10.0.0.1:9098", None),
        ("eu-central-12.corp.example", None),
    ],
)
def test_the_region_is_in_the_names_of_the_servers(servers: str, region: str | None) -> None:
    assert find_region(servers) == region


def test_the_region_of_the_settings_precedes_that_of_the_servers(tmp_path: Path) -> None:
    config = f"{SASL_SSL}\nsasl.mechanism=AWS_MSK_IAM\nbootstrap.servers=b.kafka.eu-west-1.amazonaws.com\n"
    file = resolution.write_file(tmp_path, config)
    assert source_of(resolution.resolve(config=file)).region == "eu-west-1"
    assert source_of(resolution.resolve(config=file, bootstrap=SERVERS)).region == "eu-central-1"
    chosen = ["sasl.aws.region=sa-east-1"]
    assert source_of(resolution.resolve(config=file, bootstrap=SERVERS, properties=chosen)).region == "sa-east-1"
    assert source_of(resolution.resolve(config=file, bootstrap="proxy:9098")).region is None


@pytest.mark.parametrize(
    "properties",
    [
        ("sasl.mechanism=aws_msk_iam",),
        ("sasl.mechanism=AWS_MSK_IAM", f"sasl.jaas.config={IAM} required;"),
        ("sasl.mechanism=AWS_MSK_IAM", f"sasl.login.callback.handler.class={HANDLER}"),
        ("sasl.mechanism=OAUTHBEARER", f"sasl.login.callback.handler.class={HANDLER}"),
        (
            "sasl.mechanism=OAUTHBEARER",
            f"sasl.jaas.config={BEARER} required;",
            "sasl.login.callback.handler.class=software.amazon.msk.auth.iam.IAMClientCallbackHandler",
        ),
        ("sasl.mechanism=OAUTHBEARER", f"sasl.client.callback.handler.class={HANDLER}"),
    ],
)
def test_javas_properties_of_amazon_msk_select_the_source(properties: tuple[str, ...]) -> None:
    source = source_of(resolve(SASL_SSL, *properties))
    assert source == AwsToken(identity=AwsIdentity(), region="eu-central-1")
    assert source.place == "AWS's default credentials"


@pytest.mark.parametrize("module", [IAM, BEARER])
def test_options_of_the_jaas_text_are_the_identity(module: str) -> None:
    options = (
        f'awsProfileName="dev" awsRoleArn="{ROLE}" awsRoleSessionName="me" awsRoleExternalId="x1" '
        'awsStsRegion="us-west-2" awsDebugCreds="true" awsMaxRetries="7" awsMaxBackOffTimeMs="500"'
    )
    handler = f"sasl.login.callback.handler.class={HANDLER}"
    jaas = f"sasl.jaas.config={module} required {options};"
    source = source_of(resolve(SASL_SSL, "sasl.mechanism=OAUTHBEARER", handler, jaas))
    expected = AwsIdentity(profile="dev", role_arn=ROLE, session_name="me", external_id="x1", sts_region="us-west-2")
    assert source.identity == expected
    assert source.place == f"the AWS role {ROLE}"


def test_a_jaas_text_takes_precedence_over_the_role_of_a_lower_source(tmp_path: Path) -> None:
    file = resolution.write_file(tmp_path, f"{SASL_SSL}\nsasl.mechanism=AWS_MSK_IAM\nsasl.aws.role.arn={ROLE}\n")
    assert source_of(resolution.resolve(config=file, bootstrap=SERVERS)).identity.role_arn == ROLE
    jaas = f'sasl.jaas.config={IAM} required awsProfileName="dev";'
    source = source_of(resolution.resolve(config=file, bootstrap=SERVERS, properties=[jaas]))
    assert source.identity == AwsIdentity(profile="dev")


@pytest.mark.parametrize(
    ("pair", "problem"),
    [
        ("sasl.aws.region=Frankfurt", "-X sasl.aws.region=Frankfurt is no AWS region; write for example eu-central-1"),
        ("sasl.aws.sts.region=x/y", "-X sasl.aws.sts.region=x/y is no AWS region; write for example eu-central-1"),
        (
            "sasl.aws.role.arn=reader",
            "-X sasl.aws.role.arn: the role is no ARN; write arn:aws:iam::ACCOUNT:role/NAME",
        ),
        (
            f'sasl.jaas.config={IAM} required awsProfileName="dev;',
            '-X sasl.jaas.config: the options of IAMLoginModule cannot be parsed; write them as awsProfileName="…";',
        ),
        ("sasl.jaas.config=hidden-thing", f"-X sasl.jaas.config: it names no login module; write {IAM} required;"),
        (
            f'sasl.jaas.config={IAM} required awsRoleAccessKeyId="AKIA" awsRoleSecretAccessKey="hidden-thing";',
            f"-X sasl.jaas.config: the option awsRoleAccessKeyId is not supported; {OTHER_WAY}",
        ),
        (
            "sasl.oauthbearer.token.command=print-token",
            "-X sasl.oauthbearer.token.command and -X sasl.mechanism exclude each other; remove one of them",
        ),
    ],
)
def test_settings_that_cannot_be_used_are_errors_of_their_source(pair: str, problem: str) -> None:
    assert resolution.error_text(bootstrap=SERVERS, properties=[*MSK_IAM, pair]) == problem


def test_without_botocore_the_error_names_the_extra(mocker: MockerFixture) -> None:
    mocker.patch("kafka_groups.settings.tokens.aws.find_spec", return_value=None)
    assert resolution.error_text(bootstrap=SERVERS, properties=MSK_IAM) == (
        "Amazon MSK IAM needs botocore, which is missing; run pip install 'kafka-groups[aws]'"
    )


def test_librdkafka_gets_the_same_token(monkeypatch: pytest.MonkeyPatch, mocker: MockerFixture, tmp_path: Path) -> None:
    mocker.patch("kafka_groups.admin.librdkafka.time.time", return_value=NOW_S)
    isolate_aws(
        monkeypatch, tmp_path, config=f"[profile dev]\naws_access_key_id={KEY}\naws_secret_access_key={SECRET}\n"
    )
    pairs = [*MSK_IAM, "sasl.aws.profile.name=dev"]
    settings = resolve(*pairs)
    expected = source_of(settings).fetch(Limit.after(10))
    resolved = resolve_client(bootstrap=SERVERS, properties=pairs, environment={})
    for properties in (client_properties(settings), dict(resolved.properties)):
        config = open_consumer(lambda config: config, properties, {})
        token, expires_at, _, extensions = config.pop("oauth_cb")("")
        assert (token, expires_at, extensions) == (expected.text, NOW_S + 900, {})
        assert config["sasl.mechanism"] == "OAUTHBEARER"
        assert [key for key in config if "aws" in key or "handler" in key] == []


def test_brokers_get_the_token_by_oauthbearer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    isolate_aws(monkeypatch, tmp_path)
    credentials = resolve(*MSK_IAM).credentials
    # The thread that signs needs true time.
    with (
        SaslCluster(brokers=1, groups={"a": Group(coordinator=1)}) as cluster,
        GroupAdmin(cluster.settings(credentials=credentials)) as admin,
    ):
        assert sorted(admin.list_groups().all()) == ["a"]
    lead, token = cluster.messages[0].decode().split("Bearer ")
    assert lead == "n,,\x01auth="
    assert decode(token.rstrip("\x01")).startswith(
        "https://kafka.eu-central-1.amazonaws.com/?Action=kafka-cluster%3AConnect&"
    )


def test_no_repr_shows_a_key_or_a_token() -> None:
    credentials = credentials_until(token="hidden-thing")
    token = sign_token(credentials, "the source")
    source = AwsToken(identity=AwsIdentity(external_id="hidden-thing"))
    shown = repr((credentials, token, source))
    assert [each for each in (SECRET, "hidden-thing", token.text) if each in shown] == []


def test_botocore_is_imported_only_for_a_token() -> None:
    code = (
        "import sys\n"
        "from kafka_groups.settings import settings_from\n"
        f"settings_from({{'bootstrap.servers': {SERVERS!r}, 'security.protocol': 'SASL_SSL', "
        "'sasl.mechanism': 'AWS_MSK_IAM'})\n"
        "print([name for name in sys.modules if name.startswith('botocore')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
