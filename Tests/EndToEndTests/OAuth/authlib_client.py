"""authlib_client.py GATEWAY_URL REFRESH_TOKEN TOKEN_OF_ANOTHER_SESSION   refreshes and revokes with Authlib, as the
standards say, and prints the last access tokens that it held as JSON."""

import json
import sys
import time

import requests
from authlib.integrations.base_client.errors import OAuthError
from authlib.integrations.requests_client import OAuth2Session
from authlib.oauth2.rfc8414 import AuthorizationServerMetadata

CLIENT_ID = "com.example.app"
gateway, first, other = sys.argv[1:]


def discover():
    """The endpoints, from the metadata that RFC 8414 has clients look up, at the test's gateway instead of the issuer."""
    response = requests.get(gateway + "/.well-known/oauth-authorization-server", timeout=10)
    assert response.status_code == 200, response.text
    assert response.headers["Content-Type"] == "application/json", response.headers
    document = response.json()
    # The library checks each member, and will not have plain HTTP, which development uses.
    AuthorizationServerMetadata(json.loads(response.text.replace("http://", "https://"))).validate()
    assert "introspection_endpoint" not in document, "introspection is not for clients"
    endpoints = [document[name] for name in ("token_endpoint", "revocation_endpoint", "jwks_uri")]
    assert all(each.startswith(document["issuer"] + "/") for each in endpoints), document
    return [each.replace(document["issuer"], gateway) for each in endpoints]


def session(refresh_token, updates=None):
    """A client that holds an access token which expired a minute ago."""
    expired = {"access_token": "expired", "token_type": "Bearer", "expires_at": int(time.time()) - 60}
    return OAuth2Session(
        CLIENT_ID,
        token_endpoint_auth_method="none",
        revocation_endpoint_auth_method="none",
        token_endpoint=token_endpoint,
        update_token=lambda token, **_: updates.append(token) if updates is not None else None,
        token=expired | {"refresh_token": refresh_token},
    )


def refuses(refresh_token):
    try:
        session(refresh_token).refresh_token(token_endpoint, refresh_token=refresh_token)
    except OAuthError as error:
        assert error.error == "invalid_grant", error
    else:
        raise AssertionError("a refresh token of a revoked session was taken")


token_endpoint, revocation_endpoint, jwks_uri = discover()
keys = requests.get(jwks_uri, timeout=10).json()["keys"]
assert keys and all(key["kty"] == "RSA" and "d" not in key for key in keys), keys

# By itself, when a call is due with an expired token.
updates = []
client = session(first, updates)
me = client.get(gateway + "/v1/auth/me", timeout=10)
assert me.status_code == 200, me.text
assert len(updates) == 1 and updates[0]["refresh_token"] != first, "the library did not keep a successor"

# When it is told to, and once more with the token that it gave up, as after a lost answer.
second = client.token["refresh_token"]
third = client.refresh_token(token_endpoint, refresh_token=second)["refresh_token"]
assert third != second
again = client.refresh_token(token_endpoint, refresh_token=second)
assert again["refresh_token"] == third, "a retry is to get the identical successor"
assert again["token_type"] == "Bearer" and again["expires_in"] > 0, again

# Revoked; repeated; unknown: all are confirmed (RFC 7009).
access_token = again["access_token"]
for token in (third, third, "unknown"):
    response = client.revoke_token(revocation_endpoint, token=token, token_type_hint="refresh_token")
    assert response.status_code == 200, response.text
refuses(third)
refuses(second)

# An access token ends with its session.
client = session(other)
last = client.refresh_token(token_endpoint, refresh_token=other)
response = client.revoke_token(revocation_endpoint, token=last["access_token"], token_type_hint="access_token")
assert response.status_code == 200, response.text
refuses(last["refresh_token"])

print(json.dumps({"accessTokens": [access_token, last["access_token"]]}))
