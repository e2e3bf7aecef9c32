"""The command line of the local stack, and what each choice means for the functions' environment.

Pure: text in, values out. Starts nothing and reads no file.
"""

import argparse
import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NoReturn

from infra.local.deployment import ACCOUNT, REGION

MODULE_ATTRIBUTE: Final = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")
PRINCIPAL: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")
CALLERS_SECRET: Final = "a2a-local/callers"  # noqa: S105 - a name, no secret
"""Name of the secret that holds the access document."""

BEARER_TOKEN: Final = re.compile(r"[A-Za-z0-9\-._~+/]+=*")
PARAMETER: Final = re.compile(r"[A-Za-z0-9]+")

DESCRIPTION: Final = """\
Run the whole deployment on 127.0.0.1, with no AWS account and no Docker: API, functions, state machine, table
and bucket, as template.yaml declares them and with AWS's limits. Prints `ready URL` when it serves. Ctrl-C
ends it.
"""

EPILOG: Final = """\
profiles:
  default      every caller is the one principal "local"; with --token or --credentials, callers must
               show who they are
  conformance  anonymous callers, no de-duplication of message ids, loopback webhooks allowed,
               the agent of the conformance tests

signals:
  HUP          replace every function process (busy ones after what they do); stored tasks stay

A function's process can be found by its environment: AWS_LAMBDA_FUNCTION_NAME, and LAMBDA_TASK_ROOT,
which ends in functions/<name>.
"""


class OneLineParser(argparse.ArgumentParser):
    """A parser that says what is wrong in one line, without repeating the usage."""

    def error(self, message: str) -> NoReturn:
        """Say it and leave with status 2."""
        self.exit(2, f"error: {message}\n")


@dataclass(frozen=True)
class Options:
    """What was asked for."""

    port: int
    agent: str
    profile: str
    tokens: Mapping[str, str]
    """Name of each principal → its token."""
    credentials: Path | None
    """The access document's file."""
    turn_timeout_seconds: float | None
    buffered: bool
    """Whether the API answers in one piece, as a deployment with Streaming=buffered does."""
    loopback_webhooks: bool
    """Whether webhooks may point at this machine."""
    sign_card: bool
    """Whether the card is signed, by a key that is made for it."""
    parameters: Mapping[str, str]
    """Values for parameters of template.yaml, by name."""
    quiet: bool
    log_folder: Path | None


CARD_KEY: Final = f"arn:aws:kms:{REGION}:{ACCOUNT}:key/a2a-local-card"
FULFILMENT_CARD: Final = "a2a_agents.fulfilment:extended_card"

DEFAULT_AGENT: Final = {
    "default": "a2a_agents.fulfilment:agent",
    "conformance": "tests.conformance.agent:agent",
}


def parse(arguments: Sequence[str]) -> Options:
    """Read the command line; prints one line and raises SystemExit(2) when it makes no sense."""
    given = command_line().parse_args(arguments)
    return Options(
        port=given.port,
        agent=given.agent or DEFAULT_AGENT[given.profile],
        profile=given.profile,
        tokens=dict(given.token),
        credentials=given.credentials,
        turn_timeout_seconds=given.turn_timeout,
        buffered=given.buffered,
        loopback_webhooks=given.loopback_webhooks or given.profile == "conformance",
        sign_card=given.sign_card,
        parameters=dict(given.parameter),
        quiet=given.quiet,
        log_folder=given.log_dir,
    )


