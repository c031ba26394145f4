"""Tokens of an identity provider: taken while it vouches for them, and otherwise not."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
from collections.abc import AsyncIterator
from datetime import timedelta

import jwt
import pytest
import pytest_asyncio
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tenuto.access.authenticator import Authenticator
from tenuto.access.oidc import OidcSettings
from tenuto.access.origins import origin_of
from tenuto.access.roles import Role
from tenuto.compose import build_authenticator
from tenuto.model.errors import ProviderUnavailable, TenutoError, Unauthenticated
from tests.access.conftest import CountingStore
from tests.access.hand_clock import HandClock
from tests.access.identity_provider import AUDIENCE, RSA_KEY, IdentityProvider

pytestmark = pytest.mark.asyncio


@pytest_asyncio.fixture
async def provider() -> AsyncIterator[IdentityProvider]:
    made = IdentityProvider()
    await made.start()
    yield made
    await made.stop()


@pytest_asyncio.fixture
async def authenticator(
    provider: IdentityProvider, store: CountingStore, clock: HandClock
) -> AsyncIterator[Authenticator]:
    settings = OidcSettings(issuer=provider.issuer, audience=AUDIENCE)
    made = build_authenticator(store, clock, oidc=settings, may_be_private=True)
    yield made
    await made.close()


async def verdict(authenticator: Authenticator, clock: HandClock, token: str) -> str:
    """Who it is, or the code of the refusal."""
    try:
        return (await authenticator.authenticate(f"Bearer {token}", clock.now())).name
    except TenutoError as refused:
        return refused.code


async def test_whom_the_provider_names_is_let_in(
    authenticator: Authenticator, provider: IdentityProvider, clock: HandClock
) -> None:
    principal = await authenticator.authenticate(
        f"Bearer {provider.token(clock.now())}", clock.now()
    )
    assert (principal.tenant, principal.name, principal.role) == ("acme", "ada", Role.EDITOR)
    assert (principal.kind, principal.scopes) == ("jwt", None)
    with pytest.raises(Unauthenticated, match="TEN-5010"):
        await authenticator.authenticate(None, clock.now())


async def test_all_signatures_that_only_the_provider_can_make_are_taken(
    authenticator: Authenticator, provider: IdentityProvider, clock: HandClock
) -> None:
    provider.keys["curve"] = ec.generate_private_key(ec.SECP256R1())
    provider.keys["edwards"] = ed25519.Ed25519PrivateKey.generate()
    now = clock.now()
    assert await verdict(authenticator, clock, provider.token(now, "curve", "ES256")) == "ada"
    assert await verdict(authenticator, clock, provider.token(now, "edwards", "EdDSA")) == "ada"
    assert await verdict(authenticator, clock, provider.token(now)) == "ada"


async def test_what_the_claims_do_not_bear_out_is_refused(
    authenticator: Authenticator, provider: IdentityProvider, clock: HandClock
) -> None:
    now = clock.now()
    at = int(now.timestamp())
    cases: list[tuple[str, dict[str, object]]] = [
        ("TEN-5011", {"iss": "https://elsewhere.example"}),
        ("TEN-5011", {"iss": None}),
        ("TEN-5011", {"iss": provider.issuer + "/"}),
        ("TEN-5011", {"aud": "another"}),
        ("TEN-5011", {"aud": None}),
        ("TEN-5011", {"aud": []}),
        ("ada", {"aud": ["another", AUDIENCE]}),
        ("TEN-5011", {"exp": None}),
        ("TEN-5011", {"exp": "tomorrow"}),
        ("TEN-5011", {"exp": True}),
        ("TEN-5011", {"exp": 1e300}),
        ("TEN-5012", {"exp": at - 30}),
        ("ada", {"exp": at - 29}),
        ("TEN-5012", {"nbf": at + 31}),
        ("ada", {"nbf": at + 30}),
        ("TEN-5011", {"nbf": None}),
        ("ada", {"nbf": None, "iat": at}),
        ("TEN-5012", {"nbf": None, "iat": at + 31}),
        ("TEN-5011", {"sub": None}),
        ("TEN-5011", {"sub": ""}),
        ("TEN-5011", {"tenant": None}),
        ("TEN-5011", {"tenant": ["acme"]}),
        ("TEN-5011", {"tenant": "../other"}),
        ("TEN-5011", {"role": None}),
        ("TEN-5011", {"role": "king"}),
        ("TEN-5011", {"role": {"admin": True}}),
        ("ada", {"role": None, "roles": ["king", "viewer"]}),
    ]
    found = [await verdict(authenticator, clock, provider.signed(now, other)) for _, other in cases]
    assert list(zip(found, cases, strict=True)) == [(case[0], case) for case in cases]


HOSTILE = {
    "NUL": "a\0",
    "line break": "a\nb",
    "escape": "\x1b[31mada",
    "delete": "a\x7f",
    "C1 control": "a\x9b",
    "line separator": "a\u2028b",
    "half of a character": "a\ud800",
    "other half": "\udfff",
    "change of direction": "a\u202eb",
    "zero width": "a\u200bb",
    "byte order mark": "\ufeffada",
    "not a character": "a\uffff",
    "private use": "a\ue000",
    "too long": "a" * 256,
    "empty": "",
    "number": 7,
    "list": ["ada"],
    "object": {"ada": 1},
    "truth": True,
}


@pytest.mark.parametrize("claim", ["sub", "email", "org.tenant"])
async def test_no_claim_that_is_stored_has_what_a_store_or_a_terminal_cannot_take(
    provider: IdentityProvider, store: CountingStore, clock: HandClock, claim: str
) -> None:
    settings = OidcSettings(
        issuer=provider.issuer, audience=AUDIENCE, name_claim="email", tenant_claim="org.tenant"
    )
    authenticator = build_authenticator(store, clock, oidc=settings, may_be_private=True)
    good: dict[str, object] = {"sub": "auth0|7", "email": "ada@acme.example"}
    good["org"] = {"tenant": "acme"}

    async def asked(value: object) -> str:
        claims = {**good, "org": {"tenant": value}} if "." in claim else {**good, claim: value}
        return await verdict(authenticator, clock, provider.signed(clock.now(), claims))

    assert await asked("acme") in ("ada@acme.example", "acme")
    found = {name: await asked(value) for name, value in HOSTILE.items()}
    assert found == dict.fromkeys(HOSTILE, "TEN-5011")
    await authenticator.close()


async def test_a_user_is_identified_by_issuer_and_subject_and_until_when(
    authenticator: Authenticator, provider: IdentityProvider, clock: HandClock
) -> None:
    token = provider.token(clock.now(), sub="auth0|7", exp=int(clock.now().timestamp()) + 5)
    principal = await authenticator.authenticate(f"Bearer {token}", clock.now())
    assert principal.identity == f"{provider.issuer}|auth0|7"
    assert principal.expires_at == clock.now().replace(microsecond=0) + timedelta(seconds=5)
    forever = provider.token(clock.now(), exp=10**14)
    assert (await authenticator.authenticate(f"Bearer {forever}", clock.now())).expires_at
    # Together they are stored as one text.
    long = provider.token(clock.now(), sub="a" * 250)
    assert await verdict(authenticator, clock, long) == "TEN-5011"


async def test_of_several_roles_the_strongest_counts(
    authenticator: Authenticator, provider: IdentityProvider, clock: HandClock
) -> None:
    token = provider.token(clock.now(), role="viewer", roles=["operator", "king"])
    assert (await authenticator.authenticate(f"Bearer {token}", clock.now())).role is Role.OPERATOR


async def test_claims_may_have_other_names(
    provider: IdentityProvider, store: CountingStore, clock: HandClock
) -> None:
    settings = OidcSettings(
        issuer=provider.issuer,
        audience=AUDIENCE,
        tenant_claim="https://acme.example/tenant",
        role_claims=("realm.roles",),
        name_claim="email",
    )
    authenticator = build_authenticator(store, clock, oidc=settings, may_be_private=True)
    named: dict[str, object] = {"https://acme.example/tenant": "west", "email": "ada@acme.example"}
    named |= {"tenant": None, "realm": {"roles": ["admin"]}}
    token = provider.signed(clock.now(), named)
    principal = await authenticator.authenticate(f"Bearer {token}", clock.now())
    assert (principal.tenant, principal.name) == ("west", "ada@acme.example")
    # The usual names say nothing then.
    assert await verdict(authenticator, clock, provider.token(clock.now())) == "TEN-5011"
    await authenticator.close()


def _signed(header: dict[str, object], claims: dict[str, object], secret: bytes) -> str:
    parts = [
        base64.urlsafe_b64encode(json.dumps(each).encode()).rstrip(b"=")
        for each in (header, claims)
    ]
    signature = hmac.new(secret, b".".join(parts), hashlib.sha256).digest()
    return b".".join([*parts, base64.urlsafe_b64encode(signature).rstrip(b"=")]).decode()


async def test_a_signature_that_others_can_make_is_none(
    authenticator: Authenticator, provider: IdentityProvider, clock: HandClock
) -> None:
    claims = provider.claims(clock.now())
    public = RSA_KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    provider.more = [{"kty": "oct", "k": "c2VjcmV0", "kid": "shared", "alg": "HS256"}]
    whole = provider.token(clock.now())
    head, body, signature = whole.split(".")
    other = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)
    changed = base64.urlsafe_b64encode(json.dumps({**claims, "role": "admin"}).encode()).rstrip(
        b"="
    )
    forged = [
        jwt.encode(claims, "", algorithm="none", headers={"kid": "first"}),
        _signed({"alg": "HS256", "kid": "first"}, claims, public),
        _signed({"alg": "RS256", "kid": "first"}, claims, public),
        _signed({"alg": "HS256", "kid": "shared"}, claims, b"secret"),
        _signed({"alg": ["RS256"], "kid": "first"}, claims, public),
        _signed({"alg": "RS256", "kid": 7}, claims, public),
        jwt.encode(claims, other, algorithm="RS256", headers={"kid": "first"}),
        jwt.encode(claims, other, algorithm="RS256", headers={"kid": "../first"}),
        jwt.encode(claims, RSA_KEY, algorithm="RS384", headers={"kid": "first"}),
        jwt.encode(claims, RSA_KEY, algorithm="PS256", headers={"kid": "first"}),
        f"{head}.{changed.decode()}.{signature}",
        f"{head}.{body}.",
        f"{head}.{body}",
        "..",
        "a.b.c",
    ]
    found = [await verdict(authenticator, clock, token) for token in forged]
    assert found == ["TEN-5011"] * len(forged)
    assert await verdict(authenticator, clock, whole) == "ada"


async def test_a_token_without_a_key_id_is_for_a_provider_with_one_key(
    authenticator: Authenticator, provider: IdentityProvider, clock: HandClock
) -> None:
    token = provider.token(clock.now(), kid=None)
    assert await verdict(authenticator, clock, token) == "ada"
    provider.keys["second"] = ec.generate_private_key(ec.SECP256R1())
    clock.move(31)
    await verdict(authenticator, clock, provider.token(clock.now(), "second", "ES256"))
    assert await verdict(authenticator, clock, token) == "TEN-5011"


async def test_a_new_key_is_fetched_when_it_is_named_and_an_old_one_goes(
    authenticator: Authenticator, provider: IdentityProvider, clock: HandClock
) -> None:
    old = provider.token(clock.now())
    assert await verdict(authenticator, clock, old) == "ada"
    provider.keys = {"second": ec.generate_private_key(ec.SECP256R1())}
    new = provider.token(clock.now(), "second", "ES256")
    clock.move(30)
    assert await verdict(authenticator, clock, new) == "ada"
    assert provider.fetches == 2
    assert await verdict(authenticator, clock, old) == "TEN-5011"


async def test_made_up_key_ids_do_not_make_anybody_ask_the_provider_for_long(
    authenticator: Authenticator, provider: IdentityProvider, clock: HandClock
) -> None:
    claims = provider.claims(clock.now())

    def made_up(number: int) -> str:
        return jwt.encode(claims, RSA_KEY, algorithm="RS256", headers={"kid": f"k{number}"})

    found = await asyncio.gather(*(verdict(authenticator, clock, made_up(n)) for n in range(20)))
    assert set(found) == {"TEN-5011"}
    assert provider.fetches == 1
    clock.move(29)
    assert await verdict(authenticator, clock, made_up(21)) == "TEN-5011"
    assert provider.fetches == 1
    clock.move(1)
    await asyncio.gather(*(verdict(authenticator, clock, made_up(n)) for n in range(20)))
    assert provider.fetches == 2


async def test_known_keys_go_on_for_an_hour_when_the_provider_is_away(
    authenticator: Authenticator, provider: IdentityProvider, clock: HandClock
) -> None:
    token = provider.token(clock.now(), exp=int((clock.now() + timedelta(days=1)).timestamp()))
    assert await verdict(authenticator, clock, token) == "ada"
    provider.status = 500
    clock.move(3_600)
    assert await verdict(authenticator, clock, token) == "ada"
    clock.move(1)
    assert await verdict(authenticator, clock, token) == "TEN-5014"
    with pytest.raises(ProviderUnavailable):
        await authenticator.authenticate(f"Bearer {token}", clock.now())
    provider.status = 200
    clock.move(31)
    assert await verdict(authenticator, clock, token) == "ada"


async def test_a_provider_that_is_not_there_yet_is_asked_again_soon(
    authenticator: Authenticator, provider: IdentityProvider, clock: HandClock
) -> None:
    token = provider.token(clock.now())
    await provider.stop()
    assert await verdict(authenticator, clock, token) == "TEN-5014"
    clock.move(2)
    assert await verdict(authenticator, clock, token) == "TEN-5014"


async def test_a_provider_that_calls_itself_otherwise_is_not_trusted(
    authenticator: Authenticator, provider: IdentityProvider, clock: HandClock
) -> None:
    provider.names_itself = "https://elsewhere.example"
    assert await verdict(authenticator, clock, provider.token(clock.now())) == "TEN-5014"


async def test_a_provider_of_no_public_network_has_to_be_allowed(
    provider: IdentityProvider, store: CountingStore, clock: HandClock
) -> None:
    settings = OidcSettings(issuer=provider.issuer, audience=AUDIENCE)
    authenticator = build_authenticator(store, clock, oidc=settings)
    assert await verdict(authenticator, clock, provider.token(clock.now())) == "TEN-5014"
    assert provider.fetches == 0
    await authenticator.close()


@pytest.mark.parametrize(
    ("endpoint", "expected"),
    [
        ("https://tokens.example.com/oauth/token", "https://tokens.example.com"),
        ("https://tokens.example.com:8443/token?a=b", "https://tokens.example.com:8443"),
        ("https://evil.example; script-src *//token", None),
        ("javascript:alert(1)", None),
        (None, None),
    ],
)
async def test_pages_learn_where_the_provider_gives_tokens(
    provider: IdentityProvider,
    authenticator: Authenticator,
    endpoint: str | None,
    expected: str | None,
) -> None:
    provider.token_endpoint = endpoint
    found = await authenticator.token_endpoint()
    assert found == endpoint
    assert (None if found is None else origin_of(found)) == expected


async def test_pages_do_not_wait_for_a_provider_that_is_away(
    provider: IdentityProvider, authenticator: Authenticator
) -> None:
    await provider.stop()
    assert await authenticator.token_endpoint() is None
