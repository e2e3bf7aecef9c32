"""An authority of our own for real TLS on loopback, and the certificates it issues."""

import ssl
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

PRIVATE_KEY_FORM = (
    serialization.Encoding.PEM,
    serialization.PrivateFormat.PKCS8,
    serialization.NoEncryption(),
)
CA_USAGE = x509.KeyUsage(
    digital_signature=True,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    key_cert_sign=True,
    crl_sign=True,
    encipher_only=False,
    decipher_only=False,
)


def _key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def _named(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _alternative(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)


@dataclass(frozen=True)
class Authority:
    """A certificate authority whose files lie in a folder."""

    folder: Path
    key: ec.EllipticCurvePrivateKey = field(default_factory=_key)

    @property
    def file(self) -> Path:
        """Its own certificate, for those who trust it."""
        path = self.folder / "authority.pem"
        if not path.exists():
            path.write_bytes(self._certificate().public_bytes(serialization.Encoding.PEM))
        return path

    def serve(self, *hosts: str, age: timedelta = timedelta(days=1)) -> ssl.SSLContext:
        """How a server for these hosts speaks TLS, with a certificate valid for a month since then."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.issue(*hosts, age=age))
        return context

    def issue(self, *hosts: str, age: timedelta = timedelta(days=1)) -> Path:
        """The file of such a certificate and its key."""
        key = _key()
        begins = datetime.now(UTC) - age
        issued = (
            self._builder(hosts[0], key.public_key(), begins)
            .add_extension(x509.SubjectAlternativeName(map(_alternative, hosts)), critical=False)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .sign(self.key, hashes.SHA256())
        )
        path = self.folder / f"{issued.serial_number}.pem"
        path.write_bytes(
            key.private_bytes(*PRIVATE_KEY_FORM) + issued.public_bytes(serialization.Encoding.PEM)
        )
        return path

    def _certificate(self) -> x509.Certificate:
        begins = datetime.now(UTC) - timedelta(days=1)
        return (
            self._builder("Authority", self.key.public_key(), begins)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(CA_USAGE, critical=True)
            .sign(self.key, hashes.SHA256())
        )

    def _builder(
        self, name: str, key: ec.EllipticCurvePublicKey, begins: datetime
    ) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(_named(name))
            .issuer_name(_named("Authority"))
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(begins)
            .not_valid_after(begins + timedelta(days=30))
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key()), critical=False
            )
        )
