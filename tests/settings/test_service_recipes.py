"""The recipes for services in docs/security.md: each file is accepted, and says who logs in by which mechanism."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kafka_groups.settings import resolve_settings

PAGE = Path(__file__).parents[2] / "docs" / "security.md"
# The file of a config provider is on the machine of the reader.
MOUNTED = "/run/secrets/msk.properties"
EXPECTED = {
    "confluent.properties": "PLAIN: user 'API-KEY'",
    "confluent-oauth.properties": "OAUTHBEARER: the endpoint https://login.example.com/oauth2/token",
    "event-hubs.properties": "PLAIN: user '$ConnectionString'",
    "event-hubs-oauth.properties": (
        "OAUTHBEARER: the endpoint https://login.microsoftonline.com/TENANT/oauth2/v2.0/token"
    ),
    "aiven.properties": "a client certificate",
    "strimzi.properties": (
        "OAUTHBEARER: the endpoint https://keycloak.example.com/realms/kafka/protocol/openid-connect/token"
    ),
    "msk.properties": "OAUTHBEARER: the AWS profile 'reader'",
    "msk-scram.properties": "SCRAM-SHA-512: user 'reader'",
}


def recipes() -> dict[str, str]:
    """Return the text of each file of the page's part on services, by name."""
    part = PAGE.read_text(encoding="utf-8").partition("\n## Services\n")[2]
    return dict(re.findall(r"`([\w-]+\.properties)`(?:(?!\.properties`).)*?```properties\n(.*?)```", part, re.DOTALL))


def login_of(name: str, folder: Path) -> str:
    secret = folder / "msk.properties"
    secret.write_text("password=hidden\n")
    file = folder / "client.properties"
    file.touch(mode=0o600)
    file.write_text(recipes()[name].replace(MOUNTED, str(secret)))
    settings = resolve_settings(config=str(file), environment={})
    if settings.credentials is None:
        assert settings.tls is not None
        return "a client certificate" if settings.tls.certificate_file else "nobody"
    return f"{settings.credentials.mechanism}: {settings.credentials.identity}"


def test_every_recipe_is_tried() -> None:
    assert recipes().keys() == EXPECTED.keys()


@pytest.mark.parametrize("name", EXPECTED)
def test_a_recipe_logs_in_as_its_service_expects(name: str, tmp_path: Path) -> None:
    assert login_of(name, tmp_path) == EXPECTED[name]


def test_the_extensions_of_a_recipe_reach_the_broker(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text(recipes()["confluent-oauth.properties"])
    credentials = resolve_settings(config=str(file), environment={}).credentials
    assert getattr(credentials, "extensions", None) == {"logicalCluster": "lkc-12345", "identityPoolId": "pool-12345"}
