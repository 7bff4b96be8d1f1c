"""Maven resolution and download of jars with jgo, in pure Python (no `mvn`); imported only when jars are missing.

The module uses only jgo's Maven layer: its environment layer downloads a Java 11 just to sort jars. Jars are stored
in the local Maven repository of jgo's configuration; `jgo.conf` also sets a mirror.
"""

from __future__ import annotations

import copy
import tempfile
import zipfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import requests
from jgo.config import GlobalSettings
from jgo.constants import MAVEN_CENTRAL_URL
from jgo.maven import POM, Artifact, Component, MavenContext, Project, PythonResolver

from kafka_groups.errors import SandboxError
from kafka_groups.sandbox.artifacts import Artifacts

_RELOAD4J = (("org.slf4j", "slf4j-reload4j", "1.7.36"), ("ch.qos.reload4j", "reload4j", "1.2.26"))
_PARALLEL_DOWNLOADS = 6
_TIMEOUT_S = 30


class _Resolver(PythonResolver):
    """A resolver that stores a file in one step: jgo takes the part that a killed download leaves for the whole."""

    def download(self, artifact: Artifact) -> Path:
        context = copy.copy(artifact.context)
        stored = artifact.cached_path
        assert stored is not None  # the context has a local repository
        stored.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=stored.parent, prefix=".download-") as directory:
            context.repo_cache = Path(directory)
            component = context.project(artifact.groupId, artifact.artifactId).at_version(artifact.version)
            draft = super().download(component.artifact(artifact.classifier, artifact.packaging))
            if draft is None or not _is_intact(draft):
                msg = (
                    f"{artifact.filename} could not be downloaded: the Maven repository returned something else; "
                    "check the network for a login page, or set a mirror in ~/.config/jgo.conf"
                )
                raise SandboxError(msg)
            return draft.replace(stored)


class _Artifact(Artifact):
    """An artifact whose file is downloaded again if it is incomplete."""

    def resolve(self) -> Path:
        stored = self.cached_path
        if stored is not None and stored.exists() and not _is_intact(stored):
            stored.unlink()
        return super().resolve()


class _Component(Component):
    def artifact(self, *arguments: Any, **options: Any) -> Artifact:
        found = super().artifact(*arguments, **options)
        return _Artifact(self, found.classifier, found.packaging)


class _Project(Project):
    def at_version(self, version: str) -> Component:
        return _Component(self, version)


class _Context(MavenContext):
    """A context whose artifacts, also those of dependencies, have the class above."""

    def project(self, groupId: str, artifactId: str) -> Project:  # noqa: N803 - jgo's names
        return _Project(self, groupId, artifactId)


def download(program: Artifacts) -> list[Path]:
    """Return all jars of a program and download those that are missing.

    Raises SandboxError if a jar cannot be resolved, downloaded or stored.
    """
    try:
        artifacts = _resolve(_maven(), program)
        with ThreadPoolExecutor(_PARALLEL_DOWNLOADS) as pool:
            return list(pool.map(lambda artifact: artifact.resolve(), artifacts))
    except requests.RequestException as error:
        msg = (
            f"no Maven repository could be reached for the jars of {program.name} {program.version} "
            f"({type(error).__name__}); check the network, or set a mirror in ~/.config/jgo.conf"
        )
        raise SandboxError(msg) from error
    except (RuntimeError, ValueError, AssertionError, SyntaxError) as error:
        # jgo has no errors of its own; ElementTree's ParseError is a SyntaxError.
        first_line = (str(error).splitlines() or [type(error).__name__])[0]
        reason = first_line.partition(" in remote repositories")[0]
        msg = (
            f"the jars of {program.name} {program.version} could not be resolved ({reason}); "
            "check that this version is a release"
        )
        raise SandboxError(msg) from error
    except OSError as error:
        msg = (
            f"the jars of {program.name} {program.version} could not be stored: {error}; "
            "check the free space and the permissions"
        )
        raise SandboxError(msg) from error


def _maven() -> MavenContext:
    settings = GlobalSettings.load()
    if ":" in str(settings.repo_cache.absolute()):
        msg = (
            f"Java cannot use jars in the local Maven repository {settings.repo_cache}: a colon in the path separates "
            "two paths; set the variable M2_REPO to a directory without one"
        )
        raise SandboxError(msg)
    return _Context(
        resolver=_Resolver(),
        repo_cache=settings.repo_cache,
        remote_repos={"central": MAVEN_CENTRAL_URL, **settings.repositories},
        timeout=_TIMEOUT_S,
    )


def _resolve(context: MavenContext, program: Artifacts) -> list[Artifact]:
    excluded = [context.project(group, artifact) for group, artifact in program.excluded]
    dependencies = [context.create_dependency(name, excluded) for name in program.coordinates]
    inputs, transitive = context.resolver.resolve(dependencies)
    artifacts = [dependency.artifact for dependency in inputs]
    artifacts += [d.artifact for d in transitive if d.scope in {"compile", "runtime"}]
    return artifacts + _logging_artifacts(context, artifacts)


def _logging_artifacts(context: MavenContext, artifacts: Sequence[Artifact]) -> list[Artifact]:
    """Return the artifacts that connect Kafka's log calls (SLF4J 1.7) with a log file; Kafka depends on none."""
    versions = {artifact.artifactId: artifact.version for artifact in artifacts}
    bindings: tuple[tuple[str, str, str], ...] = _RELOAD4J
    if "log4j-core" in versions:
        bindings = (("org.apache.logging.log4j", "log4j-slf4j-impl", versions["log4j-core"]),)
    return [
        context.project(group, name).at_version(version).artifact()
        for group, name, version in bindings
        if name not in versions
    ]


def _is_intact(path: Path) -> bool:
    """Return whether a file is a whole archive, or a whole POM by its suffix."""
    if path.suffix != ".pom":
        return zipfile.is_zipfile(path)
    try:
        POM(path)
    except SyntaxError:  # ElementTree's ParseError is one
        return False
    return True
