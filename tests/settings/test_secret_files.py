"""Files with a secret: a FIFO is refused at once, and a large file is not read whole, wherever the user names one."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from kafka_groups.errors import KafkaGroupsError
from kafka_groups.settings.pairs import Setting
from kafka_groups.settings.profile_variables import look_up
from kafka_groups.settings.providers import ConfigProviders
from kafka_groups.settings.secret_files import SecretFileError, read_limited
from kafka_groups.settings.tokens.assertion import AssertionFile, SignedAssertion
from kafka_groups.settings.tokens.token_file import TokenFile
from tests.settings.tokens.token_sources import fetch

pytestmark = pytest.mark.timeout(20)
MEGABYTE = 1 << 20
PACKAGE = "org.apache.kafka.common.config.provider"
FIFO = "cannot be read: it is a FIFO; name a regular file"
LARGE = "has more than 1,048,576 bytes; correct the path"


def provide(kind: str, variable: str) -> str:
    """Return the value of a variable of a config provider."""
    declared = {"config.providers": "p", "config.providers.p.class": f"{PACKAGE}.{kind}"}
    return ConfigProviders({key: Setting(value, key) for key, value in declared.items()}, {}).replace(variable)


# What reads a file, and the file in its errors.
READERS: dict[str, tuple[Callable[[Path], object], str]] = {
    "profile": (lambda path: look_up("file", str(path), {}), "the file {}"),
    "token": (lambda path: fetch(TokenFile(str(path))), "the token file {}"),
    "assertion": (lambda path: AssertionFile(str(path)).create(), "the assertion file {}"),
    "key": (lambda path: SignedAssertion(key_file=str(path)).create(), "the private key {}"),
    "properties": (lambda path: provide("FileConfigProvider", f"${{p:{path}:k}}"), "the file {} of a config provider"),
    "directory": (
        lambda path: provide("DirectoryConfigProvider", f"${{p:{path.parent}:{path.name}}}"),
        "the file {} of a config provider",
    ),
}


def problem(name: str, path: Path) -> str:
    """Return the text of the error of a file, without the file."""
    read, place = READERS[name]
    with pytest.raises(KafkaGroupsError) as caught:
        read(path)
    assert str(caught.value).startswith(f"{place.format(path)} ")
    return str(caught.value).removeprefix(f"{place.format(path)} ")


# A directory with a FIFO has no regular file of this name.
@pytest.mark.parametrize("name", [name for name in READERS if name != "directory"])
def test_a_fifo_is_refused_without_a_wait(name: str, tmp_path: Path) -> None:
    path = tmp_path / "fifo"
    os.mkfifo(path)
    assert problem(name, path) == FIFO


@pytest.mark.parametrize("name", READERS)
def test_a_file_of_a_gigabyte_is_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.truncate(1 << 30)
    assert problem(name, path) == LARGE


def test_a_link_to_a_file_of_one_megabyte_is_read(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"x" * MEGABYTE)
    link.symlink_to(target)
    assert len(read_limited(link)) == MEGABYTE
    target.write_bytes(b"x" * (MEGABYTE + 1))
    with pytest.raises(SecretFileError):
        read_limited(link)


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/no/such/file", "No such file or directory; correct the path, or the rights to it"),
        ("/", "Is a directory; correct the path, or the rights to it"),
        ("/dev/zero", "it is a device; name a regular file"),
        ("a\0b", "the path is not valid; correct the path, or the rights to it"),
    ],
)
def test_a_path_without_a_regular_file_is_an_error(path: str, reason: str) -> None:
    with pytest.raises(SecretFileError) as caught:
        read_limited(path)
    assert str(caught.value) == f"cannot be read: {reason}"
