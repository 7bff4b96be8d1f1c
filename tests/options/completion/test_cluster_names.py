"""The names of a cluster: partial results, brokers that fail, and the cache."""

from __future__ import annotations

import json
import os
import stat
import time
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import ANY

import pytest

from kafka_groups.errors import ConfigProviderError
from kafka_groups.options.completion import cluster_names
from kafka_groups.options.completion.cluster_names import find_names
from kafka_groups.options.completion.name_cache import NameCache
from kafka_groups.settings import resolve_settings
from tests.fakes.reactions import Reaction, drops, silent
from tests.fakes.sasl_cluster import SaslCluster
from tests.fakes.scripted_cluster import Group, ScriptedCluster
from tests.special_files import make_device

ALL = ["billing", "orders", "orders-eu"]


def cached(home: Path) -> list[Path]:
    """Return the files of the cache."""
    return sorted((home / ".cache" / "kafka-groups" / "completion").glob("*"))


def path_for(*properties: str) -> Path:
    """Return the path of the cache with these properties."""
    return NameCache("groups", resolve_settings(properties=properties, environment=os.environ)).path


def test_names_are_requested_once_in_ten_seconds(cluster: ScriptedCluster, home: Path) -> None:
    assert find_names("groups", {}) == ALL
    cluster.groups["new"] = Group()
    assert find_names("groups", {}) == ALL
    assert cluster.requests() == {"ListGroups": 2}
    (file,) = cached(home)
    os.utime(file, (0, file.stat().st_mtime - 11))
    assert find_names("groups", {}) == ["billing", "new", "orders", "orders-eu"]


@pytest.mark.usefixtures("cluster")
def test_groups_and_topics_are_cached_apart(home: Path) -> None:
    assert find_names("topics", {}) == ["audit", "payments"]
    assert find_names("groups", {}) == ALL
    assert sorted(json.loads(file.read_text()) for file in cached(home)) == [["audit", "payments"], ALL]


@pytest.mark.usefixtures("cluster")
def test_only_the_user_can_read_the_cache(home: Path) -> None:
    before = os.umask(0)
    try:
        find_names("groups", {})
    finally:
        os.umask(before)
    (file,) = cached(home)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


@pytest.mark.usefixtures("cluster")
def test_a_file_that_others_can_write_is_replaced(home: Path) -> None:
    find_names("groups", {})
    (file,) = cached(home)
    file.write_text('["foreign"]')
    file.chmod(0o666)
    assert find_names("groups", {}) == ALL
    assert json.loads(file.read_text()) == ALL
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.usefixtures("cluster")
def test_a_directory_that_others_can_write_is_not_used(home: Path) -> None:
    find_names("groups", {})
    (file,) = cached(home)
    file.write_text('["foreign"]')
    file.parent.chmod(0o777)
    assert find_names("groups", {}) == ALL
    assert json.loads(file.read_text()) == ["foreign"]


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize("content", [b"", b"{", b"{}", b"[1]", b"\xff"])
def test_a_cache_that_cannot_be_read_is_replaced(home: Path, content: bytes) -> None:
    find_names("groups", {})
    (file,) = cached(home)
    file.write_bytes(content)
    assert find_names("groups", {}) == ALL
    assert json.loads(file.read_text()) == ALL


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize("kind", ["FIFO", "device"])
def test_a_special_file_in_place_of_the_cache_is_neither_read_nor_replaced(home: Path, kind: str) -> None:
    find_names("groups", {})
    (file,) = cached(home)
    file.unlink()
    if kind == "FIFO":
        os.mkfifo(file, 0o600)
    else:
        make_device(file).chmod(0o600)
    before = file.lstat()
    os.utime(file, (0, 0))
    assert (find_names("groups", {}), find_names("groups", {}), find_names("topics", {})) == (ALL, ALL, ANY)
    assert (file.lstat().st_mode, file.lstat().st_ino) == (before.st_mode, before.st_ino)


@pytest.mark.usefixtures("cluster")
def test_names_that_cannot_be_cached_are_returned(home: Path) -> None:
    (home / ".cache").write_text("a file")
    assert find_names("groups", {}) == ALL


