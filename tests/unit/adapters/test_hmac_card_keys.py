"""A shared secret that signs cards: read seldom, never too short, never shown."""

from dataclasses import dataclass

import jwt
import pytest

from a2a_serverless.adapters.hmac_card_keys import REMEMBERED, HmacCardKeys, ShortSecretError
from tests.unit.adapters.test_kms_seals import Seconds

SECRET = "a secret of at least thirty-two bytes"


@dataclass
class Kept:
    """A secret that is kept elsewhere, and how often it was read."""

    value: str = SECRET
    read_times: int = 0

    def read(self) -> str:
        self.read_times += 1
        return self.value


def test_it_signs_as_a_library_of_json_web_signatures_does() -> None:
    (key,) = HmacCardKeys("default", Kept()).current()

    signature = key.sign(b"eyJ9.e30")

    assert (key.kid, key.algorithm, key.public) == ("default", "HS256", None)
    assert jwt.algorithms.HMACAlgorithm(jwt.algorithms.HMACAlgorithm.SHA256).verify(
        b"eyJ9.e30", SECRET.encode(), signature
    )


def test_it_is_read_again_after_five_minutes() -> None:
    kept, seconds = Kept(), Seconds()
    keys = HmacCardKeys("default", kept, seconds)

    for _ in range(3):
        keys.current()
        seconds.now += REMEMBERED / 3
    assert kept.read_times == 1

    before = keys.current()[0].sign(b"card")
    kept.value = "another secret of thirty-two bytes and more"
    seconds.now += REMEMBERED
    assert keys.current()[0].sign(b"card") != before


def test_one_that_is_too_short_is_refused_without_being_repeated() -> None:
    keys = HmacCardKeys("default", Kept("hunter2" * 4))

    with pytest.raises(ShortSecretError, match="32 bytes") as refused:
        keys.current()

    assert "hunter2" not in str(refused.value)


def test_a_key_that_is_printed_does_not_show_the_secret() -> None:
    assert SECRET not in repr(HmacCardKeys("default", Kept()).current())
