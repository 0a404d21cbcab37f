"""Tokens of all algorithms, and what their files of keys must hold."""

import time
from pathlib import Path

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from evenmatch.config.server import Algorithm, Tokens
from evenmatch.errors import ConfigError
from evenmatch.server.auth.principal import Unauthenticated
from evenmatch.server.auth.tokens import Verifier, audiences_of, read_token_keys

PAIRS = {
    "RS256": rsa.generate_private_key(public_exponent=65537, key_size=2048),
    "ES256": ec.generate_private_key(ec.SECP256R1()),
    "EdDSA": ed25519.Ed25519PrivateKey.generate(),
}
SHORT = rsa.generate_private_key(public_exponent=65537, key_size=1024)


def private_pem(key: object) -> bytes:
    return key.private_bytes(  # type: ignore[attr-defined, no-any-return]
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


SECRET = b"0123456789abcdef0123456789ABCDEF"


def public_pem(key: object) -> bytes:
    return key.public_key().public_bytes(  # type: ignore[attr-defined, no-any-return]
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )


def settings(folder: Path, algorithm: Algorithm, *contents: bytes) -> Tokens:
    names = []
    for number, content in enumerate(contents):
        path = folder / f"{number}.key"
        path.write_bytes(content)
        names.append(str(path))
    return Tokens(algorithm, tuple(names), "a-game")


def claims() -> dict[str, object]:
    return {"sub": "ann", "aud": ["other", "a-game"], "exp": int(time.time()) + 60}


@pytest.mark.parametrize("algorithm", ["RS256", "ES256", "EdDSA"])
def test_token_of_a_key_pair_is_verified(tmp_path: Path, algorithm: Algorithm) -> None:
    key = PAIRS[algorithm]
    wanted = settings(tmp_path, algorithm, public_pem(key))
    verifier = Verifier(wanted, read_token_keys(wanted))
    signed = jwt.encode(claims(), private_pem(key), algorithm=algorithm)
    assert verifier.principal(signed.encode(), time.time()).name == "ann"
    for other, other_key in PAIRS.items():
        if other != algorithm:
            foreign = jwt.encode(claims(), private_pem(other_key), algorithm=other)
            with pytest.raises(Unauthenticated):
                verifier.principal(foreign.encode(), time.time())


def test_public_key_is_no_secret(tmp_path: Path) -> None:
    """The classic confusion: the public key, which everybody has, used as an HMAC secret."""
    public = public_pem(PAIRS["RS256"])
    wanted = settings(tmp_path, "RS256", public)
    verifier = Verifier(wanted, read_token_keys(wanted))
    algorithm = jwt.algorithms.HMACAlgorithm(jwt.algorithms.HMACAlgorithm.SHA256)
    unsigned = jwt.encode(claims(), b"k" * 32, algorithm="HS256").rpartition(".")[0].encode()
    signature = jwt.utils.base64url_encode(algorithm.sign(unsigned, public.strip()))
    with pytest.raises(Unauthenticated):
        verifier.principal(unsigned + b"." + signature, time.time())


def test_old_and_new_secret_count_while_they_are_rotated(tmp_path: Path) -> None:
    old, new = b"o" * 32, b"n" * 32
    wanted = settings(tmp_path, "HS256", new, old)
    verifier = Verifier(wanted, read_token_keys(wanted))
    for secret in (old, new):
        signed = jwt.encode(claims(), secret, algorithm="HS256").encode()
        assert verifier.principal(signed, time.time()).name == "ann"
    signed = jwt.encode(claims(), b"x" * 32, algorithm="HS256").encode()
    with pytest.raises(Unauthenticated):
        verifier.principal(signed, time.time())


def test_token_counts_until_its_leeway_is_over(tmp_path: Path) -> None:
    now = int(time.time())
    given = settings(tmp_path, "HS256", SECRET)
    verifier = Verifier(given, read_token_keys(given))
    claims = {"sub": "ann", "aud": given.audience, "exp": now}
    token = jwt.encode(claims, SECRET, algorithm="HS256").encode()
    until = verifier.principal(token, now + given.leeway - 1.0).until
    assert until == now + given.leeway
    with pytest.raises(Unauthenticated):
        verifier.principal(token, until)


@pytest.mark.parametrize(
    ("algorithm", "content", "words"),
    [
        ("HS256", b"short", "at least 32 bytes of secret"),
        ("HS256", public_pem(PAIRS["RS256"]), "is not a secret for HS256"),
        ("HS256", b"ssh-ed25519 " + b"A" * 68 + b" ada@home", "is not a secret for HS256"),
        ("RS256", private_pem(PAIRS["RS256"]), "is a private key"),
        ("RS256", public_pem(PAIRS["ES256"]), "is no public key for RS256"),
        ("RS256", public_pem(SHORT), "too short a key for RS256"),
        ("ES256", b"what", "is no public key for ES256"),
        ("EdDSA", b"", "is no public key for EdDSA"),
    ],
    # Keys are made anew in every process: names of tests must not hold them.
    ids=[
        "short secret",
        "public key as secret",
        "public key of SSH as secret",
        "private key",
        "other curve",
        "short key",
        "text",
        "empty",
    ],
)
def test_file_of_another_kind_is_refused(
    tmp_path: Path, algorithm: Algorithm, content: bytes, words: str
) -> None:
    with pytest.raises(ConfigError, match=words):
        read_token_keys(settings(tmp_path, algorithm, content))


@pytest.mark.parametrize(
    ("content", "secret"),
    [
        (SECRET, SECRET),
        (SECRET + b"\n", SECRET),
        (SECRET + b"\r\n", SECRET),
        (b"two words " + SECRET, b"two words " + SECRET),
        (b" \xff" + SECRET + b"\n", b" \xff" + SECRET + b"\n"),
    ],
)
def test_end_of_a_line_is_no_part_of_a_secret_that_is_text(
    tmp_path: Path, content: bytes, secret: bytes
) -> None:
    wanted = settings(tmp_path, "HS256", content)
    verifier = Verifier(wanted, read_token_keys(wanted))
    signed = jwt.encode(claims(), secret, algorithm="HS256")
    assert verifier.principal(signed.encode(), time.time()).name == "ann"


@pytest.mark.parametrize(
    "content", [SECRET + b"\n\n", SECRET + b" ", b"\t" + SECRET, SECRET + b" \n"]
)
def test_secret_between_blanks_is_refused_in_words(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(ConfigError, match=r"0\.key holds a secret with blanks or empty lines"):
        read_token_keys(settings(tmp_path, "HS256", content))


def test_file_that_is_too_long_is_not_cut_short(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"0\.key must hold at most 16,384 bytes"):
        read_token_keys(settings(tmp_path, "HS256", b"a" * 16_385))


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere\.key cannot be read"):
        read_token_keys(Tokens("HS256", (str(tmp_path / "nowhere.key"),), "a-game"))


@pytest.mark.parametrize("text", [b"", b"a", b"a.b", b"a.e30.c", b"a.W10.c", b"a.!!!.c"])
def test_audiences_of_anything_are_none(text: bytes) -> None:
    assert audiences_of(text) == ()