@pytest.mark.usefixtures("cluster")
def test_the_name_of_the_file_depends_on_brokers_and_user_but_on_no_password() -> None:
    sasl = ("security.protocol=SASL_PLAINTEXT", "sasl.mechanism=PLAIN")
    ann, bob = (*sasl, "sasl.username=ann"), (*sasl, "sasl.username=bob")
    properties = [(), ("bootstrap.servers=b:1",), (*ann, "sasl.password=a"), (*bob, "sasl.password=a")]
    assert len({path_for(*pairs) for pairs in properties}) == 4
    assert path_for(*ann, "sasl.password=a") == path_for(*ann, "sasl.password=b")


@pytest.mark.usefixtures("cluster")
def test_old_files_of_other_clusters_are_removed(home: Path) -> None:
    find_names("groups", {})
    (file,) = cached(home)
    old, young = file.with_name("old.json"), file.with_name("young.json")
    for other in (old, young):
        other.write_text("[]")
    os.utime(old, (0, 0))
    find_names("topics", {})
    assert len(cached(home)) == 3
    assert not old.exists()


@pytest.mark.parametrize("reaction", [drops, silent])
def test_groups_of_the_other_brokers_are_offered_but_not_cached(
    cluster: ScriptedCluster, home: Path, monkeypatch: pytest.MonkeyPatch, reaction: Reaction
) -> None:
    monkeypatch.setattr(cluster_names, "GroupAdmin", cluster.clock.client_class())
    clock = SimpleNamespace(monotonic=cluster.clock, process_time=lambda: 0.0)
    monkeypatch.setattr(cluster_names, "time", clock)
    cluster.script("ListGroups", *[reaction] * 20, brokers=[2])
    assert find_names("groups", {}) == ["orders"]
    assert cached(home) == []


def test_a_bootstrap_server_that_is_down_does_not_matter(
    cluster: ScriptedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA_GROUPS_BOOTSTRAP_SERVER", f"127.0.0.1:1,{cluster.brokers[2].endpoint}")
    assert find_names("groups", {}) == ALL


def test_a_completion_prints_no_warning_about_a_secret(capfd: pytest.CaptureFixture[str]) -> None:
    user = ("security.protocol=SASL_PLAINTEXT", "sasl.mechanism=PLAIN", "sasl.username=me", "sasl.password=hidden")
    with SaslCluster(brokers=1, groups={"orders": Group()}, mechanism="PLAIN") as cluster:
        address = str(cluster.brokers[1].endpoint)
        options = {"bootstrap_server": address, "properties": user}
        assert resolve_settings(bootstrap=address, properties=user, environment={}).warnings
        assert find_names("groups", options) == ["orders"]
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
def test_a_completion_waits_only_briefly_for_the_command_of_a_password(home: Path) -> None:
    profiles = home / ".config" / "kafka-groups" / "profiles.toml"
    profiles.parent.mkdir(parents=True)
    user = '"security.protocol" = "SASL_SSL"\n"sasl.mechanism" = "PLAIN"\n"sasl.username" = "me"\ntimeout = "60s"\n'
    profiles.write_text(f'[p]\n"bootstrap.servers" = "b:1"\n{user}"sasl.password.command" = ["sleep", "60"]\n')
    profiles.chmod(0o600)
    started = time.monotonic()
    with pytest.raises(ConfigProviderError, match="took too long"):
        find_names("groups", {"profile": "p"})
    assert time.monotonic() - started < 10


@pytest.mark.slow
def test_names_of_several_profiles_are_joined_with_a_cache_each(cluster: ScriptedCluster, home: Path) -> None:
    path = home / ".config" / "kafka-groups" / "profiles.toml"
    path.parent.mkdir(parents=True)
    with ScriptedCluster(brokers=1, groups={"other": Group()}) as other:
        servers = {"a": cluster.addresses[1], "b": other.addresses[1], "dead": "127.0.0.1:1"}
        path.write_text("".join(f'[{name}]\n"bootstrap.servers" = "{server}"\n' for name, server in servers.items()))
        path.chmod(0o600)
        assert find_names("groups", {"profiles": ("a", "b")}) == sorted([*ALL, "other"])
        assert find_names("groups", {"profiles": ("b",)}) == ["other"]
        assert find_names("groups", {"all_profiles": True}) == sorted([*ALL, "other"])
    assert len(cached(home)) == 2


def test_a_profile_that_fails_hides_no_names_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def find(_kind: str, _options: object, profile: str | None) -> list[str]:
        if profile == "broken":
            raise RuntimeError("no home directory")
        return ALL

    monkeypatch.setattr(cluster_names, "_find_in_cluster", find)
    assert find_names("groups", {"profiles": ("a", "broken")}) == ALL
