"""Real workers of distributed Kafka Connect, with file connectors and their REST interface."""

from __future__ import annotations

import json
import urllib.request
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from kafka_groups.sandbox.applications import CONNECT_WORKER, connect_properties, sink_config, source_config
from kafka_groups.sandbox.artifacts import connect_artifacts
from kafka_groups.sandbox.kafka import find_program
from kafka_groups.sandbox.ports import HOST, free_ports
from kafka_groups.sandbox.versions import parse_version
from tests.live.groups.applications import Instances
from tests.live.groups.conditions import await_state, wait_until
from tests.live.groups.topics import unique_name

_REST_TIMEOUT_S = 10
_TIMEOUT_S = 60
_BAD_REQUEST = 400
_SINK, _SINK_TASKS = "archive", 2
# The number of a connector itself among its tasks, as in Connect's protocol.
CONNECTOR = -1


@dataclass(kw_only=True)
class ConnectWorkers:
    """Workers of one group, by number, and the ports of their REST interfaces.

    `settings` are those of the workers that differ from the sandbox's.
    """

    bootstrap: str
    group: str
    instances: Instances
    ports: Mapping[int, int]
    settings: Mapping[str, str] = field(default_factory=dict)
    _tasks: dict[str, int] = field(default_factory=dict, init=False)

    @property
    def sink_group(self) -> str:
        """The group of the consumers of the sink's tasks."""
        return f"connect-{self.group}-{_SINK}"

    def url(self, number: int) -> str:
        """Return the URL of a worker as its group's members report it."""
        return f"http://{HOST}:{self.ports[number]}/"

    def start(self, number: int) -> None:
        """Start a worker."""
        settings = connect_properties(self.bootstrap, self.group, number, port=self.ports[number])
        self.instances.start(number, {**settings, **self.settings})

    def stop(self, number: int) -> None:
        """Shut a worker down cleanly: it leaves the group, and its tasks are given to others after 3 s."""
        self.instances.stop(number)

    def create(self, connector: str, config: Mapping[str, str]) -> None:
        """Create a connector, or change it."""
        self._tasks[connector] = int(config["tasks.max"])
        body = json.dumps(config).encode()
        wait_until(
            lambda: self._request("PUT", f"connectors/{connector}/config", body) is not None,
            self.instances.last_lines,
            timeout_s=_TIMEOUT_S,
        )

    def status(self) -> dict[str, Any]:
        """Return the status of each connector with those of its tasks, as REST returns it; empty during a rebalance."""
        found = self._request("GET", "connectors?expand=status") or {}
        return {connector: document["status"] for connector, document in found.items()}

    def running(self) -> dict[str, set[tuple[str, int]]]:
        """Return what each worker runs, by worker ID `host:port`: connectors and the numbers of tasks."""
        found: dict[str, set[tuple[str, int]]] = {}
        for connector, status in self.status().items():
            rows = [(CONNECTOR, status["connector"]), *((task["id"], task) for task in status["tasks"])]
            for number, row in rows:
                if row["state"] == "RUNNING":
                    found.setdefault(row["worker_id"], set()).add((connector, number))
        return found

    def await_balanced(self) -> None:
        """Return when the live workers run all connectors and tasks, in numbers that differ by at most one.

        The consumers of the sink are then in a Stable group.
        """
        wait_until(self._is_balanced, lambda: f"{self.status()}\n{self.instances.last_lines()}", timeout_s=_TIMEOUT_S)
        await_state(self.bootstrap, self.sink_group, "Stable", members=_SINK_TASKS)

    def await_available(self) -> None:
        """Return when each live worker is in the group."""
        for number in self.instances.running():
            wait_until(
                lambda number=number: self._request("GET", "connectors", number=number) is not None,  # type: ignore[misc]
                self.instances.last_lines,
                timeout_s=_TIMEOUT_S,
            )

    def _is_balanced(self) -> bool:
        running = self.running()
        alive = {f"{HOST}:{self.ports[number]}" for number in self.instances.running()}
        if running.keys() != alive or set().union(*running.values()) != self._expected():
            return False
        tasks = Counter({worker: sum(task != CONNECTOR for _, task in rows) for worker, rows in running.items()})
        return max(tasks.values()) - min(tasks.values()) <= 1

    def _expected(self) -> set[tuple[str, int]]:
        return {(connector, task) for connector, tasks in self._tasks.items() for task in range(CONNECTOR, tasks)}

    def _request(self, method: str, path: str, body: bytes | None = None, *, number: int | None = None) -> Any:
        """Return the document of a response, or None if the worker is not ready or a rebalance is under way."""
        url = self.url(number or self.instances.running()[0]) + path
        request = urllib.request.Request(url, data=body, method=method, headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=_REST_TIMEOUT_S) as response:
                return json.load(response)
        except OSError as error:  # also those of urllib and timeouts
            if getattr(error, "code", None) == _BAD_REQUEST:
                raise
            return None


@contextmanager
def connect_pair(
    bootstrap: str,
    directory: Path,
    *,
    version: str,
    topic: str,
    name: str | None = None,
    settings: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[ConnectWorkers]:
    """Yield two balanced workers with two sources of one task each, and a sink with two tasks.

    The sources write lines of files to the topic, which the sink reads.
    """
    group = name or unique_name("connect")
    kafka = find_program(connect_artifacts(parse_version(version)), report=lambda _: None)
    ports = dict(enumerate(free_ports(2), start=1))
    instances = Instances(kafka=kafka, main=CONNECT_WORKER, directory=directory)
    workers = ConnectWorkers(bootstrap=bootstrap, group=group, instances=instances, ports=ports, settings=settings)
    try:
        for number in ports:
            workers.start(number)
        workers.await_available()
        _create_connectors(workers, directory, topic)
        workers.await_balanced()
        yield workers
    finally:
        instances.stop_all()


def _create_connectors(workers: ConnectWorkers, directory: Path, topic: str) -> None:
    for stem in ("orders", "prices"):
        file = directory / f"{stem}.txt"
        file.write_text("".join(f"{stem} {number}\n" for number in range(20)))
        workers.create(f"{workers.group}-{stem}", source_config(file, topic))
    workers.create(f"{workers.group}-{_SINK}", sink_config(directory / "archive.txt", topic, tasks=_SINK_TASKS))
