"""The values that options and arguments offer: names of a cluster, of the protocol, of profiles, and paths."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

import click
from click.shell_completion import CompletionItem

from kafka_groups.kinds import GROUP_STATES, group_types
from kafka_groups.options.completion.shell import PREFIX

Items: TypeAlias = list[CompletionItem[Any]]


def groups(ctx: click.Context, param: click.Parameter, incomplete: str) -> Items:
    """Return the ids of groups that are not on the line yet; none for a command that reads tables and no cluster."""
    if not any(each.name == "bootstrap_server" for each in ctx.command.params):
        return []
    # Without `--`, an argument that begins with a hyphen is read as an option.
    is_option_like = isinstance(param, click.Argument) and "--" not in ctx.obj
    # Only `list` takes groups of every kind.
    kind = "groups" if ctx.command.name == "list" else "consumer_groups"
    names = (name for name in _cluster_names(ctx, kind) if not (is_option_like and name.startswith("-")))
    return [CompletionItem(name) for name in _unused(ctx, names, incomplete)]


def topics(ctx: click.Context, _param: click.Parameter, incomplete: str) -> Items:
    """Return the names of topics that are not on the line yet."""
    return [CompletionItem(name) for name in _unused(ctx, _cluster_names(ctx, "topics"), incomplete)]


def topics_or_partitions(ctx: click.Context, param: click.Parameter, incomplete: str) -> Items:
    """Return the names of topics; `:` and partitions may follow each of them."""
    return [CompletionItem(item.value, PREFIX) for item in topics(ctx, param, incomplete)]


def profiles(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> Items:
    """Return the names of the user's profiles."""
    return [CompletionItem(name) for name in _profile_names() if name.startswith(incomplete)]


def profile_list(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> Items:
    """Return the names of the user's profiles for the last place of a list, whose case matters."""
    before, comma, last = incomplete.rpartition(",")
    used = {name.strip() for name in before.split(",")}
    names = (name for name in _profile_names() if name.startswith(last) and name not in used)
    return [CompletionItem(f"{before}{comma}{name}") for name in names]


def runs(ctx: click.Context, _param: click.Parameter, incomplete: str) -> Items:
    """Return the IDs of recorded changes, newest first, with their commands."""
    from kafka_groups.changes.journal_location import open_journal
    from kafka_groups.changes.runs import list_runs

    runs = [listed.run for listed in list_runs(open_journal(ctx.params.get("journal"))).runs]
    return [CompletionItem(run.id, help=run.command) for run in runs if run.id.startswith(incomplete)]


def states(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> Items:
    """Return the names of states for the last place of a list."""
    return _list_items(GROUP_STATES, incomplete)


def types(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> Items:
    """Return the names of types for the last place of a list."""
    return _list_items(group_types(), incomplete)


def files(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> Items:
    """Let the shell complete a file."""
    return [CompletionItem(incomplete, "file")]


def directories(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> Items:
    """Let the shell complete a directory."""
    return [CompletionItem(incomplete, "dir")]


def _cluster_names(ctx: click.Context, kind: str) -> Sequence[str]:
    from kafka_groups.options.completion.cluster_names import find_names

    return find_names(kind, ctx.params)


def _profile_names() -> list[str]:
    """Return the names that --profile can take: a comma separates names there."""
    from kafka_groups.settings.profiles import profile_names

    return [name for name in profile_names() if "," not in name]


def _unused(ctx: click.Context, names: Iterable[str], incomplete: str) -> Iterator[str]:
    # The words themselves: click has no arguments in its context if the last word is an option without its value.
    used = {*ctx.obj, *(word.partition("=")[2] for word in ctx.obj if word.startswith("--"))}
    return (name for name in names if name and name.startswith(incomplete) and name not in used)


def _list_items(names: Sequence[str], incomplete: str) -> Items:
    before, comma, last = incomplete.rpartition(",")
    used = {name.strip().lower() for name in before.split(",")}
    return [
        CompletionItem(f"{before}{comma}{name}")
        for name in names
        if name.lower().startswith(last.lower()) and name.lower() not in used
    ]