def command_line() -> argparse.ArgumentParser:
    """Return what is understood."""
    parser = OneLineParser(
        prog="python -m infra.local",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    offer_what_is_served(parser)
    offer_who_may_call(parser)
    offer_what_differs(parser)
    offer_what_is_shown(parser)
    return parser


def offer_what_is_served(parser: argparse.ArgumentParser) -> None:
    """Which agent, and where."""
    parser.add_argument(
        "--port",
        type=port,
        default=8080,
        metavar="N",
        help="port of the API; 0 picks a free one (default: 8080)",
    )
    parser.add_argument(
        "--agent",
        type=module_attribute,
        metavar="MODULE:ATTR",
        help="the agent to serve, importable from here (default: the order fulfilment agent)",
    )


def offer_who_may_call(parser: argparse.ArgumentParser) -> None:
    """Anybody, or whoever shows one of these."""
    parser.add_argument(
        "--profile", choices=tuple(DEFAULT_AGENT), default="default", help="who may call, see below"
    )
    parser.add_argument(
        "--token",
        type=principal_token,
        action="append",
        default=[],
        metavar="NAME=TOKEN",
        help="a principal and its bearer token; may be repeated",
    )
    parser.add_argument(
        "--credentials",
        type=Path,
        metavar="FILE",
        help="an access document, put into Secrets Manager: callers by password, API key or JWT too",
    )


def offer_what_differs(parser: argparse.ArgumentParser) -> None:
    """What a deployment would be given, or never is."""
    parser.add_argument(
        "--turn-timeout",
        type=seconds,
        metavar="SECONDS",
        help="kill a turn's process after this time (default: the timeout in template.yaml)",
    )
    parser.add_argument(
        "--buffered",
        action="store_true",
        help="run what a deployment with Streaming=buffered is: no streams, answers within 29 s",
    )
    parser.add_argument(
        "--loopback-webhooks",
        action="store_true",
        help="let webhooks point at this machine, by http too; no deployment does",
    )
    parser.add_argument(
        "--sign-card",
        action="store_true",
        help="sign the card, by a key in this stack's KMS",
    )
    parser.add_argument(
        "--parameter",
        type=parameter,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a parameter of template.yaml, as `sam deploy` would be given it; may be repeated",
    )


def offer_what_is_shown(parser: argparse.ArgumentParser) -> None:
    """Where the functions' log lines go."""
    parser.add_argument("--quiet", action="store_true", help="do not show the functions' log lines")
    parser.add_argument(
        "--log-dir",
        type=Path,
        metavar="DIR",
        help="write the functions' log lines to DIR/<function>.log instead",
    )


def template_parameters(options: Options) -> dict[str, str]:
    """Return the template's parameters by which this deployment differs from its defaults."""
    return {
        **({"ExtendedCard": FULFILMENT_CARD} if has_cards_for_callers(options) else {}),
        **options.parameters,
        **({"Streaming": "buffered"} if options.buffered else {}),
        **({"Credentials": f"secretsmanager:{CALLERS_SECRET}"} if options.credentials is not None else {}),
        **({"CardSigningKeys": CARD_KEY} if options.sign_card else {}),
    }


def function_variables(options: Options, *, base_url: str, deployed_at: str) -> dict[str, str]:
    """Return the environment variables by which this stack differs from what the template says."""
    variables = {
        "AGENT": options.agent,
        "AGENT_PROFILE": "",
        "INSTANT_ANSWER": "",
        "BASE_URL": base_url,
        "DEPLOYED_AT": deployed_at,
        "DEDUPLICATION": "on",
        "ANONYMOUS": "refused",
        "BEARER_TOKENS": bearer_tokens(options.tokens),
        "LOCAL_PRINCIPAL": "" if names_callers(options) else "local",
        "LOOPBACK_ISSUERS": "allowed",
        "LOOPBACK_WEBHOOKS": "allowed" if options.loopback_webhooks else "refused",
    }
    if options.credentials is not None:
        variables["CREDENTIALS"] = f"secretsmanager:{CALLERS_SECRET}"
    if options.profile == "conformance":
        variables |= {
            "ANONYMOUS": "allowed",
            "DEDUPLICATION": "off",
            "LOCAL_PRINCIPAL": "",
        }
        if options.agent == DEFAULT_AGENT["conformance"]:
            variables["INSTANT_ANSWER"] = "tests.conformance.agent:answer"
    return variables


def has_cards_for_callers(options: Options) -> bool:
    """Say whether it is the agent that has cards for its callers, and they say who they are (3.1.11)."""
    is_the_default_agent = (options.profile, options.agent) == ("default", DEFAULT_AGENT["default"])
    return is_the_default_agent and names_callers(options)


def names_callers(options: Options) -> bool:
    """Say whether callers must show who they are."""
    return bool(options.tokens or options.credentials or options.parameters.get("Credentials"))


def bearer_tokens(tokens: Mapping[str, str]) -> str:
    """Return the value of BEARER_TOKENS: names and hashes, never a token."""
    return ",".join(f"{name}:{hashlib.sha256(token.encode()).hexdigest()}" for name, token in tokens.items())


def port(text: str) -> int:
    """Read a port number."""
    number = int(text)
    if not 0 <= number <= 65535:  # noqa: PLR2004 - the range of ports
        raise argparse.ArgumentTypeError(f"{text} is no port")
    return number


def module_attribute(text: str) -> str:
    """Check the form of MODULE:ATTR."""
    if not MODULE_ATTRIBUTE.fullmatch(text):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not of the form MODULE:ATTR, as in my_agents.travel:agent"
        )
    return text


def principal_token(text: str) -> tuple[str, str]:
    """Read NAME=TOKEN."""
    name, _, token = text.partition("=")
    if not PRINCIPAL.fullmatch(name) or not BEARER_TOKEN.fullmatch(token):
        raise argparse.ArgumentTypeError(
            "expected NAME=TOKEN, both of letters, digits, `_`, `.` and `-`; the token also of `~+/=`"
        )
    return name, token


def parameter(text: str) -> tuple[str, str]:
    """Read NAME=VALUE."""
    name, equals, value = text.partition("=")
    if not PARAMETER.fullmatch(name) or not equals:
        raise argparse.ArgumentTypeError(f"expected NAME=VALUE, not {text!r}")
    return name, value


def seconds(text: str) -> float:
    """Read a positive number of seconds."""
    number = float(text)
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is no time to run for")
    return number
