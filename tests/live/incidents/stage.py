"""What an incident uses: its own topics and group, applications that read them, and traffic."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from confluent_kafka import Consumer, ConsumerGroupState, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions, NewTopic

from tests.live.incidents.traffic import Traffic

T = TypeVar("T")
_APPLICATION: Final = Path(__file__).with_name("application.py")
_SHARE_APPLICATION: Final = Path(__file__).with_name("share_application.py")
_TIMEOUT_S: Final = 60.0
_RESTART_S: Final = 0.3


class Stage:
    """One incident on a cluster. `group` is its group, `topic` its first topic, `random` the numbers of its variant.

    `directory` is for the files of real applications, and does not exist yet. `brokers` are the brokers' processes, if
    the incident may stop one.
    What is given to `later` happens that many seconds after the command has begun to look.
    """

    def __init__(self, bootstrap: str, name: str, traffic: Traffic, seed: int, directory: Path) -> None:
        self.bootstrap = bootstrap
        self.directory = directory / name
        self.group = name
        self.topic = f"{name}-topic"
        self.traffic = traffic
        self.random = random.Random(f"{name} {seed}")
        self.admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
        self.brokers: Mapping[int, int] = {}
        self._processes: list[subprocess.Popen[bytes]] = []
        self._later: list[tuple[float, Callable[[], object]]] = []
        self._is_ended = threading.Event()
        self._threads: list[threading.Thread] = []
        self._kept: list[object] = []
        self._contexts = ExitStack()

    def make_topic(self, partitions: int, *, topic: str = "", leaders: Sequence[int] = ()) -> str:
        """Create a topic, the group's own one without a name, and return its name.

        `leaders` are the brokers of all its partitions in turn.
        """
        name = topic or self.topic
        new = NewTopic(name, partitions, replication_factor=1)
        if leaders:
            replicas = [[leaders[number % len(leaders)]] for number in range(partitions)]
            new = NewTopic(name, partitions, replica_assignment=replicas)
        self._await(lambda: self._create(new))
        self._await(lambda: len(self._partitions(name)) == partitions)
        return name

    def delete_topic(self, topic: str = "") -> None:
        """Delete a topic, and wait until it is gone."""
        name = topic or self.topic
        self.admin.delete_topics([name])[name].result(timeout=_TIMEOUT_S)
        self._await(lambda: not self._partitions(name))

    def add_partitions(self, total: int) -> None:
        """Give the topic more partitions."""
        self.admin.create_partitions([NewPartitions(self.topic, total)])[self.topic].result(timeout=_TIMEOUT_S)

    def produce(self, rates: Mapping[int, float], *, topic: str = "") -> None:
        """Write to partitions at these rates, in records a second."""
        for partition, rate in rates.items():
            self.traffic.set_rate(topic or self.topic, partition, rate)

    def start_application(self, **options: float | str | bool) -> subprocess.Popen[bytes]:
        """Start an application that reads the group's topic; `application.py` has the options."""
        return self._start_process(_APPLICATION, options)

    def start_share_application(self, **options: float | str | bool) -> subprocess.Popen[bytes]:
        """Start a member of a share group; `share_application.py` has the options."""
        return self._start_process(_SHARE_APPLICATION, options)

    def commit(self, offsets: Mapping[int, int], *, topic: str = "") -> None:
        """Commit offsets as a group without members."""
        consumer = Consumer({"bootstrap.servers": self.bootstrap, "group.id": self.group, "log_level": 0})
        commits = [TopicPartition(topic or self.topic, partition, offset) for partition, offset in offsets.items()]
        try:
            consumer.commit(offsets=commits, asynchronous=False)
        finally:
            consumer.close()

    def await_commits(self, partitions: int, *, topic: str = "") -> None:
        """Wait until the group has committed on this number of partitions."""
        self._await(lambda: len(self.committed(topic=topic)) >= partitions)

    def committed(self, *, topic: str = "") -> dict[int, int]:
        """Return the committed offset of each partition that has one."""
        name = topic or self.topic
        consumer = Consumer({"bootstrap.servers": self.bootstrap, "group.id": self.group, "log_level": 0})
        try:
            asked = [TopicPartition(name, partition) for partition in self._partitions(name)]
            return {each.partition: each.offset for each in consumer.committed(asked, timeout=10) if each.offset >= 0}
        finally:
            consumer.close()

    def log_end(self, partition: int) -> int:
        """Return the log end offset of a partition of the group's topic."""
        consumer = Consumer({"bootstrap.servers": self.bootstrap, "group.id": f"{self.group}-ends", "log_level": 0})
        try:
            return int(consumer.get_watermark_offsets(TopicPartition(self.topic, partition), timeout=10)[1])
        finally:
            consumer.close()

    def await_assignment(self, members: int) -> None:
        """Wait until the group is Stable with this number of members."""

        def is_stable() -> bool:
            described = self.admin.describe_consumer_groups([self.group])[self.group].result(timeout=10)
            return described.state is ConsumerGroupState.STABLE and len(described.members) == members

        self._await(is_stable)

    def freeze_broker(self, number: int) -> None:
        """Stop a broker with SIGSTOP until the incident ends."""
        os.kill(self.brokers[number], signal.SIGSTOP)
        self._contexts.callback(os.kill, self.brokers[number], signal.SIGCONT)

    def delete_records(self, before: Mapping[int, int]) -> None:
        """Delete the records of the group's topic below these offsets."""
        offsets = [TopicPartition(self.topic, partition, offset) for partition, offset in before.items()]
        for future in self.admin.delete_records(offsets).values():
            future.result(timeout=_TIMEOUT_S)

    def keep_running(self, start: Callable[[], subprocess.Popen[bytes]]) -> None:
        """Start an application, and start it again whenever it has ended."""
        running = start()

        def restart() -> None:
            nonlocal running
            if running.poll() is not None:
                running = start()

        self.repeat(_RESTART_S, restart)

    def enter(self, context: AbstractContextManager[T]) -> T:
        """Enter a context, which ends with the incident."""
        return self._contexts.enter_context(context)

    def keep(self, thing: object) -> None:
        """Keep an object, such as the producer of an open transaction, until the incident ends."""
        self._kept.append(thing)

    def sleep(self, duration_s: float) -> None:
        """Wait, or until the incident ends."""
        self._is_ended.wait(duration_s)

    def later(self, after_s: float, action: Callable[[], object]) -> None:
        """Let something happen some seconds after the command has begun to look."""
        self._later.append((after_s, action))

    def repeat(self, every_s: float, action: Callable[[], object]) -> None:
        """Let something happen again and again from now on, until the incident ends."""

        def run() -> None:
            while not self._is_ended.wait(every_s):
                with contextlib.suppress(Exception):  # a broker that restarts ends no incident
                    action()

        self._start(run)

    def begin(self) -> None:
        """Start the clock of `later`: the command begins to look."""
        for after_s, action in self._later:
            self._start(partial(self._act, after_s, action))

    def close(self) -> None:
        """End applications, threads and traffic; topics and the group stay, as the cluster ends with the run."""
        self._is_ended.set()
        self.traffic.end(self.topic)
        for thread in self._threads:
            thread.join(_TIMEOUT_S)
        for process in self._processes:
            end(process)
        self._contexts.close()

    def _start_process(self, script: Path, options: dict[str, float | str | bool]) -> subprocess.Popen[bytes]:
        topics = str(options.pop("topics", self.topic))
        words = [word for name, value in options.items() for word in _option(name, value)]
        command = [sys.executable, str(script), self.bootstrap, self.group, topics, *words]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self._processes.append(process)
        return process

    def _act(self, after_s: float, action: Callable[[], object]) -> None:
        if not self._is_ended.wait(after_s):
            action()

    def _start(self, run: Callable[[], object]) -> None:
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        self._threads.append(thread)

    def _create(self, topic: NewTopic) -> bool:
        """Create a topic; return False if a broker that was stopped before is not in the cluster again yet."""
        try:
            self.admin.create_topics([topic])[topic.topic].result(timeout=_TIMEOUT_S)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.INVALID_REPLICA_ASSIGNMENT:
                raise
            return False
        return True

    def _partitions(self, topic: str) -> list[int]:
        found = self.admin.list_topics(timeout=10).topics.get(topic)
        return sorted(found.partitions) if found is not None and found.error is None else []

    def _await(self, holds: Callable[[], bool]) -> None:
        until = time.monotonic() + _TIMEOUT_S
        while not holds():
            if time.monotonic() > until:
                msg = f"{self.group} was not ready in {_TIMEOUT_S} s"
                raise TimeoutError(msg)
            time.sleep(0.2)


