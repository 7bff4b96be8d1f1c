"""Mocks of the operations of `GroupAdmin`, each with the operation's signature and made when it is first used.

An autospec of the whole class takes longer than most of the commands that use it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import isfunction
from typing import Any, Final, Self
from unittest.mock import NonCallableMock, create_autospec

from kafka_groups.admin import GroupAdmin

# Its methods are bound, so their signatures are those that callers see.
_SPEC: Final[Any] = GroupAdmin.__new__(GroupAdmin)


class MockAdmin:
    """A client whose operations are mocks. `effects` maps their names to what they do; no name may be unknown."""

    bootstrap_servers = ("b1:9092",)
    cluster_id_of_results: str | None = "fake"

    def __init__(self, effects: Mapping[str, Callable[..., Any]]) -> None:
        unknown = [name for name in effects if not hasattr(GroupAdmin, name)]
        assert not unknown, f"GroupAdmin has no {', '.join(unknown)}"
        self._effects = effects
        self._parent = NonCallableMock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        return

    def known_cluster_id(self) -> str | None:
        """Return the id of the cluster. It is no operation, because it sends nothing."""
        return self.cluster_id_of_results

    def __getattr__(self, name: str) -> Any:
        """Return the mock of a method that has none yet."""
        if not isfunction(getattr(GroupAdmin, name, None)):
            raise AttributeError(name)
        operation = create_autospec(getattr(_SPEC, name), side_effect=self._effects.get(name))
        self._parent.attach_mock(operation, name)
        setattr(self, name, operation)
        return operation

    @property
    def method_calls(self) -> list[Any]:
        """Return the calls of all operations in their order; the first item of a call is the operation's name."""
        return self._parent.method_calls

    def reset_mock(self) -> None:
        """Forget the calls of all operations."""
        for name in self._effects:
            getattr(self, name).reset_mock()
        self._parent.mock_calls.clear()
        self._parent.method_calls.clear()


def mock_class(admin: MockAdmin) -> Any:
    """Return a mock of the class `GroupAdmin` whose instance is this one."""
    return create_autospec(_SPEC.__init__, side_effect=lambda *_, **__: admin)
