"""The jars of Spark's own Kafka connector, for comparison only: nothing of the product uses them."""

from __future__ import annotations

from typing import Final

# The connector's own dependency list cannot be resolved everywhere (its token provider has no release of this line
# in every repository), so each jar is named. What runs here is what ran together when this was written.
_COORDINATES: Final = (
    ("org.apache.spark", "spark-sql-kafka-0-10_2.13", "4.2.0"),
    ("org.apache.spark", "spark-token-provider-kafka-0-10_2.13", "4.1.0-preview1"),
    ("org.apache.kafka", "kafka-clients", "3.9.2"),
    ("org.apache.commons", "commons-pool2", "2.12.1"),
)
_TIMEOUT_S: Final = 30


def connector_jars() -> list[str]:
    """The jars, fetched into the local Maven repository; RuntimeError, in a sentence, if one cannot be had."""
    import requests
    from jgo.config import GlobalSettings
    from jgo.constants import MAVEN_CENTRAL_URL
    from jgo.maven import MavenContext, PythonResolver

    settings = GlobalSettings.load()
    context = MavenContext(
        resolver=PythonResolver(),
        repo_cache=settings.repo_cache,
        remote_repos={"central": MAVEN_CENTRAL_URL, **settings.repositories},
        timeout=_TIMEOUT_S,
    )
    try:
        return [
            str(context.project(group, name).at_version(version).artifact().resolve())
            for group, name, version in _COORDINATES
        ]
    except (requests.RequestException, RuntimeError) as error:
        msg = f"the connector's jars cannot be had: {str(error).splitlines()[0]}"
        raise RuntimeError(msg) from error
