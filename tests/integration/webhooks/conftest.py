"""An authority that the sender trusts, as it would one of the system's store."""

import pytest

from tests.integration.webhooks.certificates import Authority


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """An authority nobody has heard of."""
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def trusted(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> Authority:
    """The same, trusted by whoever looks at the environment from now on."""
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    return authority


@pytest.fixture(params=["http", "https"])
def scheme(request: pytest.FixtureRequest) -> str:
    """Over plain TCP and over TLS."""
    return str(request.param)
