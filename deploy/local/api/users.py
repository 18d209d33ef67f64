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


def register():
    """The access token of a new user."""
    identifier = f"{uuid.uuid4()}@example.com"
    body = json.dumps({"identifier": identifier, "password": PASSWORD}).encode()
    request = urllib.request.Request(f"{gateway}/v1/auth/register", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)["accessToken"]


def claims(token):
    payload = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))


class Users:
    """One after the other."""

    def __init__(self):
        self.token, self.since = None, 0.0

    def token_for(self, operation):
        if operation["operationId"] in ENDING:
            return register()
        if self.token is None or time.monotonic() - self.since > LIFETIME:
            self.token, self.since = register(), time.monotonic()
        return self.token
