"""All causes, in the order of their tests. Each module of this package has one cause, as CAUSE.

A new cause is a new module: nothing else names it.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import Final

from kafka_groups.causes.cause import Cause


def _load_causes() -> tuple[Cause, ...]:
    modules = [import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__)]
    causes: list[Cause] = [module.CAUSE for module in modules]
    return tuple(sorted(causes, key=lambda cause: (cause.order, cause.place, cause.name)))


CAUSES: Final[tuple[Cause, ...]] = _load_causes()
