"""TAB in bash, zsh and fish: the words that the program gets from the completed line."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from kafka_groups.options.completion.shells import SHELLS
from tests.fakes.scripted_cluster import Group, ScriptedCluster
from tests.options.completion.terminal import Terminal

IDS = [
    *("orders", "odd one", "it's", 'dq"x', "pay$me", "back\\slash", "new\nline"),
    *(
        "end'",
        'stop"',
        "a:b:c",
        "eq=val",
        "x,y",
        "ümlaut",
        "-x",
        "run!!this",
        "bad;touch pwned;: #!#",
        "quoted\nid",
        "quoted2",
    ),
]
pytestmark = pytest.mark.slow
TOPICS = {"t:x": {0: 1}, "payments": {0: 2}}


@pytest.fixture(scope="module", params=SHELLS)
def shell(request: pytest.FixtureRequest) -> str:
    """Return the name of a shell; each test runs in all of them."""
    name: str = request.param
    return name


@pytest.fixture(scope="module")
def terminal(shell: str, program: Callable[[str], str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    """Yield a terminal with a shell, whose environment names a cluster. Its directory has a file and a directory."""
    path, home = program(shell), tmp_path_factory.mktemp(shell)
    (home / "my conf").touch()
    (home / "one dir").mkdir()
    groups = {name: Group(coordinator=1 + at % 2) for at, name in enumerate(IDS)}
    with ScriptedCluster(brokers=2, groups=groups, topics=TOPICS) as cluster:
        address = str(cluster.brokers[1].endpoint)
        (home / "prod.properties").write_text(f"bootstrap.servers={address}")
        with Terminal(shell, path, home, {"KAFKA_GROUPS_BOOTSTRAP_SERVER": address}) as terminal:
            yield terminal


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("odd", "odd one"),
        (r"odd\ o", "odd one"),
        ("'odd o", "odd one"),
        ('"odd o', "odd one"),
        ("it", "it's"),
        ("dq", 'dq"x'),
        ("pay", "pay$me"),
        ('"pay', "pay$me"),
        ("'pay", "pay$me"),
        ("back", "back\\slash"),
        ("new", "new\nline"),
        ("a", "a:b:c"),
        ("a:b", "a:b:c"),
        ("eq=", "eq=val"),
        ("x,", "x,y"),
        ("ü", "ümlaut"),
        ("-- -", "-x"),
        ("'end", "end'"),
        ('"stop', 'stop"'),
        ("run", "run!!this"),
        ('"run', "run!!this"),
        ("'run", "run!!this"),
        ("bad", "bad;touch pwned;: #!#"),
        ('"bad', "bad;touch pwned;: #!#"),
        ("'new", "new\nline"),
        ('"new', "new\nline"),
    ],
)
def test_an_id_arrives_as_it_is(terminal: Terminal, typed: str, name: str) -> None:
    terminal.complete(f"kafka-groups describe {typed}", lambda words: words[-1] == name)


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("desc", ["describe"]),
        ("pipeline inge", ["pipeline", "ingest"]),
        ("list --verb", ["list", "--verbose"]),
        ("describe orders --verb", ["describe", "orders", "--verbose"]),
        ("describe --group=ord", ["describe", "--group=orders"]),
        ("describe --group=odd", ["describe", "--group=odd one"]),
        ("describe orders ord", ["describe", "orders", "ord"]),
        ("describe -b 127.0.0.1:1 ord", ["describe", "-b", "127.0.0.1:1", "ord"]),
        ("describe --config ~/prod.properties ord", ["describe", "--config", "{home}/prod.properties", "orders"]),
        ("list --state=Sta", ["list", "--state=Stable"]),
        ("list --state Stable,Em", ["list", "--state", "Stable,Empty"]),
        ("list --state stable,em", ["list", "--state", "stable,Empty"]),
        ("list --format nd", ["list", "--format", "ndjson"]),
        ("offsets --topic t:", ["offsets", "--topic", "t:x"]),
        ("list --config my", ["list", "--config", "my conf"]),
        ("list --config=my", ["list", "--config=my conf"]),
        ("list --config ~/my", ["list", "--config", "{home}/my conf"]),
        ("completion fi", ["completion", "fish"]),
    ],
)
def test_a_word_is_completed(terminal: Terminal, typed: str, words: list[str]) -> None:
    expected = [word.replace("{home}", str(terminal.home)) for word in words]
    terminal.complete(f"kafka-groups {typed}", lambda words: words == expected)


@pytest.mark.parametrize(
    "typed", ["pipeline build --data-dir one", "pipeline build --data-dir=one", "sandbox up --dir one"]
)
def test_a_directory_is_completed(terminal: Terminal, typed: str) -> None:
    # zsh removes the slash when the line is finished.
    terminal.complete(f"kafka-groups {typed}", lambda words: words[-1].rstrip("/").endswith("one dir"))


def test_partitions_can_be_typed_behind_a_topic(terminal: Terminal, shell: str) -> None:
    if shell == "fish":
        pytest.skip("fish adds a space to every value")
    terminal.complete("kafka-groups offsets --topic pay", lambda words: words[-1] == "payments:0,1", then=":0,1")


def test_the_program_of_the_line_completes(terminal: Terminal) -> None:
    terminal.complete("~/bin/kafka-groups describe ord", lambda words: words == ["describe", "orders"])


def test_tab_adds_nothing_where_nothing_is_offered(terminal: Terminal) -> None:
    assert terminal.words_after_tab("kafka-groups list -b ") == ["list", "-b"]
    assert terminal.words_after_tab("kafka-groups describe -b 127.0.0.1:1 ") == ["describe", "-b", "127.0.0.1:1"]
