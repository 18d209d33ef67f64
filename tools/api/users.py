"""Users for schemathesis: each registers through the gateway."""

import base64
import json
import os
import time
import urllib.request
import uuid

gateway = os.environ["GATEWAY_URL"]
# That of the examples, so that those are right where a password is asked for.
PASSWORD = "a long enough sentence"
# After these the user's session serves no longer: each request of theirs has a user of its own.
ENDING = {"deleteAccount", "signOut", "signOutEverywhere", "endSession", "changePassword", "unlinkProvider"}
# Seconds after which the others get a new user, who has no devices and no sessions yet.
LIFETIME = 30


def send(method, url, fields, **headers):
    """The answer to a request with a body of JSON."""
    headers = {"Content-Type": "application/json"} | {name.replace("_", "-"): text for name, text in headers.items()}
    request = urllib.request.Request(url, json.dumps(fields).encode(), headers, method=method)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def session():
    """Of a new user."""
    fields = {"identifier": f"{uuid.uuid4()}@example.com", "password": PASSWORD}
    return send("POST", f"{gateway}/v1/auth/register", fields)


def register():
    """The access token of a new user."""
    return session()["accessToken"]


def appoint():
    """The access token of a new operator."""
    new = session()
    url = f"{os.environ['IDENTITY_URL']}/internal/admin/users/{new['user']['id']}"
    send("PATCH", url, {"role": "operator"}, Gatehouse_Credential=os.environ["ADMIN_IDENTITY_SECRET"])
    refresh = {"refreshToken": new["refreshToken"]}
    return send("POST", f"{gateway}/v1/auth/refresh", refresh)["accessToken"]


def claims(token):
    payload = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))


class Users:
    """One after the other."""

    def __init__(self):
        self.token, self.since = None, 0.0
        self.operator, self.appointed = None, 0.0

    def token_for(self, operation):
        if "Administration" in operation["tags"]:
            if self.operator is None or time.monotonic() - self.appointed > LIFETIME:
                self.operator, self.appointed = appoint(), time.monotonic()
            return self.operator
        if operation["operationId"] in ENDING:
            return register()
        if self.token is None or time.monotonic() - self.since > LIFETIME:
            self.token, self.since = register(), time.monotonic()
        return self.token
