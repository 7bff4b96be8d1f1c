"""What is asked, of how many groups, over which line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from .contenders import KAFKAS, Contender, Digest, describing, listing
from .fill import expected_ids, expected_rows
from .measure import Measured, Run, interleave, run_checked
from .proxied import proxy_before, round_trip_ms

ROUND_TRIP_MS: Final = 20
LIST: Final = "list"
DESCRIBE: Final = "describe --all-groups"
_FEW: Final = 1_000


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """One table of the report. `left_out` are contenders that would take too long."""

    question: str
    groups: int
    delayed: bool = False
    left_out: frozenset[str] = frozenset()
    uncounted: frozenset[str] = frozenset()

    def contenders(self) -> list[Contender]:
        """Who takes part."""
        everyone = listing() if self.question == LIST else describing()
        return [contender for contender in everyone if contender.name not in self.left_out]

    def is_slow_for(self, contender: Contender) -> bool:
        """Whether a run takes minutes rather than seconds."""
        return contender.is_slow and (self.delayed or self.groups > _FEW)

    def expected(self) -> Digest:
        """What a right answer adds up to."""
        return expected_ids(self.groups) if self.question == LIST else expected_rows(self.groups)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """A scenario with what was measured; the round trip is that of the cheapest request, as it was."""

    scenario: Scenario
    round_trip_ms: float
    measured: Sequence[Measured]

    def of(self, name: str) -> Measured | None:
        """One contender's part."""
        return next((each for each in self.measured if each.name == name), None)


@dataclass(frozen=True, kw_only=True)
class Patience:
    """How often contenders run, and who is told what is going on."""

    runs: int
    slow_runs: int
    tell: Callable[[str], None]

    def times(self, scenario: Scenario, contender: Contender) -> int:
        """Runs of one contender."""
        return self.slow_runs if scenario.is_slow_for(contender) else self.runs


def small_scenarios(groups: int) -> list[Scenario]:
    """Everything, on loopback and with a round trip."""
    return [
        Scenario(question=question, groups=groups, delayed=delayed)
        for delayed in (False, True)
        for question in (LIST, DESCRIBE)
    ]


def big_scenarios(groups: int) -> list[Scenario]:
    """The same with more groups; Kafka's tool asks seven times a group, 25 minutes with the round trip."""
    return [
        Scenario(question=LIST, groups=groups),
        Scenario(question=DESCRIBE, groups=groups),
        Scenario(question=DESCRIBE, groups=groups, delayed=True, left_out=frozenset({KAFKAS})),
    ]


def large_scenarios(groups: int) -> list[Scenario]:
    """As many groups as large clusters have. Kafka's tool is not run a second time to count its requests."""
    return [Scenario(question=DESCRIBE, groups=groups, uncounted=frozenset({KAFKAS}))]


def play(scenario: Scenario, bootstrap: str, patience: Patience, *, scratch: Path) -> Outcome:
    """Measure all contenders: their requests through a proxy, and their times without one unless it is to delay."""
    requests: dict[str, Counter[str]] = {}
    expected = scenario.expected()
    contenders = scenario.contenders()
    with proxy_before(bootstrap, delay_ms=ROUND_TRIP_MS if scenario.delayed else 0) as proxy:
        timed_over = proxy.bootstrap if scenario.delayed else bootstrap

        def count(contender: Contender) -> Run:
            patience.tell(f"{contender.name} through the proxy")
            run = run_checked(contender, proxy.bootstrap, expected=expected, scratch=scratch)
            requests[contender.name] = proxy.take_tally()
            return run

        def time(contender: Contender) -> Run:
            patience.tell(contender.name)
            return run_checked(contender, timed_over, expected=expected, scratch=scratch)

        if not scenario.delayed:
            # This run warms the brokers up as well.
            for contender in contenders:
                if contender.name not in scenario.uncounted:
                    count(contender)
        once = count if scenario.delayed else time
        runs = interleave(contenders, once, times=partial(patience.times, scenario))
        round_trip = round_trip_ms(timed_over)
    measured = [
        Measured(name=each.name, about=each.about, runs=runs[each.name], requests=requests.get(each.name))
        for each in contenders
    ]
    return Outcome(scenario=scenario, round_trip_ms=round_trip, measured=measured)
