"""`a2a-serverless push rotate-key`: another key, published before it signs, and nothing secret shown."""

from datetime import timedelta

from a2a_serverless.ports.signing_keys import KeyPorts
from tests.unit.cli.desk import Desk, printed


def test_the_first_key_signs_at_once(desk: Desk) -> None:
    result = desk.run("push", "rotate-key")

    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == "kid-1 is the first key, and signs from now on.\n"


def test_the_next_key_is_published_before_it_signs(desk: Desk) -> None:
    desk.keys = kept(desk)
    desk.run("push", "rotate-key")
    desk.clock.sleep(60)

    assert desk.run("push", "rotate-key").stdout == (
        "kid-2 is published now and signs from 2026-11-30T13:01:00Z.\n"
        "kid-1 is published until 2026-12-02T13:01:00Z.\n"
    )


def test_one_that_waits_for_its_time_is_not_followed_by_another(desk: Desk) -> None:
    desk.keys = kept(desk)
    for _ in range(2):
        desk.run("push", "rotate-key")

    assert desk.run("push", "rotate-key").stdout == (
        "kid-2 is published already and signs from 2026-11-30T13:00:00Z; no other was made.\n"
        "kid-1 is published until 2026-12-02T13:00:00Z.\n"
    )
    assert desk.read("push", "rotate-key")["made"] is False


def test_after_a_leak_the_old_key_is_trusted_no_longer_than_must_be(desk: Desk) -> None:
    desk.keys = kept(desk)
    desk.run("push", "rotate-key")
    began = desk.clock.now()

    assert desk.read("push", "rotate-key", "--leaked") == {
        "deployment": "agents",
        "made": True,
        "keys": [
            {
                "kid": "kid-1",
                "created": printed(began),
                "signsFrom": printed(began),
                "retires": printed(began + timedelta(minutes=11)),
            },
            {
                "kid": "kid-2",
                "created": printed(began),
                "signsFrom": printed(began + timedelta(minutes=10)),
                "retires": None,
            },
        ],
    }


def test_where_nothing_makes_keys_it_is_said_what_to_install(desk: Desk) -> None:
    def missing() -> KeyPorts:
        raise ModuleNotFoundError("No module named 'cryptography'", name="cryptography")

    desk.keys = missing

    result = desk.run("push", "rotate-key")

    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == (
        "error: cryptography is not installed: pip install 'a2a-serverless[cli,signing]'\n"
    )


def kept(desk: Desk) -> "object":
    """One maker of pairs for several commands, so that no two are alike."""
    made = desk.keys()
    return lambda: made
