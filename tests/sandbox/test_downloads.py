"""Jars are resolved and downloaded from a Maven repository, here one on this machine."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from kafka_groups.errors import SandboxError
from kafka_groups.sandbox.artifacts import broker_artifacts
from kafka_groups.sandbox.downloads import download
from kafka_groups.sandbox.processes import wait_until
from kafka_groups.sandbox.versions import parse_version

KAFKA = broker_artifacts(parse_version("4.3.1"))
JARS = {
    "org/apache/kafka/kafka_2.13/4.3.1/kafka_2.13-4.3.1.jar",
    "org/apache/kafka/kafka-tools/4.3.1/kafka-tools-4.3.1.jar",
    "org/apache/kafka/kafka-clients/4.3.1/kafka-clients-4.3.1.jar",
    "org/slf4j/slf4j-reload4j/1.7.36/slf4j-reload4j-1.7.36.jar",
    "ch/qos/reload4j/reload4j/1.2.26/reload4j-1.2.26.jar",
}
POM = """<project><modelVersion>4.0.0</modelVersion>
<groupId>org.apache.kafka</groupId><artifactId>{name}</artifactId><version>4.3.1</version>
<description>{filler}</description><dependencies>{dependencies}</dependencies></project>
"""
CLIENTS = """<dependency><groupId>org.apache.kafka</groupId><artifactId>kafka-clients</artifactId>
<version>4.3.1</version><scope>compile</scope></dependency>"""
DOWNLOAD = """
from kafka_groups.sandbox.artifacts import broker_artifacts
from kafka_groups.sandbox.downloads import download
from kafka_groups.sandbox.versions import parse_version
download(broker_artifacts(parse_version("4.3.1")))
"""
KAFKA_POM = "org/apache/kafka/kafka_2.13/4.3.1/kafka_2.13-4.3.1.pom"


class Remote:
    """A remote Maven repository; the file `half_sent` is sent by half, and the rest only once `resumed` is set."""

    def __init__(self, files: Path) -> None:
        self.files = files
        self.half_sent = ""
        self.resumed = threading.Event()
        self.requests = 0
        for path in JARS:
            (files / path).parent.mkdir(parents=True)
            with zipfile.ZipFile(files / path, "w") as jar:
                jar.writestr("x", "x" * 50_000)
        for name in ("kafka_2.13", "kafka-tools", "kafka-clients"):
            dependencies = "" if name == "kafka-clients" else CLIENTS
            text = POM.format(name=name, filler="x" * 50_000, dependencies=dependencies)
            (files / f"org/apache/kafka/{name}/4.3.1/{name}-4.3.1.pom").write_text(text)


class _Handler(SimpleHTTPRequestHandler):
    def __init__(self, *arguments: Any, remote: Remote) -> None:
        self.remote = remote
        super().__init__(*arguments, directory=str(remote.files))

    def do_GET(self) -> None:
        self.remote.requests += 1
        if not self.remote.half_sent or self.path.lstrip("/") != self.remote.half_sent:
            super().do_GET()
            return
        content = (self.remote.files / self.remote.half_sent).read_bytes()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[: len(content) // 2])
        self.wfile.flush()
        self.remote.resumed.wait(20)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture
def remote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Remote]:
    remote = Remote(tmp_path / "remote")
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, remote=remote)) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        settings = tmp_path / "jgo.conf"
        settings.write_text(
            f"[settings]\nrepo_cache = {tmp_path / 'm2'}\n"
            f"[repositories]\ncentral = http://127.0.0.1:{server.server_port}\n"
        )
        monkeypatch.setenv("JGO_CONFIG_FILE", str(settings))
        monkeypatch.delenv("M2_REPO", raising=False)
        try:
            yield remote
        finally:
            remote.resumed.set()
            server.shutdown()
            thread.join()


@pytest.fixture
def local(tmp_path: Path) -> Path:
    """Return the local Maven repository."""
    return tmp_path / "m2"


def _files(local: Path) -> set[str]:
    return {str(path.relative_to(local)) for path in local.rglob("*") if path.is_file()}


def _is_begun(local: Path, name: str) -> bool:
    # Directories of other downloads vanish while this one looks for its file.
    with contextlib.suppress(FileNotFoundError):
        return any(path.stat().st_size for path in local.rglob(name))
    return False


@pytest.mark.usefixtures("remote")
def test_the_jars_of_kafka_its_tools_and_their_dependencies_are_downloaded(local: Path) -> None:
    jars = download(KAFKA)

    assert {str(jar.relative_to(local)) for jar in jars} == JARS


def test_a_local_repository_that_java_would_read_as_two_paths_is_refused_before_a_download(
    remote: Remote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("M2_REPO", str(tmp_path / "a:b"))

    with pytest.raises(SandboxError, match=r"a:b: a colon in the path .* set the variable M2_REPO"):
        download(KAFKA)

    assert remote.requests == 0
    assert not (tmp_path / "a:b").exists()


@pytest.mark.parametrize("damaged", [KAFKA_POM, KAFKA_POM.replace(".pom", ".jar")])
def test_an_incomplete_file_in_the_local_repository_is_downloaded_again(
    remote: Remote, local: Path, damaged: str
) -> None:
    download(KAFKA)
    whole = (local / damaged).read_bytes()
    assert whole == (remote.files / damaged).read_bytes()
    for size in (0, len(whole) // 2):
        (local / damaged).write_bytes(whole[:size])

        download(KAFKA)

        assert (local / damaged).read_bytes() == whole


@pytest.mark.parametrize("file", [KAFKA_POM, KAFKA_POM.replace(".pom", ".jar")])
def test_a_killed_download_leaves_no_incomplete_file(remote: Remote, local: Path, file: str) -> None:
    remote.half_sent = file
    with subprocess.Popen([sys.executable, "-c", DOWNLOAD]) as process:
        try:
            is_half_stored = wait_until(lambda: _is_begun(local, Path(file).name), timeout_s=30)
        finally:
            process.kill()
    assert is_half_stored
    remote.half_sent = ""

    assert file not in _files(local)
    assert len(download(KAFKA)) == len(JARS)


def test_a_file_that_is_not_a_jar_is_not_stored(remote: Remote, local: Path) -> None:
    jar = KAFKA_POM.replace(".pom", ".jar")
    (remote.files / jar).write_text("<html>Log in to the network</html>")

    with pytest.raises(SandboxError, match=r"kafka_2\.13-4\.3\.1\.jar could not be downloaded: .* something else"):
        download(KAFKA)

    assert not [path for path in _files(local) if path.endswith("kafka_2.13-4.3.1.jar")]
