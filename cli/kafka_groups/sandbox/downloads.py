"""Resolving and downloading with jgo, in pure Python (no `mvn`); imported only when jars are missing.

Only jgo's Maven layer is used: its environment layer fetches a Java 11 just to sort jars. Jars land
in the local Maven repository that jgo is configured with; `jgo.conf` is also where a mirror is set.
"""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import requests
from jgo.config import GlobalSettings
from jgo.constants import MAVEN_CENTRAL_URL
from jgo.maven import Artifact, MavenContext, PythonResolver

from kafka_groups.errors import SandboxError
from kafka_groups.sandbox.versions import KafkaVersion

# The tools drag in Kafka Connect with a web server, and a validator's helpers that nothing calls:
# without them the first start fetches 45 MB in 20 s instead of 56 MB in 48 s.
_NOT_NEEDED = (
    ("org.apache.kafka", "connect-runtime"),
    ("com.fasterxml.jackson.jakarta.rs", "jackson-jakarta-rs-json-provider"),
    ("commons-beanutils", "commons-beanutils"),
    ("commons-digester", "commons-digester"),
    ("commons-logging", "commons-logging"),
    ("commons-collections", "commons-collections"),
)
_RELOAD4J = (("org.slf4j", "slf4j-reload4j", "1.7.36"), ("ch.qos.reload4j", "reload4j", "1.2.26"))
_AT_ONCE = 6
_TIMEOUT_S = 30


class _TidyResolver(PythonResolver):
    """Leaves no half file behind: jgo would take it for the whole one the next time."""

    def download(self, artifact: Artifact) -> Path | None:
        try:
            return super().download(artifact)
        except BaseException:
            if artifact.cached_path is not None:
                artifact.cached_path.unlink(missing_ok=True)
            raise


def download(kafka: KafkaVersion) -> list[Path]:
    """Return all jars of a Kafka, fetched where needed; SandboxError if that cannot be done."""
    try:
        artifacts = _resolve(_maven(), kafka)
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            return list(pool.map(_fetch_jar, artifacts))
    except requests.RequestException as error:
        msg = (
            f"no Maven repository could be reached for the jars of Kafka {kafka} "
            f"({type(error).__name__}); check the network, or set a mirror in ~/.config/jgo.conf"
        )
        raise SandboxError(msg) from error
    except (RuntimeError, ValueError, AssertionError, SyntaxError) as error:
        # jgo has no errors of its own; ElementTree's ParseError is a SyntaxError.
        first_line = (str(error).splitlines() or [type(error).__name__])[0]
        reason = first_line.partition(" in remote repositories")[0]
        msg = f"the jars of Kafka {kafka} could not be resolved ({reason}); is it a release?"
        raise SandboxError(msg) from error
    except OSError as error:
        msg = f"the jars of Kafka {kafka} could not be stored: {error}"
        raise SandboxError(msg) from error


def _maven() -> MavenContext:
    settings = GlobalSettings.load()
    return MavenContext(
        resolver=_TidyResolver(),
        repo_cache=settings.repo_cache,
        remote_repos={"central": MAVEN_CENTRAL_URL, **settings.repositories},
        timeout=_TIMEOUT_S,
    )


def _resolve(context: MavenContext, kafka: KafkaVersion) -> list[Artifact]:
    unwanted = [context.project(group, artifact) for group, artifact in _NOT_NEEDED]
    wanted = [context.create_dependency(name, unwanted) for name in kafka.coordinates]
    inputs, transitive = context.resolver.resolve(wanted)
    artifacts = [dependency.artifact for dependency in inputs]
    artifacts += [d.artifact for d in transitive if d.scope in {"compile", "runtime"}]
    return artifacts + _logging(context, artifacts)


def _logging(context: MavenContext, artifacts: Sequence[Artifact]) -> list[Artifact]:
    """Name what connects Kafka's log calls (SLF4J 1.7) with a log file; Kafka leaves that open."""
    versions = {artifact.artifactId: artifact.version for artifact in artifacts}
    bindings: tuple[tuple[str, str, str], ...] = _RELOAD4J
    if "log4j-core" in versions:
        bindings = (("org.apache.logging.log4j", "log4j-slf4j-impl", versions["log4j-core"]),)
    return [
        context.project(group, name).at_version(version).artifact()
        for group, name, version in bindings
        if name not in versions
    ]


def _fetch_jar(artifact: Artifact) -> Path:
    jar = artifact.resolve()
    if not zipfile.is_zipfile(jar):  # a download that was killed stays where it is
        jar.unlink()
        jar = artifact.resolve()
    return jar
