"""The commands that read a card, and `upload`, as they are typed. What each does is loaded when it runs."""

from typing import Annotated

import typer

from a2a_serverless.cli.calling_options import ADDRESS, Calling, calls_agents, parted

Address = Annotated[list[str] | None, typer.Argument(metavar="[URL]", help=ADDRESS)]


@calls_agents
def discover(words: Address = None, *, calling: Calling) -> None:
    """Print an agent's card: what it does, what it takes, where and how it is called.

    With --json it is the card as it was received. Where --jwks or --trust-jku says whom to trust, a card that
    nobody of them has signed is not printed, and the exit status says why.
    """
    address, _ = parted(words or ())
    from a2a_serverless.cli.cards import show_card  # noqa: PLC0415  loaded when it runs

    show_card(calling, address, extended=False)


@calls_agents
def extended_card(words: Address = None, *, calling: Calling) -> None:
    """Print the card that an agent shows to you and not to everybody."""
    address, _ = parted(words or ())
    from a2a_serverless.cli.cards import show_card  # noqa: PLC0415  loaded when it runs

    show_card(calling, address, extended=True)


@calls_agents
def upload(
    words: Annotated[
        list[str] | None, typer.Argument(metavar="[URL] FILE...", help=f"{ADDRESS} FILE is sent as it is.")
    ] = None,
    *,
    calling: Calling,
    conversation: Annotated[
        str | None,
        typer.Option("--context", metavar="CONTEXT", help="The conversation; else one is made up."),
    ] = None,
) -> None:
    """Upload files to a conversation, and print the parts by which messages name them.

    For agents whose card announces urn:a2a-serverless:files:v1. `call --file` does it by itself for what is
    too big for a message.
    """
    from a2a_serverless.cli.upload import upload_files  # noqa: PLC0415  loaded when it runs

    upload_files(calling, words or (), conversation)
