"""The command line, and what each choice tells the functions."""

import hashlib

import pytest

from infra.local.options import Options, function_variables, parse, template_parameters


def variables(*arguments: str) -> dict[str, str]:
    return function_variables(
        parse(arguments), base_url="http://127.0.0.1:8080", deployed_at="2026-11-30T00:00:00Z"
    )


def test_without_options_every_caller_is_the_one_local_principal() -> None:
    told = variables()

    assert told["LOCAL_PRINCIPAL"] == "local"
    assert told["ANONYMOUS"] == "refused"
    assert told["DEDUPLICATION"] == "on"
    assert told["AGENT"] == "a2a_agents.fulfilment:agent"
    assert told["BASE_URL"] == "http://127.0.0.1:8080"
    assert told["DEPLOYED_AT"] == "2026-11-30T00:00:00Z"


def test_with_tokens_callers_must_show_one_and_no_function_learns_it() -> None:
    told = variables("--token", "ada=s3cret", "--token", "bob=t-x=")

    assert told["LOCAL_PRINCIPAL"] == ""
    assert told["BEARER_TOKENS"] == ",".join(
        f"{name}:{hashlib.sha256(token).hexdigest()}"
        for name, token in (("ada", b"s3cret"), ("bob", b"t-x="))
    )


def test_with_an_access_document_callers_must_show_who_they_are_by_what_it_says() -> None:
    told = variables("--credentials", "callers.json")

    assert (told["LOCAL_PRINCIPAL"], told["BEARER_TOKENS"]) == ("", "")
    assert told["CREDENTIALS"] == "secretsmanager:a2a-local/callers"
    assert told["LOOPBACK_ISSUERS"] == "allowed"


def test_an_access_document_of_ones_own_is_looked_for_where_the_parameter_says() -> None:
    told = variables("--parameter", "Credentials=ssm:/callers")

    assert told["LOCAL_PRINCIPAL"] == ""
    assert "CREDENTIALS" not in told


def test_the_conformance_profile_lets_strangers_in_and_brings_its_own_agent() -> None:
    told = variables("--profile", "conformance")

    assert told["ANONYMOUS"] == "allowed"
    assert told["LOCAL_PRINCIPAL"] == ""
    assert told["DEDUPLICATION"] == "off"
    assert told["LOOPBACK_WEBHOOKS"] == "allowed"
    assert told["AGENT"] == "tests.conformance.agent:agent"
    assert told["INSTANT_ANSWER"] == "tests.conformance.agent:answer"


def test_webhooks_may_point_at_this_machine_only_when_that_is_asked_for() -> None:
    assert variables()["LOOPBACK_WEBHOOKS"] == "refused"
    assert variables("--loopback-webhooks")["LOOPBACK_WEBHOOKS"] == "allowed"


def parameters(*arguments: str) -> dict[str, str]:
    return template_parameters(parse(arguments))


def test_the_card_is_signed_where_that_is_asked_for() -> None:
    assert parameters("--sign-card")["CardSigningKeys"] == (
        "arn:aws:kms:us-east-1:123456789012:key/a2a-local-card"
    )
    assert "CardSigningKeys" not in parameters()


ALICE = ("--token", "alice=secret")


def test_the_fulfilment_agent_has_cards_for_its_callers_unless_others_are_wanted() -> None:
    assert parameters(*ALICE)["ExtendedCard"] == "a2a_agents.fulfilment:extended_card"
    assert parameters(*ALICE, "--parameter", "ExtendedCard=")["ExtendedCard"] == ""
    assert "ExtendedCard" not in parameters(*ALICE, "--agent", "a2a_agents.echo:agent")
    assert "ExtendedCard" not in parameters(
        *ALICE, "--profile", "conformance", "--agent", "a2a_agents.fulfilment:agent"
    )


def test_callers_who_cannot_say_who_they_are_are_promised_no_card_of_their_own() -> None:
    assert "ExtendedCard" not in parameters()
    assert "ExtendedCard" in parameters("--parameter", "Credentials=ssm:/callers")


def test_the_conformance_profile_serves_another_agent_without_its_instant_answer() -> None:
    told = variables("--profile", "conformance", "--agent", "a2a_agents.echo:agent")

    assert (told["AGENT"], told["INSTANT_ANSWER"]) == ("a2a_agents.echo:agent", "")


def test_options_that_are_not_given_have_their_defaults() -> None:
    assert parse([]) == Options(
        port=8080,
        agent="a2a_agents.fulfilment:agent",
        profile="default",
        tokens={},
        credentials=None,
        turn_timeout_seconds=None,
        buffered=False,
        loopback_webhooks=False,
        sign_card=False,
        parameters={},
        quiet=False,
        log_folder=None,
    )


def test_the_template_is_given_the_parameters_that_were_given() -> None:
    options = parse(
        ["--agent", "a:b", "--parameter", "WebhookAttempts=5", "--parameter", "EventBus=a=b", "--buffered"]
    )

    assert template_parameters(options) == {
        "WebhookAttempts": "5",
        "EventBus": "a=b",
        "Streaming": "buffered",
    }


def test_roles_are_granted_what_the_functions_are_told_to_use() -> None:
    options = parse(["--sign-card", "--credentials", "access.json"])

    assert template_parameters(options) == {
        "CardSigningKeys": "arn:aws:kms:us-east-1:123456789012:key/a2a-local-card",
        "Credentials": "secretsmanager:a2a-local/callers",
        "ExtendedCard": "a2a_agents.fulfilment:extended_card",
    }


@pytest.mark.parametrize(
    "arguments",
    [
        ["--agent", "no-colon"],
        ["--agent", "two:colons:here"],
        ["--token", "=secret"],
        ["--token", "name="],
        ["--token", "name=a,b"],
        ["--turn-timeout", "inf"],
        ["--turn-timeout", "nan"],
        ["--port", "70000"],
        ["--port", "http"],
        ["--turn-timeout", "0"],
        ["--profile", "none"],
        ["--parameter", "Webhooks"],
        ["--parameter", "=off"],
    ],
)
def test_nonsense_is_refused_in_one_line(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as refused:
        parse(arguments)

    assert refused.value.code == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(f"error: argument {arguments[0]}: ")
