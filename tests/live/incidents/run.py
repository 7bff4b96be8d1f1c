"""A run of many incidents at once on one cluster: one `why` looks at the groups of all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from tests.live.incidents.stage import HealthyGroup, Incident, Stage
from tests.live.incidents.traffic import Traffic

_DIRECTORY: Final = Path(__file__).parent
# One after the other they would take ten minutes, and all at once overload two cores.
_AT_ONCE: Final = 4
_NO_BROKERS: Final[Mapping[int, int]] = MappingProxyType({})


class Verdict(NamedTuple):
    """What `why` found about a group: the causes of its findings in their order, and those that are trouble."""

    name: str
    causes: tuple[str, ...]
    troubles: tuple[str, ...]
    document: Mapping[str, Any]


def load_incidents() -> dict[str, Incident]:
    """Return all incidents by the names of their modules."""
    return {name: module.INCIDENT for name, module in _load("troubles")}


def load_decoys() -> dict[str, Incident]:
    """Return the incidents with something harmless or different beside them, by the names of their modules."""
    return {name: module.INCIDENT for name, module in _load("decoys")}


def load_healthy_groups() -> dict[str, HealthyGroup]:
    """Return all healthy groups by the names of their modules."""
    return {name: module.HEALTHY for name, module in _load("healthy")}


def look_at(
    bootstrap: str, scripts: Mapping[str, Incident | HealthyGroup], seed: int, brokers: Mapping[int, int] = _NO_BROKERS
) -> list[Verdict]:
    """Bring all incidents about, look once, and return what was found of each, in the order of the scripts.

    `brokers` are the processes of brokers that incidents may stop, by the ids of the brokers.
    """
    with _prepare(bootstrap, scripts, seed, brokers) as stages:
        groups = {stage.group: name for name, stage in stages.items()}
        for stage in stages.values():
            stage.begin()
        document = _run_why(bootstrap, [*groups])
    found = {groups[each["group"]]: each for each in document["groups"]}
    missing: dict[str, Any] = {"findings": []}
    return [_verdict(name, found.get(name, missing)) for name in scripts]


@contextmanager
def _prepare(
    bootstrap: str, scripts: Mapping[str, Incident | HealthyGroup], seed: int, brokers: Mapping[int, int]
) -> Iterator[dict[str, Stage]]:
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        traffic = Traffic(bootstrap)
        stack.callback(traffic.close)
        stages = {}
        for name in scripts:
            stages[name] = Stage(bootstrap, f"{name.replace('_', '-')}-{seed}-{os.getpid()}", traffic, seed, directory)
            stages[name].brokers = brokers
            stack.callback(stages[name].close)
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            started = [pool.submit(_script_of(script), stages[name]) for name, script in scripts.items()]
        for each in started:
            each.result()
        yield stages


def _script_of(script: Incident | HealthyGroup) -> Any:
    return script.inject if isinstance(script, Incident) else script.start


def _run_why(bootstrap: str, groups: Sequence[str]) -> Mapping[str, Any]:
    command = [sys.executable, "-m", "kafka_groups", "why", *groups, "-b", bootstrap, "--format", "json"]
    completed = subprocess.run(command, capture_output=True, text=True, check=False, timeout=180)
    document: Mapping[str, Any] = json.loads(completed.stdout)
    return document


def _verdict(name: str, group: Mapping[str, Any]) -> Verdict:
    findings = group["findings"]
    troubles = tuple(each["cause"] for each in findings if each["kind"] == "trouble")
    return Verdict(name, tuple(each["cause"] for each in findings), troubles, group)


def _load(package: str) -> Iterator[tuple[str, Any]]:
    for module in iter_modules([str(_DIRECTORY / package)]):
        yield module.name, import_module(f"tests.live.incidents.{package}.{module.name}")
