"""The commands `a2a-serverless card …`, as they are typed. What each does is loaded when it runs."""

from typing import Annotated

import typer

from a2a_serverless.cli.exits import Exit, Failure
from a2a_serverless.cli.help_pages import Command, Group
from a2a_serverless.cli.options import AsJson, EndpointUrl, Profile, Region

app = typer.Typer(no_args_is_help=False, cls=Group)


@app.callback(invoke_without_command=True)
def card(context: typer.Context) -> None:
    """See to agent cards: sign one, find out whom one is by, and what is wrong with one."""
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command("sign", cls=Command)
def sign(
    context: typer.Context,
    file: Annotated[str, typer.Argument(metavar="FILE", help="The card; - is standard input.")],
    *,
    key: Annotated[
        str | None,
        typer.Option("--key", metavar="PEM", help="A file with a private key that has no password."),
    ] = None,
    kms_key: Annotated[
        str | None, typer.Option("--kms-key", metavar="KEY", help="The id, ARN or alias of a key in KMS.")
    ] = None,
    secret: Annotated[
        str | None,
        typer.Option(
            "--secret",
            metavar="SECRET",
            help="A secret of 32 bytes or more: @FILE, env:NAME, or itself, which others may then see.",
        ),
    ] = None,
    kid: Annotated[
        str | None,
        typer.Option(
            "--kid",
            metavar="NAME",
            help="The name by which verifiers find the key; else its thumbprint (RFC 7638), on P-256.",
        ),
    ] = None,
    jku: Annotated[
        str | None, typer.Option("--jku", metavar="URL", help="Where verifiers find the public key.")
    ] = None,
    _: AsJson = False,  # a card is JSON however it is asked for
    region: Region = None,
    profile: Profile = None,
    endpoint_url: EndpointUrl = None,
) -> None:
    """Print the card with a signature of this key.

    Give one of --key, --kms-key and --secret. Signatures by other names stay, so that a card can be signed
    by several keys, one after the other. A key on P-256 signs with ES256, one on P-384 with ES384, one on
    P-521 with ES512, one on Ed25519 with EdDSA, an RSA key with RS256, a secret with HS256.

    A card with empty values gets two signatures of a key: over the form that the specification prescribes,
    and over the one that the official SDKs verify.
    """
    if [key, kms_key, secret].count(None) != 2:  # noqa: PLR2004  all but one
        raise Failure(Exit.USAGE, "give one of --key, --kms-key and --secret")
    from a2a_serverless.cli.card_signing import Chosen, sign_card  # noqa: PLC0415  loaded when it runs

    sign_card(context, file, Chosen(key, kms_key, secret, kid, jku), (region, profile, endpoint_url))


@app.command("verify", cls=Command)
def verify(
    source: Annotated[
        str,
        typer.Argument(metavar="CARD", help="A file, the address of a card or of an agent, or - for input."),
    ],
    *,
    keys: Annotated[
        list[str] | None,
        typer.Option("--key", metavar="NAME=PEM", help="Trust the key in this file. May be repeated."),
    ] = None,
    secrets: Annotated[
        list[str] | None,
        typer.Option(
            "--secret",
            metavar="NAME=SECRET",
            help="Trust whoever has this secret: @FILE, env:NAME, or itself. May be repeated.",
        ),
    ] = None,
    jwks: Annotated[
        list[str] | None,
        typer.Option(
            "--jwks", metavar="PLACE", help="Trust the keys of a set: a file or an address. May be repeated."
        ),
    ] = None,
    trust_jku: Annotated[
        list[str] | None,
        typer.Option(
            "--trust-jku",
            metavar="HOST",
            help="Trust the keys that a signature names, if they lie on this host. May be repeated.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say whether a card was signed by somebody who is trusted.

    Whom to trust is said here and never by the card: without --trust-jku an address of keys that stands in
    a signature is not followed. One signature that is valid is enough.

    Ends with status 0 for a valid card; each other verdict has a status of its own, from 10 on.
    """
    try:
        from a2a_serverless.cli.card_verifying import Trust, verify_card  # noqa: PLC0415  loaded when it runs
    except ModuleNotFoundError as missing:
        message = f"{missing.name} is not installed: pip install 'a2a-serverless[cli,signing]'"
        raise Failure(Exit.FAILED, message) from missing
    trust = Trust(keys or (), secrets or (), jwks or (), trust_jku or ())
    raise typer.Exit(verify_card(source, trust, as_json=as_json))


@app.command("lint", cls=Command)
def lint(
    source: Annotated[
        str,
        typer.Argument(metavar="CARD", help="A file, the address of a card or of an agent, or - for input."),
    ],
    *,
    strict: Annotated[bool, typer.Option("--strict", help="Warnings count as errors do.")] = False,
    as_json: AsJson = False,
) -> None:
    """Say what is wrong with a card, by the rules of the specification.

    Each finding names the member, and the section that says so. An error is what clients cannot use or a MUST
    forbids, a warning what a SHOULD or common sense does. Of a card at an address its headers are looked at
    too. Ends with status 16 where there is an error.
    """
    from a2a_serverless.cli.card_linting import lint_card  # noqa: PLC0415  loaded when it runs

    raise typer.Exit(lint_card(source, strict=strict, as_json=as_json))