class Incident(NamedTuple):
    """An incident: the cause that `why` should name first, and the script that brings it about.

    `is_exact` if the evidence admits no other cause: then it has to be found each time. One that `stops_broker` needs
    a cluster of three brokers, whose groups have their commits on one broker alone, and no incident beside it.
    """

    cause: str
    inject: Callable[[Stage], None]
    is_exact: bool = False
    stops_broker: bool = False


class HealthyGroup(NamedTuple):
    """A group that has no trouble, and the script that starts it."""

    name: str
    start: Callable[[Stage], None]


def freeze(process: subprocess.Popen[bytes]) -> None:
    """Stop a process with SIGSTOP: it neither runs nor ends."""
    os.kill(process.pid, signal.SIGSTOP)


def kill(process: subprocess.Popen[bytes]) -> None:
    """End a process at once: it does not leave its group."""
    process.kill()
    process.wait()


def leave(process: subprocess.Popen[bytes]) -> None:
    """Let an application commit, leave its group and end."""
    process.terminate()
    process.wait(_TIMEOUT_S)


def end(process: subprocess.Popen[bytes]) -> None:
    """End a process that may be frozen."""
    if process.poll() is None:
        os.kill(process.pid, signal.SIGCONT)
        kill(process)


def _option(name: str, value: float | str | bool) -> list[str]:
    option = f"--{name.replace('_', '-')}"
    return [option] if value is True else [option, str(value)]
