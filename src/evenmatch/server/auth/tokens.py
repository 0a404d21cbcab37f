"""Player tokens: JWTs that the game's own login signs, one a player.

The algorithm is fixed by the configuration; what a token's header says of it is compared and never
followed, so neither `none` nor a public key used as a secret gets in. A token must expire, must be
meant for us, and must name its player. Its claims are read strictly, like any other input.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jwt
import msgspec
from jwt.api_jws import PyJWS
from jwt.utils import base64url_decode, base64url_encode

from evenmatch.config.server import Tokens
from evenmatch.errors import ConfigError
from evenmatch.model.ticket import Rating, Value
from evenmatch.server.auth.principal import (
    ANYONE,
    OWN,
    PartyMember,
    Principal,
    TokenFacts,
    Unauthenticated,
    bad_claim,
    unknown_credential,
)
from evenmatch.server.runtime.secret_files import read_key_file, read_secret

TOKEN_BYTES_MAX = 8_192
"""Longest token; a header line of uvicorn has 64 KB."""
SECRET_BYTES_MIN = 32
PARTY_MAX = 100
ID_LENGTH_MAX = 128
CLAIM_AT_FAULT = re.compile(r"`\$\.(\w+)|^Object missing required field `(\w+)`$")
"""Where msgspec says which claim it could not read."""
BAD_CLAIMS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError)


class Claims(msgspec.Struct, frozen=True):
    """The claims of a player's token; other claims are ignored.

    Args:
        sub: The player's id.
        aud: Whom the token is for.
        exp: Unix time from which it counts no more.
        iss: Who made it.
        nbf: Unix time from which it counts.
        iat: Unix time at which it was made.
        rating: The player's rating.
        household: A key that accounts of one household share.
        party: The players they may bring along.
        attributes: Facts of the player.
    """

    sub: str
    aud: str | tuple[str, ...]
    exp: float
    iss: str = ""
    nbf: float | None = None
    iat: float | None = None
    rating: Rating | None = None
    household: str | None = None
    party: tuple[str | PartyMember, ...] = ()
    attributes: dict[str, Value] = {}


class _Audience(msgspec.Struct, frozen=True):
    aud: str | tuple[str, ...] = ()


_claims = msgspec.json.Decoder(Claims)
_audience = msgspec.json.Decoder(_Audience)


class Verifier:
    """Checks the tokens of one game.

    Args:
        settings: What a token must be like.
        keys: Secrets, or public keys in PEM; any of them may have signed.
        tenant: The game.
        is_guest: The tokens are those that this server makes for guests.
    """

    def __init__(
        self, settings: Tokens, keys: Sequence[bytes], tenant: str = "", *, is_guest: bool = False
    ) -> None:
        self.settings = settings
        self._tenant = tenant
        self._is_guest = is_guest
        self._jws = PyJWS(algorithms=[settings.algorithm])
        algorithm = self._jws.get_algorithm_by_name(settings.algorithm)
        self._keys: list[Any] = [algorithm.prepare_key(key) for key in keys]

    def principal(self, token: bytes, now: float) -> Principal:
        """Return the player that a token names.

        Args:
            token: The whole token.
            now: Unix time.

        Raises:
            Unauthenticated: It is not valid, or not now.
        """
        payload = self._payload(token)
        try:
            claims = self._claims_in(payload, now)
            party = _members(claims.party)
        except Unauthenticated as refusal:
            refusal.tenant = self._tenant
            raise
        facts = TokenFacts(
            claims.rating, claims.household, party, claims.attributes, self._is_guest
        )
        rights = frozenset((ANYONE, OWN))
        # Streams and long polls end when a new request would be refused, and no sooner.
        until = claims.exp + self.settings.leeway
        return Principal("player", claims.sub, rights, self._tenant, until=until,
                         token_facts=facts)  # fmt: skip

    def _claims_in(self, payload: bytes, now: float) -> Claims:
        """Return the claims of a token that is signed, if they are valid now."""
        try:
            claims = _claims.decode(payload)
        except BAD_CLAIMS as error:
            raise _unread(error) from None
        self._check(claims, now)
        return claims

    def _payload(self, token: bytes) -> bytes:
        """Return what a token carries if one of our keys signed it."""
        if not _is_canonical(token):
            raise unknown_credential("malformed")
        for key in self._keys:
            try:
                found = self._jws.decode_complete(token, key, algorithms=[self.settings.algorithm])
            except jwt.InvalidSignatureError:
                continue
            except jwt.InvalidAlgorithmError:
                raise self._before_signature(
                    "alg", "in the header is not the algorithm that this server takes",
                    "foreign_algorithm",
                ) from None  # fmt: skip
            except (jwt.PyJWTError, RecursionError, ValueError, TypeError):
                raise unknown_credential("malformed") from None
            payload: bytes = found["payload"]
            return payload
        raise unknown_credential("bad_signature")

    def _before_signature(self, claim: str, words: str, reason: str) -> Unauthenticated:
        """Return a refusal of a token that anybody may have made.

        Of several games, it must not tell which there are.
        """
        return unknown_credential(reason) if self._tenant else bad_claim(claim, words, reason)

    def _check(self, claims: Claims, now: float) -> None:
        settings = self.settings
        audiences = (claims.aud,) if isinstance(claims.aud, str) else claims.aud
        if settings.audience not in audiences:
            raise foreign_audience()
        if settings.issuer is not None and claims.iss != settings.issuer:
            words = "is missing or names another issuer than is taken here"
            raise bad_claim("iss", words, "foreign_issuer")
        if not _is_id(claims.sub):
            raise bad_claim("sub", "is no player's id", "bad_player")
        if claims.exp + settings.leeway <= now:
            raise bad_claim("exp", "says that it has expired", "expired")
        for claim, since in (("nbf", claims.nbf), ("iat", claims.iat)):
            if since is not None and since - settings.leeway > now:
                raise bad_claim(claim, "is a later time than now", "not_yet_valid")
        if claims.exp - now > settings.lifetime_max + settings.leeway:
            raise Unauthenticated(
                f"the token's exp is more than {settings.lifetime_max:g} s ahead, which is the "
                f"most that this server takes; get one that expires sooner",
                "too_long_lived",
            )


def foreign_audience() -> Unauthenticated:
    """Return the refusal of a token that is not for this server."""
    return bad_claim("aud", "is missing or does not name this server", "foreign_audience")


def audiences_of(token: bytes) -> tuple[str, ...]:
    """Return whom a token says it is for; nothing about it is checked yet."""
    try:
        found = _audience.decode(base64url_decode(token.split(b".")[1])).aud
    except (*BAD_CLAIMS, IndexError):
        return ()
    return (found,) if isinstance(found, str) else found


def read_token_keys(settings: Tokens) -> tuple[bytes, ...]:
    """Return what is in the files that the settings name.

    Raises:
        ConfigError: A file cannot be read, or holds no key for the algorithm.
    """
    try:
        return tuple(_read(Path(name), settings.algorithm) for name in settings.key_files)
    except ConfigError as error:
        raise ConfigError(f"server.tokens.key_files: {error}") from None


def random_player() -> str:
    """Return the id of a new guest, which is unique and cannot be guessed."""
    return f"guest-{secrets.token_hex(12)}"


def sign(claims: dict[str, object], secret: bytes) -> str:
    """Return a token that this server signs itself."""
    return jwt.encode(claims, secret, algorithm="HS256")


def _read(path: Path, algorithm: str) -> bytes:
    if algorithm.startswith("HS"):
        data = read_secret(path)
        if b"-----BEGIN" in data or not _is_secret(data, algorithm):
            raise ConfigError(f"{path} is not a secret for {algorithm} but part of a key pair")
        if len(data) < SECRET_BYTES_MIN:
            raise ConfigError(f"{path} must hold at least {SECRET_BYTES_MIN} bytes of secret")
        return data
    data = read_key_file(path).strip()
    if b"PRIVATE KEY" in data:
        raise ConfigError(f"{path} is a private key; give the server only the public one")
    known = PyJWS(algorithms=[algorithm]).get_algorithm_by_name(algorithm)
    try:
        too_short = known.check_key_length(known.prepare_key(data))
    except (jwt.PyJWTError, ValueError, TypeError) as error:
        raise ConfigError(f"{path} is no public key for {algorithm} in PEM: {error}") from None
    if too_short is not None:
        raise ConfigError(f"{path} holds too short a key for {algorithm}: make a longer one")
    return data


def _is_secret(data: bytes, algorithm: str) -> bool:
    """Return whether bytes are a secret for whoever verifies, and no key of SSH, say."""
    try:
        PyJWS(algorithms=[algorithm]).get_algorithm_by_name(algorithm).prepare_key(data)
    except jwt.InvalidKeyError:
        return False
    return True


def _unread(error: Exception) -> Unauthenticated:
    """Return the refusal of claims that cannot be read, with the name of the first bad one."""
    found = CLAIM_AT_FAULT.search(str(error))
    claim = "" if found is None else found[1] or found[2]
    if claim not in Claims.__struct_fields__:
        return unknown_credential("bad_claims")
    return bad_claim(claim, "is missing or of another kind than it has to be", f"bad_{claim}")


def _is_canonical(token: bytes) -> bool:
    """Return whether each part is written as base64 writes it; the last bits may not be altered."""
    try:
        return all(base64url_encode(base64url_decode(part)) == part for part in token.split(b"."))
    except ValueError:
        return False


def _members(party: tuple[str | PartyMember, ...]) -> tuple[PartyMember, ...]:
    members = tuple(PartyMember(each) if isinstance(each, str) else each for each in party)
    if len(members) > PARTY_MAX or not all(_is_id(member.id) for member in members):
        raise bad_claim(
            "party", "names too many, or something that is not a player's id", "bad_party"
        )
    return members


def _is_id(text: str) -> bool:
    return 1 <= len(text) <= ID_LENGTH_MAX and text.isprintable() and not text.isspace()
