"""`kafka-groups completion`: the script that a shell loads."""

from __future__ import annotations

import click

from kafka_groups.options.completion.shells import SHELLS, script_of
from kafka_groups.options.suggestions import Choice


@click.command()
@click.argument("shell", metavar="SHELL", type=Choice(tuple(SHELLS)))
@click.pass_context
def completion(context: click.Context, *, shell: str) -> None:
    """Print the completion script of bash, zsh or fish.

    It completes commands, options and values. Ids of groups and topics come from the cluster that the line and the
    environment name, and are kept for ten seconds. Nothing is offered if no broker responds within a quarter of a
    second. Variables that are set on the line itself, before the command, are not seen.

    The wheel installs the scripts in share/ of its environment. If your shell does not look there, save the script in a
    directory where it looks, as below: bash with the package bash-completion, zsh in the directories of $fpath, to
    which ~/.zshrc may add ~/.zfunc (fpath+=~/.zfunc before compinit). The directory has to exist.

    Needs no cluster.

    \b
    Examples:
      kafka-groups completion bash > ~/.local/share/bash-completion/completions/kafka-groups
      kafka-groups completion zsh > ~/.zfunc/_kafka-groups
      kafka-groups completion fish > ~/.config/fish/completions/kafka-groups.fish
    """
    click.echo(script_of(shell, context.find_root().command), nl=False)
