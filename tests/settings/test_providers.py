"""Config providers: values of files, directories and variables, replaced as Kafka's ConfigTransformer does."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from kafka_groups.errors import ConfigProviderError, KafkaGroupsError, SettingsError
from kafka_groups.settings import PasswordCredentials, settings_from
from kafka_groups.settings.librdkafka import resolve_client
from tests.settings.resolution import hosts, resolve, write_file

PACKAGE = "org.apache.kafka.common.config.provider"
FILE = f"config.providers=file\nconfig.providers.file.class={PACKAGE}.FileConfigProvider\n"
DIRECTORY = f"config.providers=dir\nconfig.providers.dir.class={PACKAGE}.DirectoryConfigProvider\n"
VARIABLES = f"config.providers=env\nconfig.providers.env.class={PACKAGE}.EnvVarConfigProvider\n"
SASL = "bootstrap.servers=b:1\nsecurity.protocol=SASL_SSL\nsasl.mechanism=PLAIN\n"
JAAS = "sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required"
SECRET = "hidden-thing"


@pytest.fixture
def secrets(tmp_path: Path) -> Path:
    """Return a properties file with secrets, in a directory with a file for each of them."""
    (tmp_path / "password").write_text(f"{SECRET}\n")
    (tmp_path / "user").write_text("me")
    (tmp_path / "nested").mkdir()
    path = tmp_path / "secrets.properties"
    path.write_text(
        f"user=me\npassword={SECRET}\ncolon\\:key=c\nhost=h\nport=7\nindirect=${{file:{path}:user}}\n", "utf-8"
    )
    return path


def credentials(tmp_path: Path, text: str, **sources: Any) -> tuple[str, str]:
    """Return the user and the password of a file, which are the same for both clients."""
    given = {"config": write_file(tmp_path, SASL + text), **sources}
    found = resolve(**given).credentials
    assert isinstance(found, PasswordCredentials)
    properties = resolve_client(**{"environment": {}, **given}).properties
    assert (properties["sasl.username"], properties["sasl.password"]) == (found.username, found.password)
    assert not [key for key in properties if key.startswith("config.providers")]
    return found.username, found.password


def problem(kind: type[KafkaGroupsError], tmp_path: Path, text: str, **sources: Any) -> str:
    """Return the text of the error of a file, which is the same for both clients and shows no secret."""
    given = {"config": write_file(tmp_path, SASL + text), **sources}
    texts: list[str] = []
    for function in (resolve, lambda **each: resolve_client(**{"environment": {}, **each})):
        with pytest.raises(kind) as caught:
            function(**given)
        assert type(caught.value) is kind
        texts.append(str(caught.value))
    assert texts[0] == texts[1]
    assert SECRET not in texts[0]
    return texts[0]


def test_a_variable_of_a_file_is_replaced_by_the_value_of_its_key(tmp_path: Path, secrets: Path) -> None:
    text = f"sasl.username=${{file:{secrets}:user}}\nsasl.password=${{file:{secrets}:password}}\n"
    assert credentials(tmp_path, FILE + text) == ("me", SECRET)


def test_a_variable_of_a_directory_is_replaced_by_the_content_of_a_file(tmp_path: Path, secrets: Path) -> None:
    """The end of a line at the end of a value is trimmed, as in every value."""
    text = f"sasl.username=${{dir:{secrets.parent}:user}}\nsasl.password=${{dir:{secrets.parent}:password}}\n"
    assert credentials(tmp_path, DIRECTORY + text) == ("me", SECRET)


@pytest.mark.parametrize("variable", ["${env:KAFKA_PASSWORD}", "${env::KAFKA_PASSWORD}"])
def test_a_variable_of_the_environment_is_replaced(tmp_path: Path, variable: str) -> None:
    environment = {"KAFKA_PASSWORD": SECRET}
    text = f"sasl.username=me\nsasl.password={variable}\n"
    assert credentials(tmp_path, VARIABLES + text, environment=environment) == ("me", SECRET)


def test_variables_in_a_jaas_text_are_replaced_before_it_is_parsed(tmp_path: Path, secrets: Path) -> None:
    user, password = f"${{file:{secrets}:user}}", f"${{file:{secrets}:password}}"
    assert credentials(tmp_path, f'{FILE}{JAAS} username="{user}" password="{password}";\n') == ("me", SECRET)
    secrets.write_text(
        r'all=a.PlainLoginModule required username="me" password="a\\\\\\"b";' + '\nrest="x" password="y"\n'
    )
    assert credentials(tmp_path, f"{FILE}sasl.jaas.config=${{file:{secrets}:all}}\n") == ("me", 'a\\"b')
    assert credentials(tmp_path, f"{FILE}{JAAS} username=${{file:{secrets}:rest}};\n") == ("x", "y")


def test_a_value_may_have_several_variables_with_text_around_them(tmp_path: Path, secrets: Path) -> None:
    host, port = f"${{file:{secrets}:host}}", f"${{file:{secrets}:port}}"
    config = write_file(tmp_path, f"{FILE}bootstrap.servers=x-{host}-1:{port},{host}2:9\n")
    assert hosts(resolve(config=config)) == ["x-h-1:7", "h2:9"]


def test_a_key_may_have_colons_and_a_replaced_value_is_not_searched_again(tmp_path: Path, secrets: Path) -> None:
    text = f"sasl.username=${{file:{secrets}:colon:key}}\nsasl.password=${{file:{secrets}:indirect}}\n"
    assert credentials(tmp_path, FILE + text) == ("c", f"${{file:{secrets}:user}}")


@pytest.mark.parametrize(
    ("declared", "variable"),
    [
        ("", "${file:/f:key}"),
        (FILE, "${vault:/f:key}"),
        (FILE, "${file:SECRETS:absent}"),
        (FILE, "${file:key}"),
        (FILE, "${file::key}"),
        (FILE, "$file:SECRETS:user"),
        (FILE, "${file}"),
        (DIRECTORY, "${dir:FOLDER:absent}"),
        (DIRECTORY, "${dir:FOLDER:nested}"),
        (DIRECTORY, "${dir:FOLDER/nested:../user}"),
        (VARIABLES, "${env:KAFKA_GROUPS_ABSENT}"),
        (f"{VARIABLES}config.providers.env.param.allowlist.pattern=KAFKA_.*\n", "${env:PATH}"),
        (f"{FILE}config.providers.file.param.allowed.paths=FOLDER/nested\n", "${file:SECRETS:user}"),
        (f"{FILE}config.providers.file.param.allowed.paths=,,\n", "${file:SECRETS:user}"),
        (f"{FILE}config.providers.file.param.allowed.paths=FOLDER/nested\n", "${file:FOLDER/nested/../user:user}"),
    ],
)
def test_a_variable_that_its_provider_does_not_have_stays_as_it_is(
    tmp_path: Path, secrets: Path, declared: str, variable: str
) -> None:
    def filled(text: str) -> str:
        return text.replace("SECRETS", str(secrets)).replace("FOLDER", str(tmp_path))

    text = filled(f"{declared}sasl.username=me\nsasl.password=a {variable} b\n")
    assert credentials(tmp_path, text) == ("me", filled(f"a {variable} b"))


@pytest.mark.parametrize("allowed", ["FOLDER", "/nowhere-else,FOLDER", "SECRETS", "FOLDER,", "SECRETS,,,"])
def test_allowed_paths_are_read(tmp_path: Path, secrets: Path, allowed: str) -> None:
    (tmp_path / "link").symlink_to(secrets)
    paths = allowed.replace("FOLDER", str(tmp_path)).replace("SECRETS", str(secrets)).replace("/nowhere-else", "/tmp")
    for file in (secrets, tmp_path / "nested" / ".." / "secrets.properties", tmp_path / "link"):
        declared = f"{FILE}config.providers.file.param.allowed.paths={paths}\n"
        assert (
            credentials(tmp_path, f"{declared}sasl.username=me\nsasl.password=${{file:{file}:password}}\n")[1] == SECRET
        )


def test_a_link_out_of_the_allowed_paths_is_not_read(tmp_path: Path, secrets: Path) -> None:
    (tmp_path / "nested" / "link").symlink_to(secrets)
    variable = f"${{file:{tmp_path / 'nested' / 'link'}:password}}"
    declared = f"{FILE}config.providers.file.param.allowed.paths={tmp_path / 'nested'}\n"
    assert credentials(tmp_path, f"{declared}sasl.username=me\nsasl.password={variable}\n") == ("me", variable)


@pytest.mark.parametrize(
    ("declared", "text"),
    [
        (
            "config.providers=file\nconfig.providers.file.class=com.example.VaultConfigProvider\n",
            "config.providers.file.class=com.example.VaultConfigProvider is not supported; this tool has org.apache",
        ),
        (
            "config.providers=file\nconfig.providers.file.class=com.example.FileConfigProvider\n",
            "config.providers.file.class=com.example.FileConfigProvider is not supported; this tool has org.apache",
        ),
        (
            "config.providers=file\n",
            "config.providers has 'file', and config.providers.file.class is not set; set it to",
        ),
        (
            f"{FILE}config.providers.file.param.allowed.paths=relative\n",
            "config.providers.file.param.allowed.paths: the path relative is not absolute; correct or remove it",
        ),
        (f"{FILE}config.providers.file.param.allowed.paths=/tmp,,/tmp\n", "is not absolute; correct or remove it"),
        (
            f"{FILE}config.providers.file.param.allowed.paths=/nowhere/else\n",
            "config.providers.file.param.allowed.paths: the path /nowhere/else does not exist; correct or remove it",
        ),
        (
            f"config.providers=file\nconfig.providers.file.class={PACKAGE}.EnvVarConfigProvider\n",
            "a variable of the config provider 'file' has a path; write ${file:NAME}",
        ),
        (
            f"{VARIABLES.replace('env', 'file')}config.providers.file.param.allowlist.pattern=(\n",
            "config.providers.file.param.allowlist.pattern: '(' is not a regular expression: ",
        ),
    ],
)
def test_a_provider_that_cannot_be_used_is_refused_with_the_key_that_needs_it(
    tmp_path: Path, declared: str, text: str
) -> None:
    found = problem(SettingsError, tmp_path, f"{declared}sasl.username=me\nsasl.password=${{file:/f:key}}\n")
    assert found.startswith(f"{tmp_path / 'client.properties'}: sasl.password: ")
    assert text in found


@pytest.mark.parametrize(
    ("declared", "variable", "reason"),
    [
        (FILE, "${file:FOLDER/absent:key}", "the file FOLDER/absent of a config provider cannot be read: No such file"),
        (
            FILE,
            "${file:FOLDER/nested:key}",
            "the file FOLDER/nested of a config provider cannot be read: Is a directory",
        ),
        (
            DIRECTORY,
            "${dir:FOLDER/absent:key}",
            "the directory FOLDER/absent of a config provider cannot be read: No such",
        ),
        (
            DIRECTORY,
            "${dir:FOLDER/user:key}",
            "the directory FOLDER/user of a config provider cannot be read: Not a dir",
        ),
    ],
)
@pytest.mark.usefixtures("secrets")
def test_a_file_that_cannot_be_read_is_a_failure_of_the_provider(
    tmp_path: Path, declared: str, variable: str, reason: str
) -> None:
    value = variable.replace("FOLDER", str(tmp_path))
    text = problem(ConfigProviderError, tmp_path, f"{declared}sasl.username=me\nsasl.password={value}\n")
    assert text.startswith(
        f"{tmp_path / 'client.properties'}: sasl.password: {reason.replace('FOLDER', str(tmp_path))}"
    )
    assert text.endswith("; correct the path, or the rights to it")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (f"password={SECRET}\\u12".encode(), r"cannot be used: a \u is not followed by four hexadecimal digits"),
        (f"password={SECRET}é".encode("latin-1"), "is not UTF-8 text: "),
        (f"password={SECRET}".encode("utf-16"), "is UTF-16 text, and not UTF-8; save it in UTF-8"),
    ],
)
def test_a_malformed_file_of_secrets_is_named_without_its_content(tmp_path: Path, content: bytes, reason: str) -> None:
    file = tmp_path / "secrets"
    file.write_bytes(content)
    text = problem(SettingsError, tmp_path, f"{FILE}sasl.username=me\nsasl.password=${{file:{file}:password}}\n")
    assert f"sasl.password: the file {file} of a config provider {reason}" in text


@pytest.mark.parametrize(
    "unused",
    [
        "ssl.key.password=VARIABLE\n",
        "sasl.password=VARIABLE\nsasl.jaas.config=VARIABLE\n",
        "fetch.max.bytes=VARIABLE\nconnector.secret=VARIABLE\n",
    ],
)
def test_a_value_that_is_not_used_needs_no_provider(tmp_path: Path, unused: str) -> None:
    declared = "config.providers=vault\nconfig.providers.vault.class=com.example.Vault\nbootstrap.servers=b:1\n"
    config = write_file(tmp_path, declared + unused.replace("VARIABLE", "${vault:a:b}"))
    assert hosts(resolve(config=config)) == ["b:1"]
    assert resolve_client(environment={}, config=config).properties["bootstrap.servers"] == "b:1"


def test_a_value_that_a_higher_source_replaces_needs_no_provider(tmp_path: Path) -> None:
    for key in ("sasl.password=", f'{JAAS} username="a" password='):
        text = f"{FILE}sasl.username=me\n{key}${{file:/nowhere/secrets:password}}\n"
        given = {"properties": ["sasl.username=me", f"sasl.password={SECRET}"]}
        assert credentials(tmp_path, text, **given) == ("me", SECRET)


def test_a_profile_and_flags_may_use_providers_of_any_source(tmp_path: Path, secrets: Path) -> None:
    config = write_file(tmp_path, FILE + SASL, "of-profile.properties")
    profiles = tmp_path / "profiles.toml"
    table = {"config": "${env:KAFKA_FOLDER}/of-profile.properties", "sasl.username": f"${{file:{secrets}:user}}"}
    table |= {"config.providers": "file,env", "config.providers.env.class": f"{PACKAGE}.EnvVarConfigProvider"}
    profiles.write_text("[p]\n" + "".join(f"{json.dumps(key)} = {json.dumps(value)}\n" for key, value in table.items()))
    found = resolve(
        profile="p",
        profiles=profiles,
        properties=[f"sasl.password=${{file:{secrets}:password}}"],
        environment={"KAFKA_FOLDER": str(tmp_path)},
    )
    assert found.credentials == PasswordCredentials(mechanism="PLAIN", username="me", password=SECRET)
    assert Path(config).exists()


def test_properties_of_a_program_may_declare_providers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_PASSWORD", SECRET)
    declared = {"config.providers": "env", "config.providers.env.class": f"{PACKAGE}.EnvVarConfigProvider"}
    user = {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.username": "me"}
    found = settings_from({**declared, **user, "bootstrap.servers": "b:1", "sasl.password": "${env:KAFKA_PASSWORD}"})
    assert found.credentials == PasswordCredentials(mechanism="PLAIN", username="me", password=SECRET)


def test_a_file_that_can_be_read_once_gives_all_its_values(tmp_path: Path) -> None:
    """A shell's <(…) is such a file."""
    reader, writer = os.pipe()
    os.set_inheritable(reader, True)
    os.write(writer, f"user=me\npassword={SECRET}\n".encode())
    os.close(writer)
    path = f"/dev/fd/{reader}"
    values = f"sasl.username=${{file:{path}:user}}\nsasl.password=${{file:{path}:password}}\n"
    config = write_file(tmp_path, SASL + FILE + values)
    try:
        found = resolve(config=config).credentials
    finally:
        os.close(reader)
    assert found == PasswordCredentials(mechanism="PLAIN", username="me", password=SECRET)
