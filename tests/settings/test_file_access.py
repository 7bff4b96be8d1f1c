"""Who can read and write the files of settings: commands are refused, and secrets are warned of."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kafka_groups.settings import resolve_settings
from kafka_groups.settings.file_access import read_file
from kafka_groups.settings.librdkafka import resolve_client
from tests.settings.resolution import error_text

if TYPE_CHECKING:
    from pytest_mock import MockerFixture

SECRET = "hidden-thing"
JAAS = "org.apache.kafka.common.security.plain.PlainLoginModule required"
BASE = {"bootstrap.servers": "b:1", "security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.username": "me"}
BEARER = {"bootstrap.servers": "b:1", "security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER"}
PROVIDER = BEARER | {"sasl.oauthbearer.token.endpoint.url": "https://h/t", "sasl.oauthbearer.client.id": "c"}
TOKEN = BEARER | {"sasl.oauthbearer.token.command": "true"}
KEY = "-----BEGIN PRIVATE KEY----- a -----END PRIVATE KEY-----"
CERTIFICATE = "-----BEGIN CERTIFICATE----- a -----END CERTIFICATE-----"
SHOWN = (
    " in the list of processes and in the history of the shell; use a profile or a config file that only you can read"
)
EVERY_KIND = pytest.mark.parametrize("kind", ["profile", "config"])
READABLE_BY_OTHERS = 0o644


def write_settings(kind: str, folder: Path, pairs: dict[str, str], mode: int) -> tuple[Path, dict[str, Any]]:
    """Write settings to a file with a mode, and return its path and the sources that name it."""
    path = folder / ("profiles.toml" if kind == "profile" else "client.properties")
    if kind == "profile":
        path.write_text("[p]\n" + "".join(f"'{key}' = '''{value}'''\n" for key, value in pairs.items()))
    else:
        path.write_text("".join(f"{key}={value}\n" for key, value in pairs.items()))
    path.chmod(mode)
    source: dict[str, Any] = {"profile": "p", "profiles": path} if kind == "profile" else {"config": str(path)}
    return path, {"environment": {}, **source}


def warnings_of(sources: dict[str, Any]) -> tuple[str, ...]:
    """Return the warnings of the sources; they are the same for both clients."""
    warnings = resolve_settings(**sources).warnings
    assert resolve_client(**sources).warnings == warnings
    assert SECRET not in "".join(warnings)
    return warnings


@EVERY_KIND
@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666, 0o664, 0o777])
def test_a_file_that_names_a_command_and_that_others_can_write_is_refused(kind: str, mode: int, tmp_path: Path) -> None:
    path, sources = write_settings(kind, tmp_path, TOKEN, mode)
    text = error_text(**sources)
    assert text == (
        f"{path} names a command (sasl.oauthbearer.token.command), and other users can write it; run: chmod go-w {path}"
    )
    path.chmod(mode & ~0o022)
    resolve_settings(**sources)


@pytest.mark.parametrize("pairs", [BASE, TOKEN, {"bootstrap.servers": "b"}])
def test_a_profile_with_the_command_of_a_secret_that_others_can_write_is_refused(
    pairs: dict[str, str], tmp_path: Path
) -> None:
    path, sources = write_settings("profile", tmp_path, pairs | {"ssl.key.pem.command": "true"}, 0o660)
    named = ["ssl.key.pem.command", *(key for key in pairs if key.endswith(".command"))]
    assert error_text(**sources).startswith(f"{path} names a command ({', '.join(named)}), and other users can write")


def test_a_profile_whose_file_has_a_command_of_another_profile_is_not_refused(tmp_path: Path) -> None:
    path, sources = write_settings("profile", tmp_path, {"bootstrap.servers": "b"}, 0o666)
    path.write_text(path.read_text() + "[other]\n'sasl.password.command' = 'true'\n")
    assert warnings_of(sources) == ()


@EVERY_KIND
def test_a_file_without_a_command_may_be_written_by_others(kind: str, tmp_path: Path) -> None:
    _, sources = write_settings(kind, tmp_path, {"bootstrap.servers": "b"}, 0o666)
    assert warnings_of(sources) == ()


@EVERY_KIND
def test_a_file_that_names_a_command_belongs_to_the_user_or_to_root(
    kind: str, tmp_path: Path, mocker: MockerFixture
) -> None:
    path, sources = write_settings(kind, tmp_path, TOKEN, 0o644)
    owner = path.stat().st_uid
    mocker.patch("kafka_groups.settings.file_access.os.geteuid", return_value=owner + 1)
    mocker.patch("kafka_groups.settings.file_access._ROOT", owner + 2)
    assert error_text(**sources) == (
        f"{path} names a command (sasl.oauthbearer.token.command), and it belongs to another user (uid {owner}), who "
        "can change the command; copy it to a file of your own, with the mode 600"
    )
    mocker.patch("kafka_groups.settings.file_access._ROOT", owner)
    resolve_settings(**sources)


def test_a_config_file_that_a_profile_names_is_checked_too(tmp_path: Path) -> None:
    config, _ = write_settings("config", tmp_path, TOKEN, 0o666)
    _, sources = write_settings("profile", tmp_path, {"config": str(config)}, 0o600)
    assert error_text(**sources).startswith(f"{config} names a command")


def test_the_path_in_the_line_to_run_is_quoted_for_the_shell(tmp_path: Path) -> None:
    folder = tmp_path / "a b"
    folder.mkdir()
    path, sources = write_settings("config", folder, TOKEN, 0o666)
    assert error_text(**sources).endswith(f"; run: chmod go-w '{path}'")


@EVERY_KIND
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o666])
def test_a_file_with_a_secret_that_others_can_read_is_warned_of(kind: str, mode: int, tmp_path: Path) -> None:
    path, sources = write_settings(kind, tmp_path, BASE | {"sasl.password": SECRET}, mode)
    warning = f"other users can read {path}, which has a secret (sasl.password); run: chmod 600 {path}"
    assert warnings_of(sources) == (warning,)
    path.chmod(0o600)
    assert warnings_of(sources) == ()


@EVERY_KIND
@pytest.mark.parametrize(
    ("pairs", "named"),
    [
        (BASE | {"sasl.password": SECRET, "ssl.key.password": SECRET}, "sasl.password, ssl.key.password"),
        (
            {**BASE, "sasl.jaas.config": f'{JAAS} username="me" password="{SECRET}";'},
            "sasl.jaas.config",
        ),
        (
            {
                "bootstrap.servers": "b",
                "security.protocol": "SSL",
                "ssl.certificate.pem": CERTIFICATE,
                "ssl.key.pem": KEY,
            },
            "ssl.keystore.key",
        ),
        (PROVIDER | {"sasl.oauthbearer.client.secret": SECRET}, "sasl.oauthbearer.client.credentials.client.secret"),
    ],
)
def test_a_warning_names_the_secrets_of_the_file(kind: str, pairs: dict[str, str], named: str, tmp_path: Path) -> None:
    path, sources = write_settings(kind, tmp_path, pairs, READABLE_BY_OTHERS)
    warning = f"other users can read {path}, which has a secret ({named}); run: chmod 600 {path}"
    assert warnings_of(sources) == (warning,)


@EVERY_KIND
@pytest.mark.parametrize(
    ("pairs", "flags"),
    [
        (BASE | {"sasl.password": ""}, ["sasl.password=${env:X}"]),
        (BASE | {"sasl.password": SECRET}, ["security.protocol=PLAINTEXT"]),
        (BASE | {"sasl.password": SECRET}, ["security.protocol=SSL"]),
        (TOKEN | {"sasl.password": SECRET}, []),
        (TOKEN, []),
        ({"bootstrap.servers": "b", "security.protocol": "SSL", "ssl.ca.pem": CERTIFICATE}, []),
        (BASE | {"sasl.password": "${env:X}"}, []),
        (BASE | {"sasl.pasword": SECRET}, ["sasl.password=${env:X}"]),
    ],
    ids=["empty", "no SASL", "TLS", "another mechanism", "a command", "a certificate", "a variable", "unknown"],
)
def test_a_file_without_a_secret_that_is_used_is_not_warned_of(
    kind: str, pairs: dict[str, str], flags: list[str], tmp_path: Path
) -> None:
    _, sources = write_settings(kind, tmp_path, pairs, READABLE_BY_OTHERS)
    assert warnings_of({**sources, "environment": {"X": "x"}, "properties": flags}) == ()


def test_a_secret_by_a_command_is_not_warned_of(tmp_path: Path) -> None:
    _, sources = write_settings("profile", tmp_path, BASE | {"sasl.password.command": "echo a"}, READABLE_BY_OTHERS)
    assert warnings_of(sources) == ()


def test_a_secret_of_a_config_provider_is_not_warned_of(tmp_path: Path) -> None:
    pairs = {
        "config.providers": "env",
        "config.providers.env.class": "org.apache.kafka.common.config.provider.EnvVarConfigProvider",
        "sasl.jaas.config": f'{JAAS} username="me" password="${{env:X}}";',
    }
    _, sources = write_settings("config", tmp_path, BASE | pairs, READABLE_BY_OTHERS)
    assert warnings_of({**sources, "environment": {"X": SECRET}}) == ()


@EVERY_KIND
def test_a_secret_that_another_source_replaces_is_not_warned_of(kind: str, tmp_path: Path) -> None:
    path, sources = write_settings(kind, tmp_path, BASE | {"sasl.password": SECRET}, READABLE_BY_OTHERS)
    found = warnings_of({**sources, "properties": ["sasl.password=a"]})
    assert not any(str(path) in each for each in found)


@EVERY_KIND
def test_a_mounted_secret_is_not_warned_of(kind: str, tmp_path: Path, mocker: MockerFixture) -> None:
    mounted = tmp_path / "..data"
    mounted.mkdir()
    path, sources = write_settings(kind, mounted, BASE | {"sasl.password": SECRET}, READABLE_BY_OTHERS)
    link = tmp_path / path.name
    link.symlink_to(Path("..data") / path.name)
    of_link = {**sources, **({"profiles": link} if kind == "profile" else {"config": str(link)})}
    assert warnings_of(of_link) == ()
    # The same file by its own path.
    assert len(warnings_of(sources)) == 1
    mocker.patch("kafka_groups.settings.file_access.os.statvfs").return_value.f_flag = os.ST_RDONLY
    assert warnings_of(sources) == ()


@EVERY_KIND
def test_a_file_of_another_user_is_not_warned_of(kind: str, tmp_path: Path, mocker: MockerFixture) -> None:
    path, sources = write_settings(kind, tmp_path, BASE | {"sasl.password": SECRET}, READABLE_BY_OTHERS)
    mocker.patch("kafka_groups.settings.file_access.os.geteuid", return_value=path.stat().st_uid + 1)
    assert warnings_of(sources) == ()


def test_settings_of_a_pipe_are_not_warned_of() -> None:
    reading, writing = os.pipe()
    with os.fdopen(writing, "w") as file:
        file.writelines(f"{key}={value}\n" for key, value in (BASE | {"sasl.password": SECRET}).items())
    settings = resolve_settings(config=f"/dev/fd/{reading}", environment={})
    os.close(reading)
    assert (settings.credentials is not None, settings.warnings) == (True, ())


@pytest.mark.parametrize(
    ("properties", "warning"),
    [
        (["sasl.password=hidden-thing"], f"-X sasl.password shows a secret{SHOWN}, or KAFKA_GROUPS_SASL_PASSWORD"),
        ([f'sasl.jaas.config={JAAS} username="me" password="a";'], f"-X sasl.jaas.config shows a secret{SHOWN}"),
        (
            ["ssl.key.password=hidden-thing", "sasl.password=hidden-thing"],
            f"-X ssl.key.password and -X sasl.password show secrets{SHOWN}, or KAFKA_GROUPS_SASL_PASSWORD",
        ),
    ],
)
def test_a_secret_by_a_flag_is_warned_of(properties: list[str], warning: str) -> None:
    pairs = [f"{key}={value}" for key, value in BASE.items()]
    assert warnings_of({"environment": {}, "properties": pairs + properties}) == (warning,)


def test_properties_without_a_secret_by_a_flag_are_not_warned_of() -> None:
    pairs = [f"{key}={value}" for key, value in TOKEN.items()]
    assert warnings_of({"environment": {}, "properties": pairs}) == ()


def test_the_repr_of_a_file_does_not_show_its_content(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_text(SECRET)
    assert repr(read_file(path)) == f"SettingsFile(path={path!r})"
